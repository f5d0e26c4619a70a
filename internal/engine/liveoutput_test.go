package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

func TestLiveOutputBecomesLines(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		var kept notes
		var shown []engine.ProgressLine
		e, err := engine.Open(t.Context(), w.open(), engine.Config{
			Logs: &kept, Progress: func(l engine.ProgressLine) { shown = append(shown, l) },
			Tools: []tool.Tool{printer(func(c tool.Call) error {
				out, errs := c.Output(tool.Stdout), c.Output(tool.Stderr)
				write(out, "one\ntw")
				write(errs, "oops\r\n")
				c.Progress("half way\nthere")
				write(out, "o\n\npassword: ")
				time.Sleep(time.Second)
				write(out, "\nbad \xff\xe2\x82")
				time.Sleep(time.Second)
				write(out, "\xac\nend")
				write(c.Output("nonsense"), "nowhere\n")
				return nil
			})},
		})
		if err != nil {
			t.Fatal(err)
		}
		v, err := e.Run(t.Context(), engine.Start{Workflow: []byte(printing)})
		if err != nil || v.Status != run.StatusSucceeded {
			t.Fatalf("%v, %v", v, err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		line := func(stream, text string) run.LogLine {
			return run.LogLine{Step: "say", Attempt: 1, Stream: stream, Text: text}
		}
		open := func(text string) run.LogLine { l := line("stdout", text); l.Open = true; return l }
		want := []run.LogLine{
			line("stdout", "one"), line("stderr", "oops"), line("progress", "half way"), line("progress", "there"),
			line("stdout", "two"), line("stdout", ""), open("password: "), line("stdout", ""),
			open("bad \uFFFD"), line("stdout", "€"), line("stdout", "end"),
		}
		if diff := cmp.Diff(want, kept.of(v.RunID), cmpopts.IgnoreFields(run.LogLine{}, "N", "At")); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		said := func(stream tool.Stream, text string) engine.ProgressLine {
			return engine.ProgressLine{RunID: v.RunID, StepID: "say", Stream: stream, Line: text}
		}
		wantShown := []engine.ProgressLine{
			said("", "there"), said(tool.Stdout, "two"), // of what comes at once the latest
			said(tool.Stdout, "password: "), said(tool.Stdout, "bad \uFFFD"), said(tool.Stdout, "€"), said(tool.Stdout, "end"),
		}
		if diff := cmp.Diff(wantShown, shown); diff != "" {
			t.Errorf("shown (-want +got):\n%s", diff)
		}
		if kept.released[v.RunID] == 0 {
			t.Error("the log of a run that has ended was not released")
		}
	})
}

// In whatever pieces it is written: the log holds the text, line by line.
func TestLiveOutputInAnyPieces(t *testing.T) {
	t.Parallel()
	var kept notes
	var pieces []string
	e := open(t, opened(t, memoryWorld(t)), engine.Config{Logs: &kept, Tools: []tool.Tool{printer(func(c tool.Call) error {
		for _, p := range pieces {
			write(c.Output(tool.Stdout), p)
		}
		return nil
	})}})
	long := rapid.Custom(func(t *rapid.T) string { return strings.Repeat("aä€😀", rapid.IntRange(1, 3000).Draw(t, "times")) })
	short := rapid.StringOf(rapid.RuneFrom([]rune("aä€😀\n\n")))
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(short, short, long), 0, 20).Draw(rt, "text"), "\n")
		pieces = nil
		for rest := text; rest != ""; { // cut anywhere, also within a character
			n := min(rapid.IntRange(1, 20_000).Draw(rt, "piece"), len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		v, err := e.Run(t.Context(), engine.Start{Workflow: []byte(printing)})
		if err != nil || v.Status != run.StatusSucceeded {
			rt.Fatalf("%v, %v", v, err)
		}
		var got strings.Builder
		for _, l := range kept.of(v.RunID) {
			if len(l.Text) > 8<<10 || !utf8.ValidString(l.Text) {
				rt.Errorf("a line of %d bytes, valid: %t", len(l.Text), utf8.ValidString(l.Text))
			}
			got.WriteString(l.Text)
			if !l.Open {
				got.WriteString("\n")
			}
		}
		want := text
		if want != "" && !strings.HasSuffix(want, "\n") {
			want += "\n"
		}
		if diff := cmp.Diff(want, got.String()); diff != "" {
			rt.Errorf("(-printed +kept):\n%s", diff)
		}
	})
}

