package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

// minute is a run that has one minute. %s is its steps and plan.
const minute = "workflow_schema: 1\nid: minute\nrevision: 1\nbudgets: {wall_time_ms: 60000}\n%s"

var (
	twoSteps = fmt.Sprintf(minute, "steps: [{id: a, type: tool, tool: write}, {id: b, type: tool, tool: write}]\n")
	napFirst = fmt.Sprintf(minute, "steps: [{id: nap, type: sleep, duration_ms: 90000}, {id: b, type: tool, tool: write}]\n")
)

func TestInvariant15_WhatEndedInTheGraceIsRecordedAsItEnded(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		tool  string
		does  behaviour
		want  run.StepStatus
		doubt bool
	}{
		{"success", "write", untilCancelled(gives(`1`)), run.StatusStepSucceeded, false},
		{"definite failure", "write", untilCancelled(definite(false)), run.StatusStepFailed, false},
		{"read that gave up", "read", untilCancelled(nil), run.StatusStepCancelled, false},
		{"write that gave up", "write", untilCancelled(nil), run.StatusStepSuspended, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				s := newScript().on("a", c.does)
				p := w.process(s)
				id := p.start(strings.Replace(twoSteps, "tool: write", "tool: "+c.tool, 1))
				pass(time.Minute - time.Millisecond)
				step(t, w.status(id, run.StatusRunning), "a", run.StatusStepRunning, false)
				pass(time.Millisecond)
				if c.doubt {
					step(t, w.suspended(id, run.KindInDoubt), "a", c.want, true)
					if _, err := p.Resolve(t.Context(), id, "a", engine.Resolution{Verdict: run.VerdictSucceeded}); err != nil {
						t.Fatal(err)
					}
				} else {
					step(t, w.view(id), "a", c.want, false)
				}
				v := w.status(id, run.StatusFailed)
				if v.Failure.Code != run.BudgetExceeded || len(s.called("b")) != 0 {
					t.Errorf("failure %v after calls %v", v.Failure, s.called())
				}
			})
		})
	}
}

// offline runs a run up to its first outcome and takes its owner away.
func offline(w *world, how string) (id string) {
	s := newScript()
	p := w.process(s)
	g := s.gate()
	s.on("a", deaf(g, gives(`1`)))
	if how == "died" {
		p.dieAfter("a:completed")
	}
	id = p.start(twoSteps)
	if how == "died" {
		g.open()
		synctest.Wait()
		return id
	}
	done := make(chan error)
	go func() { done <- p.Stop(context.Background()) }()
	synctest.Wait()
	g.open()
	if err := <-done; err != nil {
		w.t.Fatal(err)
	}
	return id
}

func TestInvariant15_TimeThatPassedOffline(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"died", "stopped"} {
		t.Run(how, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				id := offline(w, how)
				pass(2 * time.Minute)
				q := w.process(newScript())
				q.recover()
				v := w.status(id, run.StatusSuspended)
				if refusal := v.Actions["continue"]; refusal == nil || *refusal != engine.CodeDeadlinePassed {
					t.Errorf("actions say %v", refusal)
				}
				before := w.dump()
				_, err := q.Continue(t.Context(), id, engine.ContinueOptions{})
				refused(t, err, engine.CodeDeadlinePassed)
				w.unchanged(before)
				g := q.script.gate()
				q.script.on("b", deaf(g, gives(`2`)))
				q.resume(id, engine.ContinueOptions{Extend: time.Minute})
				pass(time.Minute - time.Millisecond)
				w.status(id, run.StatusRunning)
				g.open()
				synctest.Wait()
				w.status(id, run.StatusSucceeded)
			})
		})
	}
}

// An extension grants time; it never takes some away.
func TestInvariant15_ExtendNeverShortens(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		id := offline(w, "stopped")
		q := w.process(newScript())
		q.script.on("b", func(context.Context, tool.Call) (tool.Result, error) {
			time.Sleep(30 * time.Second)
			return tool.Text("b"), nil
		})
		q.resume(id, engine.ContinueOptions{Extend: time.Second})
		pass(31 * time.Second)
		w.status(id, run.StatusSucceeded)
	})
}

