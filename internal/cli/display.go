package cli

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/cli/plain"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/run"
)

// display shows a run while it goes on, on standard error. It is used by one
// goroutine, but for note.
type display interface {
	// event shows the next event; old ones happened before this command, and only
	// complete the picture.
	event(ev run.Event, old bool)
	say(line culm.ProgressLine)
	tick(now time.Time)
	// note shows lines that are not about an event; safe for concurrent use.
	note(lines ...string)
	// end shows where the run stands at last.
	end(v *run.View)
}

// silent shows nothing: the result says all, to a program.
type silent struct{}

func (silent) event(run.Event, bool) {}
func (silent) say(culm.ProgressLine) {}
func (silent) tick(time.Time)        {}
func (silent) note(...string)        {}
func (silent) end(*run.View)         {}

// lines shows one line per event.
type lines struct{ in *invocation }

func (d lines) event(ev run.Event, old bool) {
	if !old {
		d.note(plain.Event(ev))
	}
}

func (d lines) say(line culm.ProgressLine) {
	if line.Stream != "" { // "culm logs" has what programs print
		return
	}
	d.note(term.Clean(fmt.Sprintf("%s progress %s %s", d.in.Now().UTC().Format(plain.ClockFormat), line.StepID, line.Line)))
}

func (d lines) tick(time.Time) {}

func (d lines) note(lines ...string) { d.in.write(lines) }

func (d lines) end(v *run.View) {
	d.note(fmt.Sprintf("run %s %s (%s, %s)", v.RunID, term.Clean(outcome(v)), took(v, d.in.Now()), stepCount(v)))
}

func stepCount(v *run.View) string {
	if v.Usage.Steps == 1 {
		return "1 step"
	}
	return fmt.Sprintf("%d steps", v.Usage.Steps)
}

// noteTo makes notes go to a display; nil makes them go to standard error.
func (in *invocation) noteTo(d display) {
	in.notes.Lock()
	defer in.notes.Unlock()
	in.showing = d
}

// note tells people something beside the result. Programs are told nothing.
func (in *invocation) note(lines ...string) {
	in.notes.Lock()
	showing := in.showing
	in.notes.Unlock()
	switch {
	case showing != nil:
		showing.note(lines...)
	case !in.global.json():
		in.write(lines)
	}
}

func (in *invocation) write(lines []string) {
	in.notes.Lock()
	defer in.notes.Unlock()
	for _, line := range lines {
		fmt.Fprintln(in.Stderr, line)
	}
}

// noteWriter makes notes of a logger's lines.
type noteWriter struct{ in *invocation }

func (w noteWriter) Write(b []byte) (int, error) {
	w.in.note(strings.Split(strings.TrimRight(string(b), "\n"), "\n")...)
	return len(b), nil
}

// warnings handles the engine's warnings: lines above the tree, if there is one.
func (in *invocation) warnings() slog.Handler {
	return slog.NewTextHandler(noteWriter{in}, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey && len(groups) == 0 {
				return slog.Attr{}
			}
			return a
		},
	})
}
