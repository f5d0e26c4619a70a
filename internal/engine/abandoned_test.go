package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
)

// inDoubtRuns are the ids that a listing of doubts gives.
func (w *world) inDoubtRuns() (ids string) {
	w.t.Helper()
	w.look(func(e *engine.Engine, _ store.Store) {
		page, err := e.List(context.Background(), store.Query{InDoubt: true})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range page.Runs {
			ids += r.RunID + " "
		}
	})
	return ids
}

// filled are a run's events with their values, as a subscriber gets them.
func (w *world) filled(id string) (evs []run.Event) {
	w.t.Helper()
	v := w.view(id)
	w.look(func(e *engine.Engine, _ store.Store) {
		for ev, err := range e.Subscribe(context.Background(), id, 0) {
			if err != nil {
				w.t.Fatal(err)
			}
			if evs = append(evs, ev); ev.Sequence == v.LastSequence {
				return
			}
		}
	})
	return evs
}

func limitedCall(effect string) string {
	return fmt.Sprintf(oneCall, effect, fmt.Sprintf(", timeout_ms: %d", timeout.Milliseconds()))
}

// resolved is the verdict that the journal has on step s; nil if there is none.
func (w *world) resolved(id string) *run.StepResolved {
	for _, ev := range w.events(id) {
		if r, ok := ev.Body.(*run.StepResolved); ok {
			return r
		}
	}
	return nil
}

// The answer of a call that was given up comes too late to be an outcome, and is
// a verdict: with an owner at work, and without one.
func TestLateAnswerResolvesTheDoubt(t *testing.T) {
	t.Parallel()
	answers := map[string]struct {
		does    behaviour
		verdict run.Verdict // "" for none
		status  run.Status
		output  string
	}{
		"result":         {gives(`{"paid":true}`), run.VerdictSucceeded, run.StatusSuspended, `{"paid":true}`},
		"failure":        {definite(true), run.VerdictFailed, run.StatusFailed, ""},
		"invalid output": {gives(`{`), run.VerdictFailed, run.StatusFailed, ""},
		"plain error":    {fails(errPlain), "", run.StatusSuspended, ""},
		"panic":          {panics, "", run.StatusSuspended, ""},
	}
	for name, a := range answers {
		t.Run(name, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				s := newScript()
				g := s.gate()
				s.on("s", deaf(g, a.does))
				p := w.process(s)
				id := p.start(limitedCall("write"))
				pass(timeout + grace)
				w.suspended(id, run.KindInDoubt)
				g.open()
				synctest.Wait()
				v := w.status(id, a.status)
				verdict := w.resolved(id)
				switch {
				case a.verdict == "" && verdict == nil:
					step(t, v, "s", run.StatusStepSuspended, true)
					return
				case a.verdict == "" || verdict == nil:
					t.Fatalf("verdict %+v, want %q", verdict, a.verdict)
				}
				if verdict.By != "tool" || verdict.Verdict != a.verdict || string(verdict.Output) != a.output {
					t.Errorf("verdict %+v, want %s by tool", verdict, a.verdict)
				}
				if w.listsDoubt(id, false); v.Status == run.StatusFailed {
					return
				}
				if v := p.resume(id, engine.ContinueOptions{}); v.Status != run.StatusSucceeded || string(v.Output) != a.output {
					t.Errorf("continued: %s with %s", v.Status, v.Output)
				}
				if calls := s.called(); len(calls) != 1 {
					t.Errorf("called %v", calls)
				}
			})
		})
	}
}

func TestLateAnswerReachesALiveOwner(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		late, other := s.gate(), s.gate()
		s.on("s", deaf(late, gives(`1`))).on("o", deaf(other, gives(`2`)))
		p := w.process(s)
		id := p.start(`
workflow_schema: 1
id: two
revision: 1
steps:
  - {id: s, type: tool, tool: write, timeout_ms: 50}
  - {id: o, type: tool, tool: write}
plan: {parallel: [s, o]}
`)
		pass(timeout + grace)
		v := w.status(id, run.StatusRunning)
		step(t, v, "s", run.StatusStepSuspended, true)
		step(t, v, "o", run.StatusStepRunning, false)
		late.open()
		pass(time.Second)
		step(t, w.status(id, run.StatusRunning), "s", run.StatusStepSucceeded, false)
		other.open()
		synctest.Wait()
		if v := w.status(id, run.StatusSucceeded); string(v.Output) != `[1,2]` {
			t.Errorf("output %s", v.Output)
		}
	})
}

