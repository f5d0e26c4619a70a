package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

// payAndOther runs a write beside another step, and a step after both.
const payAndOther = `
workflow_schema: 1
id: pay
revision: 1
budgets: {wall_time_ms: 60000}
steps:
  - {id: pay, type: tool, tool: write}
  - {id: other, type: tool, tool: read}
  - {id: after, type: tool, tool: read}
plan: [{parallel: [pay, other]}, after]
`

// noVerdict fails the test if any event says that step pay failed or was
// cancelled as if its outcome were known.
func (w *world) stillInDoubt(id string) *run.View {
	w.t.Helper()
	for _, ev := range w.events(id) {
		switch b := ev.Body.(type) {
		case *run.StepFailed, *run.StepCompleted, *run.StepCancelled, *run.StepResolved:
			if ev.StepID == "pay" {
				w.t.Errorf("event %d writes over a doubt: %s %+v", ev.Sequence, ev.Type, b)
			}
		}
	}
	v := w.status(id, run.StatusSuspended)
	step(w.t, v, "pay", run.StatusStepSuspended, true)
	w.listsDoubt(id, true)
	return v
}

// endings are what may end a run while its write is in flight.
func endings() map[string]func(t *testing.T, w *world, p *process, id string, other *gate) {
	return map[string]func(t *testing.T, w *world, p *process, id string, other *gate){
		"sibling failure": func(t *testing.T, w *world, p *process, id string, other *gate) {
			other.open()
			synctest.Wait()
		},
		"deadline": func(*testing.T, *world, *process, string, *gate) { pass(60 * time.Second) },
		"stop": func(t *testing.T, w *world, p *process, id string, other *gate) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := p.Close(ctx); err != nil {
				t.Error(err)
			}
		},
		"owner's death": func(t *testing.T, w *world, p *process, id string, other *gate) {
			p.kill()
			other.open()
			synctest.Wait()
			w.process(newScript()).recover()
		},
	}
}

// Neither a sibling's failure nor the deadline nor a stop nor a death writes over
// a write whose call returned neither a result nor a definite failure.
func TestNothingWritesOverADoubt(t *testing.T) {
	t.Parallel()
	calls := map[string]behaviour{
		"context error": untilCancelled(nil),
		"plain error":   untilCancelled(fails(errPlain)),
		"panic":         untilCancelled(panics),
	}
	for callName, call := range calls {
		for name, end := range endings() {
			t.Run(name+"/"+callName, func(t *testing.T) {
				onWorlds(t, func(t *testing.T, w *world) {
					s := newScript()
					g := s.gate()
					s.on("pay", call).on("other", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
						select {
						case <-g.ch:
							return tool.Result{}, tool.Failed("", false, "no")
						case <-ctx.Done():
							return tool.Result{}, ctx.Err()
						}
					})
					p := w.process(s)
					id := p.start(payAndOther)
					end(t, w, p, id, g)
					w.stillInDoubt(id)
					if calls := s.called("after"); len(calls) > 0 {
						t.Error("what comes after was called")
					}
				})
			})
		}
	}
}

// The same with a call that does not even return within its grace.
func TestNothingWritesOverAnAbandonedCall(t *testing.T) {
	t.Parallel()
	for name, end := range endings() {
		if name == "stop" || name == "owner's death" {
			continue // the one is told of in Close's error, the other has no grace
		}
		t.Run(name, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				s := newScript()
				g, never := s.gate(), s.gate()
				s.on("pay", deaf(never, fails(errPlain))).on("other", deaf(g, definite(false)))
				p := w.process(s)
				id := p.start(payAndOther)
				end(t, w, p, id, g)
				w.status(id, run.StatusRunning)
				g.open()
				pass(grace)
				w.stillInDoubt(id)
			})
		})
	}
}

// What would have ended the run ends it in the commit of the last verdict.
func TestLastVerdictEndsTheRun(t *testing.T) {
	t.Parallel()
	verdicts := map[string]engine.Resolution{
		"succeeded": {Verdict: run.VerdictSucceeded, Output: []byte(`"paid"`)},
		"failed":    {Verdict: run.VerdictFailed, Message: "not paid"},
		"rerun":     {Verdict: run.VerdictRerun},
	}
	ends := []struct {
		name string
		code run.Code
	}{{"sibling failure", run.ExecutionFailed}, {"deadline", run.BudgetExceeded}}
	for _, end := range ends {
		for name, verdict := range verdicts {
			t.Run(end.name+"/"+name, func(t *testing.T) {
				onWorlds(t, func(t *testing.T, w *world) {
					s := newScript()
					g := s.gate()
					s.on("pay", untilCancelled(nil)).on("other", deaf(g, definite(false)))
					p := w.process(s)
					id := p.start(payAndOther)
					endings()[end.name](t, w, p, id, g)
					g.open()
					pass(grace)
					w.stillInDoubt(id)
					rc, err := p.Resolve(t.Context(), id, "pay", verdict)
					if err != nil {
						t.Fatal(err)
					}
					if rc.Live || rc.Continue || rc.View.Status != run.StatusFailed {
						t.Errorf("receipt says live %v, continue %v, %s", rc.Live, rc.Continue, rc.View.Status)
					}
					v := w.status(id, run.StatusFailed)
					if v.Failure.Code != end.code {
						t.Errorf("failed with %v, want %s", v.Failure, end.code)
					}
					commits := w.commits(id)
					last := words(commits[len(commits)-1])
					if !strings.HasPrefix(last, "pay:resolved") || !strings.HasSuffix(last, "run_failed") {
						t.Errorf("the last commit is %s", last)
					}
					if calls := s.called("pay"); len(calls) != 1 {
						t.Errorf("pay was called %d times", len(calls))
					}
					w.listsDoubt(id, false)
				})
			})
		}
	}
}

