package livelog_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/culm-dev/culm/internal/livelog"
	"github.com/culm-dev/culm/run"
)

const id = "01a22eb0-051b-79e9-bb8a-ba397a17a6b3"

func lines(all ...run.LogLine) []run.LogLine { return all }

func line(step, text string) run.LogLine {
	return run.LogLine{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Step: step, Attempt: 1, Stream: run.LogStdout, Text: text}
}

func kept(t testing.TB, f *livelog.Files) []run.LogLine {
	t.Helper()
	var lines []run.LogLine
	for l, err := range f.Read(t.Context(), id, nil) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines
}

func texts(lines []run.LogLine) []string {
	var all []string
	for _, l := range lines {
		all = append(all, l.Text)
	}
	return all
}

func TestLinesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "logs")
	f := livelog.New(dir, livelog.Options{})
	if got := kept(t, f); got != nil {
		t.Errorf("a run without a log has %v", got)
	}
	want := []run.LogLine{line("a", "one"), line("a@root[1]", "<two> \x00\u2028"), line("a", "")}
	want[1].Open, want[2].Stream = true, run.LogProgress
	f.Append(id, want)
	for i := range want {
		want[i].N = uint64(i) + 1
	}
	if diff := cmp.Diff(want, kept(t, f)); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, id+".jsonl"): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want mode %v", path, info.Mode(), err, mode)
		}
	}
}

