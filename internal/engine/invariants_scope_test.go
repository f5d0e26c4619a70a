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
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

func TestInvariant11_AFailureCancelsItsOwnScopeOnly(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		in, out, fail := s.gate(), s.gate(), s.gate()
		const here, there = "@root[0]", "@root[1]"
		s.on("bad"+here, deaf(fail, definite(false)))
		s.on("sibling"+here, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			<-in.ch // it takes its time
			return tool.Result{}, ctx.Err()
		})
		outside := func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			select {
			case <-ctx.Done():
				t.Error("a failure cancelled a step outside of its scope")
			case <-out.ch:
			}
			return tool.Text("fine"), nil
		}
		s.on("bad"+there, outside).on("sibling"+there, outside)
		id := w.process(s).start(scopes)
		fail.open()
		synctest.Wait()
		step(t, w.status(id, run.StatusRunning), "sibling"+here, run.StatusStepRunning, false)
		in.open()
		synctest.Wait()
		v := w.status(id, run.StatusRunning)
		step(t, v, "sibling"+here, run.StatusStepCancelled, false)
		step(t, v, "sibling"+there, run.StatusStepRunning, false)
		out.open()
		synctest.Wait()
		v = w.status(id, run.StatusFailed)
		step(t, v, "bad"+there, run.StatusStepSucceeded, false)
		if want := "item[0]: execution_failed: branch[1]: said no"; v.Failure.Message != want {
			t.Errorf("failure %q, want %q", v.Failure.Message, want)
		}
	})
}

// scopes fails in the parallel of one item; the other item is another scope.
const scopes = `
workflow_schema: 1
id: scopes
revision: 1
budgets: {max_concurrency: 4}
steps:
  - {id: sibling, type: tool, tool: read}
  - {id: bad, type: tool, tool: read}
plan: {map: {from: literal, value: [0, 1]}, as: i, do: {parallel: [sibling, bad]}, concurrency: 2}
`

func TestInvariant11_GraceEndsTheWait(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		s.on("a", deaf(s.gate(), gives(`1`))).on("b", definite(false))
		id := w.process(s).start(`
workflow_schema: 1
id: two
revision: 1
steps: [{id: a, type: tool, tool: read}, {id: b, type: tool, tool: read}, {id: c, type: tool, tool: read}]
plan: {parallel: [a, b, c]}
budgets: {max_concurrency: 2}
`)
		pass(grace - time.Millisecond)
		step(t, w.status(id, run.StatusRunning), "a", run.StatusStepRunning, false)
		pass(time.Millisecond)
		v := w.status(id, run.StatusFailed)
		step(t, v, "a", run.StatusStepCancelled, false)
		if v.Steps["c"] != nil {
			t.Errorf("a step that waited for a slot was entered: %+v", v.Steps["c"])
		}
		if v.Failure.Code != run.ExecutionFailed || v.Failure.Message != "branch[1]: said no" {
			t.Errorf("failure %v", v.Failure)
		}
	})
}

const mapping = `
workflow_schema: 1
id: map
revision: 1
input_schema: {type: object, properties: {items: {type: array}}}
steps: [{id: x, type: tool, tool: %s, args: {i: {from: item, name: i}}}]
plan: %s
budgets: {max_steps: 8, max_agents: 1}
`

func items(list string) func(*engine.Start) {
	return func(s *engine.Start) { s.Args = []byte(`{"items":` + list + `}`) }
}

const overItems = `{map: {from: args, pointer: /items}, as: i, do: x, concurrency: 2}`

func TestInvariant12_MapChecksItsCardinalityFirst(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		p := w.process(s)
		def := fmt.Sprintf(mapping, "write", overItems)
		id := p.start(def, items(`[0,1,2,3,4,5,6,7,8]`))
		v := w.status(id, run.StatusFailed)
		if v.Failure.Code != run.BudgetExceeded || len(v.Steps) != 0 || len(s.called()) != 0 {
			t.Errorf("failure %v after calls %v", v.Failure, s.called())
		}
		w.status(p.start(def, items(`[0,1,2,3,4,5,6,7]`)), run.StatusSucceeded)
	})
}

func TestInvariant12_MapReportsAllFailures(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("x@root[1]", definite(false)).on("x@root[3]", fails(tool.Failed("quota", false, "none left")))
		v := w.status(w.process(s).start(fmt.Sprintf(mapping, "write", overItems), items(`[0,1,2,3,4]`)), run.StatusFailed)
		if want := "item[1]: execution_failed: said no; item[3]: execution_failed: quota: none left"; v.Failure.Message != want {
			t.Errorf("failure %q, want %q", v.Failure.Message, want)
		}
		if len(s.called()) != 5 {
			t.Errorf("called %v", s.called())
		}
	})
}