// A run with two doubts ends with the second verdict, not the first.
func TestOnlyTheLastVerdictEndsTheRun(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("pay", untilCancelled(nil)).on("ship", untilCancelled(nil)).on("other", definite(false))
		p := w.process(s)
		id := p.start(`
workflow_schema: 1
id: two
revision: 1
steps:
  - {id: pay, type: tool, tool: write}
  - {id: ship, type: tool, tool: write}
  - {id: other, type: tool, tool: read}
plan: {parallel: [pay, ship, other]}
`)
		w.suspended(id, run.KindInDoubt)
		for i, id2 := range []string{"ship", "pay"} {
			rc, err := p.Resolve(t.Context(), id, id2, engine.Resolution{Verdict: run.VerdictSucceeded})
			if err != nil {
				t.Fatal(err)
			}
			if want := i == 0; rc.Continue != want {
				t.Errorf("after verdict %d: continue %v", i+1, rc.Continue)
			}
		}
		if v := w.status(id, run.StatusFailed); !strings.HasPrefix(v.Failure.Message, "branch[2]") {
			t.Errorf("failure %v", v.Failure)
		}
	})
}

// Cancelling is the one end that a doubt does not hold up; it stays on record.
func TestCancelEndsADoubtOnRecord(t *testing.T) {
	t.Parallel()
	for name, end := range endings() {
		t.Run("after "+name, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				s := newScript()
				g := s.gate()
				s.on("pay", untilCancelled(nil)).on("other", deaf(g, definite(false)))
				p := w.process(s)
				id := p.start(payAndOther)
				if name == "stop" {
					g.open()
				}
				end(t, w, p, id, g)
				g.open()
				pass(grace)
				w.stillInDoubt(id)
				rc, err := w.process(newScript()).Cancel(t.Context(), id, engine.CancelOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(rc.InDoubt, "pay") || rc.Continue || rc.View.Status != run.StatusCancelled {
					t.Errorf("receipt: in doubt %v, continue %v, %s", rc.InDoubt, rc.Continue, rc.View.Status)
				}
				w.cancelledInDoubt(id)
			})
		})
	}
}

// cancelledInDoubt checks what a cancelled run says of a write in doubt.
func (w *world) cancelledInDoubt(id string) {
	w.t.Helper()
	v := w.status(id, run.StatusCancelled)
	step(w.t, v, "pay", run.StatusStepCancelled, true)
	w.listsDoubt(id, true)
	for _, ev := range w.events(id) {
		if c, ok := ev.Body.(*run.StepCancelled); ok && ev.StepID == "pay" && !c.InDoubt {
			w.t.Errorf("event %d hides the doubt", ev.Sequence)
		}
	}
}

func TestCancelOfARunInDoubtWithALiveOwner(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("pay", fails(errPlain)).on("other", untilCancelled(nil))
		p := w.process(s)
		id := p.start(payAndOther)
		step(t, w.status(id, run.StatusRunning), "pay", run.StatusStepSuspended, true)
		rc, err := w.process(newScript()).Cancel(t.Context(), id, engine.CancelOptions{})
		if err != nil || !rc.Live {
			t.Fatalf("receipt %+v, %v", rc, err)
		}
		pass(time.Second)
		w.cancelledInDoubt(id)
	})
}

func TestRestartOfARunInDoubt(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("pay", times(fails(errPlain), gives(`1`)))
		p := w.process(s)
		id := p.start(payAndOther)
		w.stillInDoubt(id)
		before := w.dump()
		_, err := p.Restart(t.Context(), id, engine.RestartOptions{})
		refused(t, err, engine.CodeStepInDoubt)
		w.unchanged(before)
		again, err := p.Restart(t.Context(), id, engine.RestartOptions{AcceptDoubt: true})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.cancelledInDoubt(id)
		if v := w.status(again.RunID, run.StatusSucceeded); v.RestartedFrom != id {
			t.Errorf("restarted from %q", v.RestartedFrom)
		}
		keys := s.made()
		if a, b := keys[0], keys[len(keys)-1]; a.IdempotencyKey == b.IdempotencyKey {
			t.Error("a restart keeps an idempotency key")
		}
	})
}

// A stop with a deadline of its own asks calls to return. What reads did is then
// not known either, and does not end the run.
func TestStopThatCannotWaitEndsNothing(t *testing.T) {
	t.Parallel()
	for _, effect := range []string{"read", "idem", "write"} {
		t.Run(effect, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				def := strings.Replace(payAndOther, "tool: write", "tool: "+effect, 1)
				p := w.process(newScript().on("pay", untilCancelled(nil)))
				id := p.start(def)
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if err := p.Close(ctx); err != nil {
					t.Fatal(err)
				}
				v := w.suspended(id, run.KindStopped)
				step(t, v, "pay", run.StatusStepSuspended, true)
				step(t, v, "other", run.StatusStepSucceeded, false)
				q := w.process(newScript())
				_, err := q.Continue(t.Context(), id, engine.ContinueOptions{})
				refused(t, err, engine.CodeStepInDoubt)
				q.resume(id, engine.ContinueOptions{Rerun: []tool.Effect{tool.Read, tool.Idempotent, tool.Write}})
				w.status(id, run.StatusSucceeded)
			})
		})
	}
}