// Another process goes on with the numbers, and behind a line that the death of
// the first one tore.
func TestALogGoesOnInAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	livelog.New(dir, livelog.Options{}).Append(id, lines(line("a", "one"), line("a", "two")))
	torn, err := os.OpenFile(filepath.Join(dir, id+".jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := torn.WriteString(`{"n":3,"at":"2026-01-0`); err != nil {
		t.Fatal(err)
	}
	if err := torn.Close(); err != nil {
		t.Fatal(err)
	}
	f := livelog.New(dir, livelog.Options{})
	f.Append(id, lines(line("b", "three")))
	got := kept(t, f)
	if diff := cmp.Diff([]string{"one", "two", "three"}, texts(got)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if got[2].N <= got[1].N {
		t.Errorf("the line has the number %d, after %d", got[2].N, got[1].N)
	}
}

// However much is printed, the file stays bounded, begins and ends as the output
// did, and tells how much is missing.
func TestALogIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		const keep = 8 << 10
		f := livelog.New(dir, livelog.Options{Keep: keep, MaxLog: 1 << 20})
		steps := rapid.IntRange(1, 4).Draw(rt, "steps")
		printed := make([]int64, steps)
		last := make([]string, steps)
		for i := range rapid.IntRange(0, 30).Draw(rt, "batches") {
			var batch []run.LogLine
			s, size := rapid.IntRange(0, steps-1).Draw(rt, "step"), rapid.IntRange(1, 400).Draw(rt, "size")
			turns := rapid.Bool().Draw(rt, "turns")
			for j := range rapid.IntRange(1, 100).Draw(rt, "lines") {
				if turns {
					s = j % steps
				}
				text := fmt.Sprintf("%d.%d %s", i, j, strings.Repeat("x", size))
				batch = append(batch, line(fmt.Sprint(s), text))
				printed[s] += int64(len(text)) + 1
				last[s] = text
			}
			f.Append(id, batch)
		}
		accounted := make([]int64, steps)
		ends := make([]string, steps)
		number := uint64(0)
		for _, l := range kept(t, f) {
			if l.N <= number {
				rt.Fatalf("number %d follows %d", l.N, number)
			}
			number = l.N
			var s int
			if _, err := fmt.Sscan(l.Step, &s); err != nil {
				rt.Fatal(err)
			}
			accounted[s] += l.Cut
			if l.Cut == 0 {
				accounted[s] += int64(len(l.Text)) + 1
			}
			ends[s] = l.Text
		}
		if diff := cmp.Diff(printed, accounted); diff != "" {
			rt.Errorf("printed and accounted for (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(last, ends); diff != "" {
			rt.Errorf("last lines (-want +got):\n%s", diff)
		}
		// Twice what is kept of each step, and a tidying's worth of excess.
		const lineRoom = 1 << 10
		if most := int64(2*steps*(2*keep+2*lineRoom) + 2*keep + 100*600); fileSize(t, dir) > most {
			rt.Errorf("the file has %d bytes, more than %d", fileSize(t, dir), most)
		}
	})
}

func fileSize(t testing.TB, dir string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, id+".jsonl"))
	if os.IsNotExist(err) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A run of very many steps keeps less of each.
func TestALogOfVeryManyStepsIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const most = 256 << 10
	f := livelog.New(dir, livelog.Options{Keep: 64 << 10, MaxLog: most})
	for i := range 20 {
		var batch []run.LogLine
		for range 100 {
			batch = append(batch, line(fmt.Sprint("step", i), strings.Repeat("x", 1000)))
		}
		f.Append(id, append(batch, line(fmt.Sprint("step", i), "the end")))
	}
	if got := fileSize(t, dir); got > 2*most+(128<<10) {
		t.Errorf("the file has %d bytes", got)
	}
	ends := 0
	for _, text := range texts(kept(t, f)) {
		if text == "the end" {
			ends++
		}
	}
	if ends != 20 {
		t.Errorf("the ends of %d of 20 steps were kept", ends)
	}
}

// Who follows a log sees each line at most once, in order, although the file is
// written anew under them; and all that is not cut away.
func TestAFollowerOfALogThatIsTidied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := livelog.New(dir, livelog.Options{Keep: 4 << 10})
	more := make(chan struct{})
	var seen []run.LogLine
	var following sync.WaitGroup
	following.Go(func() {
		for l, err := range livelog.New(dir, livelog.Options{}).Read(t.Context(), id, more) {
			if err != nil {
				t.Error(err)
				return
			}
			seen = append(seen, l)
		}
	})
	for i := range 200 {
		f.Append(id, lines(line("a", fmt.Sprint(i, strings.Repeat(" x", 100))), line("a", "more")))
		more <- struct{}{}
	}
	f.Append(id, lines(line("a", "last")))
	close(more)
	following.Wait()
	for i, l := range seen {
		if i > 0 && l.N <= seen[i-1].N {
			t.Fatalf("line %d follows line %d", l.N, seen[i-1].N)
		}
	}
	if got, want := len(seen), 401; got != want {
		t.Errorf("the follower saw %d lines of %d", got, want)
	}
	if got := len(kept(t, f)); got > 200 {
		t.Errorf("nothing was tidied: %d lines are kept", got)
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := livelog.New(t.TempDir(), livelog.Options{})
	f.Append(id, lines(line("a", "one")))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	var failed error
	for l, err := range f.Read(ctx, id, make(chan struct{})) {
		if err != nil {
			failed = err
			break
		}
		got = append(got, l.Text)
		cancel()
	}
	if len(got) != 1 || failed != context.Canceled {
		t.Errorf("got %q, %v", got, failed)
	}
}

// A disk that takes nothing costs the log, is told once, and holds nobody up.
func TestADiskThatFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	var told bytes.Buffer
	f := livelog.New(dir, livelog.Options{Logger: slog.New(slog.NewTextHandler(&told, nil))})
	for range 5 {
		f.Append(id, lines(line("a", "one")))
	}
	if n := strings.Count(told.String(), "\n"); n != 1 {
		t.Errorf("told %d times:\n%s", n, &told)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	f.Append(id, lines(line("a", "two")))
	if diff := cmp.Diff([]string{"two"}, texts(kept(t, f))); diff != "" {
		t.Errorf("after it was mended (-want +got):\n%s", diff)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := livelog.New(dir, livelog.Options{})
	f.Append(id, lines(line("a", "one")))
	for range 2 {
		if err := livelog.Remove(dir, id); err != nil {
			t.Fatal(err)
		}
	}
	f.Append(id, lines(line("a", "late"))) // an abandoned call's: it does not come back
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
	written := livelog.New(dir, livelog.Options{})
	written.Append(id, lines(line("a", "again")))
	if err := written.Remove(id); err != nil {
		t.Fatal(err)
	}
	if got := kept(t, written); got != nil {
		t.Errorf("a log that was removed has %v", got)
	}
	if err := livelog.Remove(dir, "../"+id); err != nil {
		t.Error(err)
	}
}

func TestIDsThatAreNoFileNamesHaveNoLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := livelog.New(filepath.Join(dir, "logs"), livelog.Options{})
	for _, odd := range []string{"", "../escaped", "a/b", "/abs"} {
		f.Append(odd, lines(line("a", "one")))
		for range f.Read(t.Context(), odd, nil) {
			t.Errorf("%q has a log", odd)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("made: %v, %v", entries, err)
	}
}

// Any bytes in the place of a log are read without an error, and give valid lines.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"n":1,"at":"2026-01-02T03:04:05Z","step":"a","attempt":1,"stream":"stdout","text":"x"}` + "\n"))
	f.Add([]byte("{\"n\":1}\n\x00\x00\x00\n{\"n\":2,\"text\":\"\xff\"}\n{"))
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		files := livelog.New(dir, livelog.Options{Keep: 64})
		var last uint64
		for _, l := range kept(t, files) {
			if l.N <= last || !utf8.ValidString(l.Text) {
				t.Errorf("line %d after %d, text %q", l.N, last, l.Text)
			}
			last = l.N
		}
		files.Append(id, lines(line("new", "more")))
		if lines := kept(t, files); len(lines) == 0 || lines[len(lines)-1].Text != "more" {
			t.Errorf("what was appended is not the last of %v", lines)
		}
	})
}