func TestInvariant12_RetryLeavesFinishedItemsAlone(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("x@root[1]", times(definite(true), definite(true), gives(`"one"`))).on("x@root[2]", times(definite(true), gives(`"two"`)))
		id := w.process(s).start(fmt.Sprintf(mapping, "write", "{retry: "+overItems+", attempts: 4, delay_ms: 100}"), items(`[0,1,2]`))
		pass(time.Second)
		v := w.status(id, run.StatusSucceeded)
		for i, want := range []int{1, 3, 2} {
			if st := v.Steps[fmt.Sprintf("x@root[%d]", i)]; st.Attempts != want {
				t.Errorf("item %d took %d attempts, want %d", i, st.Attempts, want)
			}
		}
		if len(s.called()) != 6 || v.Usage.Steps != 6 || v.Usage.Retries != 2 || string(v.Output) != `["x@root[0]","one","two"]` {
			t.Errorf("output %s after calls %v, usage %+v", v.Output, s.called(), v.Usage)
		}
		keys := map[string]string{}
		for _, c := range s.made() {
			if k := keys[c.StepID]; k != "" && k != c.IdempotencyKey {
				t.Errorf("the key of %s changed", c.StepID)
			}
			keys[c.StepID] = c.IdempotencyKey
		}
	})
}

const retrying = `
workflow_schema: 1
id: retry
revision: 1
steps: [{id: s, type: tool, tool: write%s}]
plan: {retry: s, attempts: %d}
budgets: {max_retries: %d}
`

func TestInvariant13_WhatIsRetried(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name     string
		does     func() behaviour
		attempts int
		retries  int
		calls    int
		status   run.Status
		code     run.Code
	}{
		{"retryable, then fine", func() behaviour { return times(definite(true), definite(true), gives(`1`)) }, 3, 8, 3, run.StatusSucceeded, ""},
		{"not retryable", func() behaviour { return definite(false) }, 3, 8, 1, run.StatusFailed, run.ExecutionFailed},
		{"unknown", func() behaviour { return fails(errPlain) }, 3, 8, 1, run.StatusSuspended, ""},
		{"panic", func() behaviour { return panics }, 3, 8, 1, run.StatusSuspended, ""},
		{"attempts used up", func() behaviour { return definite(true) }, 3, 8, 3, run.StatusFailed, run.RetryExhausted},
		{"budget used up", func() behaviour { return definite(true) }, 8, 2, 3, run.StatusFailed, run.BudgetExceeded},
		{"no budget", func() behaviour { return definite(true) }, 8, 0, 1, run.StatusFailed, run.BudgetExceeded},
		{"invalid output", func() behaviour { return gives(`{`) }, 3, 8, 1, run.StatusFailed, run.InvalidOutput},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				s := newScript().on("s", c.does())
				id := w.process(s).start(fmt.Sprintf(retrying, "", c.attempts, c.retries))
				v := w.status(id, c.status)
				if len(s.called()) != c.calls || v.Steps["s"].Attempts != c.calls {
					t.Errorf("called %d times, want %d", len(s.called()), c.calls)
				}
				if v.Failure != nil && v.Failure.Code != c.code {
					t.Errorf("failure %v, want %s", v.Failure, c.code)
				}
				if n := int64(c.retries); v.Usage.Retries > n || v.Usage.Retries != int64(count(w.events(id), run.TypeRetryReserved)) {
					t.Errorf("usage %+v", v.Usage)
				}
			})
		})
	}
}

func TestInvariant14_FailurePolicies(t *testing.T) {
	t.Parallel()
	const failure = `{"error":{"code":"execution_failed","message":"said no","retryable":false}}`
	cases := []struct{ name, policy, plan, output, skipped string }{
		{"continue_with_error", "continue_with_error", "[a, b]", failure, ""},
		{"skip_dependents", "skip_dependents", "[a, c, b]", failure, "c b"},
		{"skip_dependents of an inner sequence", "skip_dependents", "[[a, c], b]", failure, "c"},
		{"skip_dependents of a branch", "skip_dependents", "{parallel: [[a, c], b]}", "[" + failure + `,{"error":0}]`, "c"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				s := newScript().on("a", definite(false)).on("b", func(_ context.Context, call tool.Call) (tool.Result, error) {
					return tool.Result{Output: call.Args}, nil
				})
				steps, last := "", "{from: step, step: a}"
				if strings.Contains(c.plan, "parallel") {
					last = "{error: 0}"
				}
				for _, id := range strings.Fields("a b c") {
					if strings.Contains(c.plan, id+",") || strings.Contains(c.plan, id+"]") {
						steps += map[string]string{
							"a": "  - {id: a, type: tool, tool: write, failure: " + c.policy + "}\n",
							"b": "  - {id: b, type: tool, tool: write, args: {error: {text: [x]}}}\n",
							"c": "  - {id: c, type: tool, tool: write}\n",
						}[id]
					}
				}
				steps = strings.Replace(steps, "{error: {text: [x]}}", last, 1)
				id := w.process(s).start("workflow_schema: 1\nid: policy\nrevision: 1\nsteps:\n" + steps + "plan: " + c.plan + "\n")
				v := w.status(id, run.StatusSucceeded)
				if string(v.Output) != c.output {
					t.Errorf("output %s, want %s", v.Output, c.output)
				}
				for _, id := range strings.Fields(c.skipped) {
					if st := v.Steps[id]; st == nil || st.Status != run.StatusStepSkipped || st.Reason != run.SkipDependency {
						t.Errorf("step %s: %+v", id, st)
					}
				}
			})
		})
	}
}