// A late answer is to one attempt: it says nothing about what came after it.
func TestLateAnswerAfterADecisionIsDropped(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		g := s.gate()
		s.on("s", deaf(g, gives(`"late"`)))
		p := w.process(s)
		id := p.start(limitedCall("write"))
		pass(timeout + grace)
		_, err := p.Resolve(t.Context(), id, "s", engine.Resolution{Verdict: run.VerdictSucceeded, Output: []byte(`"mine"`), Force: true})
		if err != nil {
			t.Fatal(err)
		}
		g.open()
		synctest.Wait()
		if v := p.resume(id, engine.ContinueOptions{}); v.Status != run.StatusSucceeded || string(v.Output) != `"mine"` {
			t.Errorf("%s with %s", v.Status, v.Output)
		}
	})
}

func TestAbandonedCallsAreCountedAndReportedByClose(t *testing.T) {
	t.Parallel()
	for _, effect := range []string{"read", "idem", "write"} {
		t.Run(effect, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				s := newScript()
				g := s.gate()
				s.on("s", deaf(g, gives(`1`)))
				p := w.process(s)
				id := p.start(limitedCall(effect))
				pass(timeout + grace)
				if effect == "write" {
					_, err := p.Resolve(t.Context(), id, "s", engine.Resolution{Verdict: run.VerdictRerun})
					refused(t, err, engine.CodeStillRunning)
				}
				if err := p.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "1 tool call") {
					t.Errorf("close: %v", err)
				}
				g.open()
				synctest.Wait()
				if err := p.Close(t.Context()); err != nil {
					t.Errorf("close once it returned: %v", err)
				}
			})
		})
	}
}

// A call that returns at the very moment at which it is given up ends one way or
// the other, never both.
func TestReturnAtTheEndOfTheGrace(t *testing.T) {
	t.Parallel()
	for i := range 200 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			onMemory(t, func(t *testing.T, w *world) {
				s := newScript().on("s", func(context.Context, tool.Call) (tool.Result, error) {
					time.Sleep(timeout + grace)
					return tool.Result{Output: []byte(`1`)}, nil
				})
				p := w.process(s)
				id := p.start(limitedCall("write"))
				pass(timeout + 2*grace)
				v := w.view(id)
				if v.Status == run.StatusSuspended {
					v = p.resume(id, engine.ContinueOptions{})
				}
				if v.Status != run.StatusSucceeded || string(v.Output) != `1` {
					t.Errorf("%s with %s\n%s", v.Status, v.Output, w.journal(id))
				}
			})
		})
	}
}

// An author's word that repeating is harmless is no word that doing it twice at
// once is.
func TestAbandonedCallIsNotEnteredAgainWhileItRuns(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		g := s.gate()
		s.on("s", times(deaf(g, fails(errPlain)), gives(`1`)))
		p := w.process(s)
		id := p.start(fmt.Sprintf(oneCall, "write", ", timeout_ms: 50, on_unknown: rerun"))
		pass(timeout + 3*grace)
		if calls := s.called(); len(calls) != 1 {
			t.Errorf("called %d times while the first call still runs\n%s", len(calls), w.journal(id))
		}
		g.open()
		pass(grace)
		v := w.view(id)
		if v.Status == run.StatusSuspended {
			v = p.resume(id, engine.ContinueOptions{})
		}
		if v.Status != run.StatusSucceeded || len(s.called()) != 2 {
			t.Errorf("%s after calls %v\n%s", v.Status, s.called(), w.journal(id))
		}
	})
}
