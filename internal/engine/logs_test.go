package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/internal/livelog"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
)

// notes keeps logs in memory.
type notes struct {
	mu       sync.Mutex
	lines    map[string][]run.LogLine
	released map[string]int
	hangs    chan struct{} // if not nil, nothing is kept until it is closed
}

func (n *notes) Append(runID string, lines []run.LogLine) {
	if n.hangs != nil {
		<-n.hangs
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lines == nil {
		n.lines, n.released = map[string][]run.LogLine{}, map[string]int{}
	}
	for _, l := range lines {
		l.N = uint64(len(n.lines[runID]) + 1)
		n.lines[runID] = append(n.lines[runID], l)
	}
}

func (n *notes) Release(runID string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.released != nil {
		n.released[runID]++
	}
}

func (n *notes) Remove(runID string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.lines, runID)
	return nil
}

func (n *notes) of(runID string) []run.LogLine {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lines[runID]
}

func (n *notes) Read(ctx context.Context, runID string, more <-chan struct{}) iter.Seq2[run.LogLine, error] {
	return func(yield func(run.LogLine, error) bool) {
		given := 0
		for last := more == nil; ; {
			for _, l := range n.of(runID)[given:] {
				given++
				if !yield(l, nil) {
					return
				}
			}
			if last {
				return
			}
			select {
			case _, open := <-more:
				last = !open
			case <-ctx.Done():
				yield(run.LogLine{}, ctx.Err())
				return
			}
		}
	}
}

// opened is a handle on a world's store.
func opened(t *testing.T, w *world) store.Store {
	st := w.open()
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// printer is a tool that does what a function says.
func printer(do func(c tool.Call) error) tool.Tool {
	return tool.MustFunc("print", "Prints.", tool.Read,
		func(_ context.Context, c tool.Call, _ map[string]any) (json.RawMessage, error) { return nil, do(c) })
}

const printing = `{"workflow_schema": 1, "id": "p", "revision": 1, "steps": [{"id": "say", "type": "tool", "tool": "print"}]}`

func write(w io.Writer, text string) {
	if n, err := io.WriteString(w, text); n != len(text) || err != nil {
		panic(fmt.Sprintf("wrote %d of %d, %v", n, len(text), err))
	}
}

// What is printed is seen by another process before the call returns, and the
// follower ends when the run does.
func TestLogsAreFollowedFromAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := sqliteWorld(t)
	seen := make(chan struct{})
	owner := open(t, opened(t, w), engine.Config{
		Logs: livelog.New(dir, livelog.Options{}),
		Tools: []tool.Tool{printer(func(c tool.Call) error {
			write(c.Output(tool.Stdout), "begun\n")
			<-seen
			write(c.Output(tool.Stdout), "done\n")
			return nil
		})},
	})
	other := open(t, opened(t, w), engine.Config{Logs: livelog.New(dir, livelog.Options{})})
	v, err := owner.Start(t.Context(), engine.Start{Workflow: []byte(printing)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for l, err := range other.Logs(t.Context(), v.RunID, engine.LogOptions{Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, l.Text); len(got) == 1 {
			close(seen)
		}
	}
	if diff := cmp.Diff([]string{"begun", "done"}, got); diff != "" {
		t.Errorf("followed (-want +got):\n%s", diff)
	}
	if v, err := other.Wait(t.Context(), v.RunID); err != nil || v.Status != run.StatusSucceeded {
		t.Errorf("the follower ended before the run: %v, %v", v, err)
	}
	got = nil
	for l := range other.Logs(t.Context(), v.RunID, engine.LogOptions{After: 1}) {
		got = append(got, l.Text)
	}
	if diff := cmp.Diff([]string{"done"}, got); diff != "" {
		t.Errorf("afterwards (-want +got):\n%s", diff)
	}
}

// The log of a nested run is its part of its root's.
func TestLogsOfANestedRun(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		var kept notes
		inner := `{"workflow_schema": 1, "id": "inner", "revision": 1, "steps": [{"id": "say", "type": "tool", "tool": "print"}]}`
		outer := `{"workflow_schema": 1, "id": "outer", "revision": 1, "steps": [
			{"id": "say", "type": "tool", "tool": "print"},
			{"id": "nest", "type": "workflow", "workflow_id": "inner", "revision": 1}]}`
		e, err := engine.Open(t.Context(), w.open(), engine.Config{
			Logs: &kept, Catalog: &mutable{text: inner},
			Tools: []tool.Tool{printer(func(c tool.Call) error {
				write(c.Output(tool.Stdout), c.StepID+"\n")
				return nil
			})},
		})
		if err != nil {
			t.Fatal(err)
		}
		v, err := e.Run(t.Context(), engine.Start{Workflow: []byte(outer)})
		if err != nil || v.Status != run.StatusSucceeded {
			t.Fatalf("%v, %v", v, err)
		}
		for id, want := range map[string][]string{v.RunID: {"say", "nest/say"}, v.Steps["nest"].ChildRunID: {"nest/say"}} {
			var got []string
			for l, err := range e.Logs(t.Context(), id, engine.LogOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, l.Text)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("log of %s (-want +got):\n%s", id, diff)
			}
		}
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestLogsAreRefusedLikeTheRun(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		e, err := engine.Open(t.Context(), w.open(), engine.Config{
			Logs: &notes{}, Tools: []tool.Tool{printer(func(tool.Call) error { return nil })},
		})
		if err != nil {
			t.Fatal(err)
		}
		v, err := e.Run(t.Context(), engine.Start{Workflow: []byte(printing), SessionID: "mine"})
		if err != nil {
			t.Fatal(err)
		}
		for id, session := range map[string]string{"nothing": engine.AnySession, v.RunID: "yours"} {
			n := 0
			for _, err := range e.Logs(t.Context(), id, engine.LogOptions{Session: session}) {
				n++
				if !errors.Is(err, &engine.Error{Code: engine.CodeNotFound}) {
					t.Errorf("run %s of session %s: %v", id, session, err)
				}
			}
			if n != 1 {
				t.Errorf("run %s: %d turns", id, n)
			}
		}
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// Following ends with its context, and leaves nothing behind: the bubble sees to
// that.
func TestFollowingEndsWithItsContext(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		e, err := engine.Open(t.Context(), w.open(), engine.Config{
			Logs: &notes{},
			Tools: []tool.Tool{printer(func(c tool.Call) error {
				write(c.Output(tool.Stdout), "one\n")
				<-release
				return nil
			})},
		})
		if err != nil {
			t.Fatal(err)
		}
		v, err := e.Start(t.Context(), engine.Start{Workflow: []byte(printing)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last error
		for _, err := range e.Logs(ctx, v.RunID, engine.LogOptions{Follow: true}) {
			last = err
			cancel()
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("following ended with %v", last)
		}
		for range e.Logs(t.Context(), v.RunID, engine.LogOptions{Follow: true}) {
			break // a reader that has had enough
		}
		synctest.Wait()
		close(release)
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