func TestInvariant15_TimeInDoubtIsWaiting(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("a", fails(errPlain)).on("b", untilCancelled(gives(`2`)))
		p := w.process(s)
		id := p.start(twoSteps)
		w.suspended(id, run.KindInDoubt)
		pass(10 * time.Minute)
		if _, err := p.Resolve(t.Context(), id, "a", engine.Resolution{Verdict: run.VerdictSucceeded}); err != nil {
			t.Fatal(err)
		}
		p.resume(id, engine.ContinueOptions{}) // not refused: the time did not run
		pass(time.Minute - time.Millisecond)
		w.status(id, run.StatusRunning)
		pass(time.Millisecond)
		if v := w.status(id, run.StatusFailed); v.Failure.Code != run.BudgetExceeded {
			t.Errorf("failure %v", v.Failure)
		}
	})
}

func TestInvariant15_ShortBudgetsLeaveContiguousJournals(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		var calls atomic.Int64
		def := "workflow_schema: 1\nid: hurry\nrevision: 1\nbudgets: {wall_time_ms: 1}\nsteps:\n"
		for i := range 6 {
			name := fmt.Sprintf("s%d", i)
			def += "  - {id: " + name + ", type: tool, tool: read}\n"
			s.on(name, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				select {
				case <-ctx.Done():
					return tool.Result{}, ctx.Err()
				case <-time.After(time.Duration(calls.Add(1)*7%23) * 20 * time.Microsecond):
					return tool.Text("done"), nil
				}
			})
		}
		def += "plan: [s0, {parallel: [s1, s2]}, {parallel: [s3, [s4, s5]]}]\n"
		p := w.process(s)
		ends := map[run.Status]int{}
		for range 100 {
			id := p.start(def)
			pass(10 * time.Millisecond)
			v := w.view(id)
			ends[v.Status]++
			if v.Status == run.StatusFailed && v.Failure.Code != run.BudgetExceeded {
				t.Errorf("failure %v", v.Failure)
			}
			if evs := w.events(id); v.LastSequence != uint64(len(evs)) || !v.Status.Terminal() { // events checks each number
				t.Errorf("%s with last sequence %d of %d events", v.Status, v.LastSequence, len(evs))
			}
		}
		if ends[run.StatusFailed] == 0 {
			t.Errorf("none ran out of time: %v", ends)
		}
	})
}

func TestSleepKeepsItsDeadlineOverOwners(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"stop", "death"} {
		t.Run(how, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				p := w.process(newScript())
				id := p.start(napFirst)
				pass(30 * time.Second)
				if how == "stop" {
					if err := p.Stop(t.Context()); err != nil {
						t.Fatal(err)
					}
					w.suspended(id, run.KindStopped)
				} else {
					p.kill()
					p.end()
				}
				q := w.process(newScript())
				q.recover()
				v := w.status(id, run.StatusSuspended)
				if len(v.Waits) != 1 || v.Waits[0].Step != "nap" || v.Waits[0].Kind != run.KindSleep || v.Waits[0].Deadline == nil {
					t.Errorf("waits %+v", v.Waits)
				}
				pass(20 * time.Second)
				q.resume(id, engine.ContinueOptions{})
				w.status(id, run.StatusRunning)
				pass(40*time.Second - time.Millisecond)
				w.status(id, run.StatusRunning)
				pass(time.Millisecond)
				v = w.status(id, run.StatusSucceeded)
				if v.Steps["nap"].Attempts != 1 {
					t.Errorf("nap took %d attempts", v.Steps["nap"].Attempts)
				}
			})
		})
	}
}

func TestStopAwaitsCallsAndContinueGoesOn(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		id := offline(w, "stopped")
		v := w.suspended(id, run.KindStopped)
		step(t, v, "a", run.StatusStepSucceeded, false)
		if v.Steps["b"] != nil {
			t.Error("something was entered after the stop")
		}
		q := w.process(newScript())
		if done := q.resume(id, engine.ContinueOptions{}); done.Status != run.StatusSucceeded {
			t.Errorf("continued: %s", done.Status)
		}
		if calls := q.script.called(); len(calls) != 1 || calls[0] != "b" {
			t.Errorf("called %v", calls)
		}
	})
}