// A disk that hangs costs the log, and a second.
func TestAHangingLogHoldsNoStepUp(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		disk := make(chan struct{})
		e, err := engine.Open(t.Context(), w.open(), engine.Config{
			Logs: &notes{hangs: disk},
			Tools: []tool.Tool{printer(func(c tool.Call) error {
				for range 100 {
					write(c.Output(tool.Stdout), strings.Repeat("x", 1<<20))
				}
				return nil
			})},
		})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		v, err := e.Run(t.Context(), engine.Start{Workflow: []byte(printing)})
		if err != nil || v.Status != run.StatusSucceeded {
			t.Fatalf("%v, %v", v, err)
		}
		if took := time.Since(begun); took > 2*time.Second { // virtual time
			t.Errorf("the run took %v", took)
		}
		close(disk)
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// Who looks on cannot break a run.
func TestAnOnlookerThatPanics(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		var kept notes
		e, err := engine.Open(t.Context(), w.open(), engine.Config{
			Logs: &kept, Progress: func(engine.ProgressLine) { panic("cannot look") },
			Tools: []tool.Tool{printer(func(c tool.Call) error {
				write(c.Output(tool.Stdout), "one\n")
				return nil
			})},
		})
		if err != nil {
			t.Fatal(err)
		}
		v, err := e.Run(t.Context(), engine.Start{Workflow: []byte(printing)})
		if err != nil || v.Status != run.StatusSucceeded {
			t.Errorf("%v, %v", v, err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// What is printed faster than it is kept is left out in the middle, and the log says
// how much.
func TestWhatIsPrintedTooFastIsLeftOut(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		kept := notes{hangs: make(chan struct{})}
		printed, last := 0, ""
		e, err := engine.Open(t.Context(), w.open(), engine.Config{
			Logs: &kept,
			Tools: []tool.Tool{printer(func(c tool.Call) error {
				for i := range 100_000 {
					last = fmt.Sprint("line ", i, strings.Repeat(" x", i%50))
					printed += len(last) + 1
					write(c.Output([]tool.Stream{tool.Stdout, tool.Stderr}[i/1000%2]), last+"\n")
				}
				close(kept.hangs)
				return nil
			})},
		})
		if err != nil {
			t.Fatal(err)
		}
		v, err := e.Run(t.Context(), engine.Start{Workflow: []byte(printing)})
		if err != nil || v.Status != run.StatusSucceeded {
			t.Fatalf("%v, %v", v, err)
		}
		lines := kept.of(v.RunID)
		accounted, cut, bytes := 0, 0, 0
		for _, l := range lines {
			accounted += int(l.Cut) + len(l.Text)
			bytes += len(l.Text)
			if l.Cut == 0 && !l.Open {
				accounted++
			}
			if l.Cut > 0 {
				cut++
			}
		}
		// Of a line that was cut off the end is not there to be counted.
		if cut == 0 || accounted < printed || accounted > printed+cut*2 {
			t.Errorf("printed %d bytes; %d are kept or named as left out, in %d places", printed, accounted, cut)
		}
		if bytes < 256<<10 || bytes > 4<<20 {
			t.Errorf("%d bytes are kept", bytes)
		}
		if first, end := lines[0].Text, lines[len(lines)-1].Text; first != "line 0" || end != last {
			t.Errorf("kept from %q to %q, want the end %q", first, end, last)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