func TestInvariant18_NestedRunsShareTheBudget(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		inner := &mutable{text: "workflow_schema: 1\nid: inner\nrevision: 1\nsteps:\n  - {id: x, type: tool, tool: write}\n  - {id: y, type: tool, tool: write}\n"}
		s := newScript()
		p := w.process(s, func(c *engine.Config) { c.Catalog = inner })
		def := func(budget string) string {
			return "workflow_schema: 1\nid: outer\nrevision: 1\nbudgets: {" + budget + "}\nsteps:\n" +
				"  - {id: in, type: workflow, workflow_id: inner, revision: 1}\n  - {id: again, type: workflow, workflow_id: inner, revision: 1}\n"
		}
		v := w.status(p.start(def("max_steps: 5, max_agents: 1")), run.StatusFailed)
		if v.Failure.Code != run.BudgetExceeded || v.Usage.Steps != 5 || len(s.called()) != 3 {
			t.Errorf("failure %v, usage %+v, calls %v", v.Failure, v.Usage, s.called())
		}
		_, err := p.Start(t.Context(), engine.Start{Workflow: []byte(def("max_nesting_depth: 1")), Budget: &workflow.Budgets{MaxNestingDepth: new(int64)}})
		if err == nil {
			t.Error("a depth of 0 was accepted")
		}
	})
}

func TestInvariant18_NestedDoubtSuspendsItsParents(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		inner := &mutable{text: "workflow_schema: 1\nid: inner\nrevision: 1\nsteps:\n  - {id: x, type: tool, tool: write}\n  - {id: y, type: tool, tool: write}\n"}
		s := newScript().on("in/x", fails(errPlain))
		p := w.process(s, func(c *engine.Config) { c.Catalog = inner })
		id := p.start("workflow_schema: 1\nid: outer\nrevision: 1\nsteps:\n  - {id: in, type: workflow, workflow_id: inner, revision: 1}\n  - {id: z, type: tool, tool: write}\n")
		v := w.suspended(id, run.KindInDoubt)
		step(t, v, "in", run.StatusStepSuspended, false)
		step(t, v, "in/x", run.StatusStepSuspended, true)
		child := v.Steps["in"].ChildRunID
		if child == "" {
			t.Fatal("the nested run has no id")
		}
		w.nested(p, id, child)
		if _, err := p.Resolve(t.Context(), id, "in/x", engine.Resolution{Verdict: run.VerdictSucceeded}); err != nil {
			t.Fatal(err)
		}
		done := p.resume(id, engine.ContinueOptions{})
		if done.Status != run.StatusSucceeded || done.Steps["in"].ChildRunID != child {
			t.Errorf("%s, nested run %s", done.Status, done.Steps["in"].ChildRunID)
		}
	})
}

// nested checks what a nested run's id is good for: to look at it, only.
func (w *world) nested(p *process, root, child string) {
	t := w.t
	t.Helper()
	ctx := context.Background()
	v, err := p.Progress(ctx, child, engine.ProgressOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if v.RunID != child || v.RootRunID != root || v.ParentRunID != root || v.ParentStepID != "in" || v.Status != run.StatusSuspended || v.Definition.ID != "inner" {
		t.Errorf("nested view %+v", v.Snapshot)
	}
	if len(v.Steps) != 1 || v.Steps["in/x"] == nil {
		t.Errorf("nested steps %v", v.Steps)
	}
	for name, refusal := range v.Actions {
		if refusal == nil || *refusal != engine.CodeNotRoot {
			t.Errorf("action %s is said to be refused with %v", name, refusal)
		}
	}
	before := w.dump()
	_, err = p.Continue(ctx, child, engine.ContinueOptions{})
	refused(t, err, engine.CodeNotRoot)
	_, err = p.Cancel(ctx, child, engine.CancelOptions{})
	refused(t, err, engine.CodeNotRoot)
	_, err = p.Restart(ctx, child, engine.RestartOptions{AcceptDoubt: true})
	refused(t, err, engine.CodeNotRoot)
	_, err = p.Resolve(ctx, child, "in/x", engine.Resolution{Verdict: run.VerdictRerun})
	refused(t, err, engine.CodeNotRoot)
	_, err = p.RecoverRun(ctx, child)
	refused(t, err, engine.CodeNotRoot)
	_, err = p.Continue(ctx, child, engine.ContinueOptions{Session: "other"})
	refused(t, err, engine.CodeNotFound)
	w.unchanged(before)
}
