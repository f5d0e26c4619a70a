package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

// cleaned works, notes a failure, and always sweeps up. sweep is told how it went.
const cleaned = `
workflow_schema: 1
id: cleaned
revision: 1
budgets: {wall_time_ms: 60000, cleanup_ms: 20000}
steps:
  - {id: work, type: tool, tool: write}
  - {id: rest, type: tool, tool: read}
  - {id: note, type: tool, tool: write, args: {why: {from: outcome}}}
  - {id: sweep, type: tool, tool: write, args: {how: {from: outcome, pointer: /status}, work: {from: step, step: work, default: nothing}}}
plan:
  do: [work, rest]
  on_failure: note
  finally: sweep
`

// sawArgs fails the test unless the step was called once, with these arguments.
func (s *script) sawArgs(t *testing.T, step, want string) {
	t.Helper()
	var got []string
	for _, c := range s.made() {
		if c.StepID == step {
			got = append(got, string(c.Args))
		}
	}
	if len(got) != 1 || got[0] != want {
		t.Errorf("step %s was called with %q, want once %s", step, got, want)
	}
}

func TestInvariant25_CleanupAfterSuccess(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		id := w.process(s).start(cleaned)
		v := w.status(id, run.StatusSucceeded)
		if string(v.Output) != `"rest"` {
			t.Errorf("output %s, want that of what was cleaned up after", v.Output)
		}
		w.wantJournal(id, `run_queued run_started | work:started | work:completed | rest:started | rest:completed |
			sweep:started | sweep:completed run_succeeded`)
		s.sawArgs(t, "sweep", `{"how":"succeeded","work":"work"}`)
		if !v.Steps["sweep"].Cleanup || v.Steps["rest"].Cleanup {
			t.Error("steps do not say which of them are cleanups")
		}
	})
}

func TestInvariant25_CleanupAfterAFailureThatStaysTheFailure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sweep behaviour
		want  string
	}{
		"cleanup succeeds": {nil, "said no"},
		"cleanup fails":    {definite(false), "said no; cleanup failed: execution_failed: said no"},
	} {
		t.Run(name, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				s := newScript().on("rest", definite(true)).on("sweep", c.sweep)
				id := w.process(s).start(cleaned)
				v := w.status(id, run.StatusFailed)
				if v.Failure.Code != run.ExecutionFailed || v.Failure.Message != c.want {
					t.Errorf("failure %v, want %s", v.Failure, c.want)
				}
				s.sawArgs(t, "note", `{"why":{"failure":{"code":"execution_failed","message":"said no","retryable":true},"status":"failed"}}`)
				s.sawArgs(t, "sweep", `{"how":"failed","work":"work"}`)
			})
		})
	}
}

func TestInvariant25_ACleanupThatFailsAfterSuccessFails(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		id := w.process(newScript().on("sweep", definite(false))).start(cleaned)
		if v := w.status(id, run.StatusFailed); v.Failure.Message != "cleanup: said no" {
			t.Errorf("failure %v", v.Failure)
		}
	})
}

// What was never entered is not cleaned up after; what could not be entered was.
func TestInvariant25_WhatWasNeverEnteredHasNoCleanup(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		s := newScript().on("first", definite(false))
		id := w.process(s).start(`
workflow_schema: 1
id: late
revision: 1
steps: [{id: first, type: tool, tool: read}, {id: work, type: tool, tool: read}, {id: sweep, type: tool, tool: read}]
plan: [first, {do: work, finally: sweep}]
`)
		w.status(id, run.StatusFailed)
		if got := s.called("sweep"); got != nil {
			t.Errorf("called %v", got)
		}
	})
}

func TestInvariant25_CleanupOfACancelledRun(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("rest", untilCancelled(nil))
		sweeping := s.gate()
		s.on("sweep", deaf(sweeping, gives(`"swept"`)))
		p := w.process(s)
		id := p.start(cleaned)
		if _, err := p.Cancel(t.Context(), id, engine.CancelOptions{}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		v := w.status(id, run.StatusRunning)
		step(t, v, "note", run.StatusStepSucceeded, false)
		step(t, v, "sweep", run.StatusStepRunning, false)
		if v.CancelRequested == "" {
			t.Error("the run does not say that it is being cancelled")
		}
		sweeping.open()
		synctest.Wait()
		w.status(id, run.StatusCancelled)
		s.sawArgs(t, "sweep", `{"how":"cancelled","work":"work"}`)
	})
}

// A cancel of a run that nobody works on leaves its cleanup to who continues it, also
// over another death.
func TestInvariant25_CleanupOfARunCancelledWhileSuspended(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript())
		p.dieAfter("work:completed")
		id := p.start(cleaned)
		q := w.process(newScript())
		q.recover()
		rc, err := q.Cancel(t.Context(), id, engine.CancelOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !rc.Continue || rc.View.Status != run.StatusSuspended || len(q.script.called()) != 0 {
			t.Fatalf("receipt %+v after calls %v", rc, q.script.called())
		}
		pass(2 * time.Hour) // neither the wall time nor that of cleanups passes meanwhile
		q.dieAfter("note:completed")
		if _, err := q.Continue(t.Context(), id, engine.ContinueOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		pass(time.Hour)
		r := w.process(newScript())
		r.recover()
		r.resume(id, engine.ContinueOptions{})
		w.status(id, run.StatusCancelled)
		if got := strings.Join(append(q.script.called(), r.script.called()...), " "); got != "note sweep" {
			t.Errorf("called %q, want each cleanup once and nothing else", got)
		}
	})
}

func TestInvariant25_CleanupWhenTimeIsOver(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("rest", untilCancelled(nil))
		id := w.process(s).start(cleaned)
		pass(time.Minute)
		v := w.status(id, run.StatusFailed)
		if v.Failure.Code != run.BudgetExceeded || strings.Join(s.called(), " ") != "work rest note sweep" {
			t.Errorf("failure %v after calls %v", v.Failure, s.called())
		}
	})
}

func TestInvariant25_CleanupsTimeIsOverToo(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("rest", untilCancelled(nil)).on("note", untilCancelled(definite(false)))
		id := w.process(s).start(cleaned)
		pass(time.Minute + 20*time.Second - time.Millisecond)
		step(t, w.status(id, run.StatusRunning), "note", run.StatusStepRunning, false)
		pass(time.Millisecond)
		v := w.status(id, run.StatusFailed)
		if want := "cleanup was cut short: the time of 20s for cleanups is over"; !strings.Contains(v.Failure.Message, want) {
			t.Errorf("failure %v does not say %q", v.Failure, want)
		}
		if got := s.called("sweep"); got != nil {
			t.Errorf("called %v after the time of cleanups", got)
		}
	})
}

// Stopping only suspends.
func TestInvariant25_AStopStartsNoCleanup(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript().on("rest", untilCancelled(nil)))
		id := p.start(cleaned)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Fatal(err)
		}
		w.suspended(id, run.KindStopped)
		if got := strings.Join(p.script.called(), " "); got != "work rest" {
			t.Errorf("called %q", got)
		}
		q := w.process(newScript())
		q.resume(id, engine.ContinueOptions{Rerun: []tool.Effect{tool.Read}})
		w.status(id, run.StatusSucceeded)
		if got := strings.Join(q.script.called(), " "); got != "rest sweep" {
			t.Errorf("called %q", got)
		}
	})
}

// A sibling's failure ends the node, not its cleanup, and waits for that.
func TestInvariant25_CleanupInAParallelThatFails(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("work", untilCancelled(nil)).on("bad", definite(false)).on("sweep", definite(false))
		id := w.process(s).start(`
workflow_schema: 1
id: beside
revision: 1
steps: [{id: bad, type: tool, tool: read}, {id: work, type: tool, tool: read}, {id: sweep, type: tool, tool: write}]
plan: {parallel: [{do: work, finally: sweep}, bad]}
`)
		v := w.status(id, run.StatusFailed)
		if want := "branch[1]: said no; branch[0]: cleanup failed: execution_failed: said no"; v.Failure.Message != want {
			t.Errorf("failure %q, want %q", v.Failure.Message, want)
		}
		step(t, v, "work", run.StatusStepCancelled, false)
	})
}

// Steps that a cleanup may need are not spent by others.
func TestInvariant25_StepsAreKeptForCleanups(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ max, calls string }{
		"too few":    {"4", "a b sweep report"},
		"just right": {"5", "a b c sweep report"},
	} {
		t.Run(name, func(t *testing.T) {
			onMemory(t, func(t *testing.T, w *world) {
				s := newScript()
				id := w.process(s).start(`
workflow_schema: 1
id: kept
revision: 1
budgets: {max_steps: ` + c.max + `}
steps:
  - {id: a, type: tool, tool: read}
  - {id: b, type: tool, tool: read}
  - {id: c, type: tool, tool: read}
  - {id: sweep, type: tool, tool: read}
  - {id: report, type: tool, tool: read}
plan: {do: [a, b, c], finally: [sweep, report]}
`)
				v := w.view(id)
				if got := strings.Join(s.called(), " "); got != c.calls {
					t.Errorf("called %q, want %q", got, c.calls)
				}
				if tooFew := v.Failure != nil && v.Failure.Code == run.BudgetExceeded; tooFew != (name == "too few") {
					t.Errorf("the run is %s: %v", v.Status, v.Failure)
				}
			})
		})
	}
}

// Nor does a map count them as its own.
func TestInvariant25_AMapLeavesTheStepsOfCleanups(t *testing.T) {
	for max, calls := range map[string]string{"3": "sweep report", "4": "a@root[0] a@root[1] sweep report"} {
		t.Run(max, func(t *testing.T) {
			onMemory(t, func(t *testing.T, w *world) {
				s := newScript()
				id := w.process(s).start(`
workflow_schema: 1
id: kept
revision: 1
budgets: {max_steps: ` + max + `, max_concurrency: 1}
steps: [{id: a, type: tool, tool: read}, {id: sweep, type: tool, tool: read}, {id: report, type: tool, tool: read}]
plan: {do: {map: [1, 2], as: i, do: a}, finally: [sweep, report]}
`)
				if got := strings.Join(s.called(), " "); got != calls {
					t.Errorf("called %q, want %q (failure %v)", got, calls, w.view(id).Failure)
				}
			})
		})
	}
}

// A retry around cleans up after each round; one inside is over before.
func TestInvariant25_CleanupAndRetry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ plan, calls string }{
		"around": {"{retry: {do: [a, b], finally: sweep}, attempts: 3}", "a b sweep b sweep"},
		"inside": {"{do: {retry: [a, b], attempts: 3}, finally: sweep}", "a b b sweep"},
	} {
		t.Run(name, func(t *testing.T) {
			onMemory(t, func(t *testing.T, w *world) {
				s := newScript().on("b", times(definite(true), gives(`1`)))
				id := w.process(s).start(`
workflow_schema: 1
id: again
revision: 1
steps: [{id: a, type: tool, tool: write}, {id: b, type: tool, tool: write}, {id: sweep, type: tool, tool: write}]
plan: ` + c.plan)
				w.status(id, run.StatusSucceeded)
				if got := strings.Join(s.called(), " "); got != c.calls {
					t.Errorf("called %q, want %q", got, c.calls)
				}
			})
		})
	}
}

func TestInvariant12_AMapToleratesSoManyFailures(t *testing.T) {
	t.Parallel()
	for tolerate, want := range map[string]run.Status{"1": run.StatusFailed, "2": run.StatusSucceeded} {
		t.Run(tolerate, func(t *testing.T) {
			onMemory(t, func(t *testing.T, w *world) {
				s := newScript().on("a@root[0]", definite(false)).on("a@root[2]", definite(true))
				id := w.process(s).start(`
workflow_schema: 1
id: most
revision: 1
steps: [{id: a, type: tool, tool: read}]
plan: {map: {from: literal, value: [1, 2, 3]}, as: i, do: a, tolerate: ` + tolerate + `}
`)
				v := w.status(id, want)
				failed := func(retryable string) string {
					return `{"error":{"code":"execution_failed","message":"said no","retryable":` + retryable + `}}`
				}
				if want := `[` + failed("false") + `,"a@root[1]",` + failed("true") + `]`; tolerate == "2" && string(v.Output) != want {
					t.Errorf("output %s, want %s", v.Output, want)
				}
			})
		})
	}
}
