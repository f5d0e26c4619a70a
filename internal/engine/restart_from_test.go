package engine_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/workflow"
)

// TestInvariant26_RestartFromAStep: of every shape of plan, a run that goes on from
// a step of another one calls only what is not before or beside that step, and
// comes to the same output as the first run would have.
func TestInvariant26_RestartFromAStep(t *testing.T) {
	t.Parallel()
	for _, c := range restartCases() {
		t.Run(c.name, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				s := newScript()
				for _, id := range c.fail {
					s.on(id, times(definite(c.retryable), gives(`"`+id+`"`)))
				}
				for _, id := range c.broken {
					s.on(id, definite(true))
				}
				for id, output := range c.gives {
					s.on(id, gives(output))
				}
				p := w.process(s)
				id := p.start(c.def, func(s *engine.Start) { s.Args = []byte(`{"list": [1, 2, 3], "yes": true}`) })
				first := w.view(id)
				before := len(s.called())
				again, err := p.Restart(t.Context(), id, engine.RestartOptions{From: c.from})
				if err != nil {
					t.Fatalf("%v\n%s", err, w.journal(id))
				}
				synctest.Wait()
				v := w.status(again.RunID, run.StatusSucceeded)
				if v.RestartedFrom != id || v.RestartedAtStep != orElse(c.at, c.from) {
					t.Errorf("restarted from %q at %q", v.RestartedFrom, v.RestartedAtStep)
				}
				called := s.called()[before:]
				slices.Sort(called)
				if diff := cmp.Diff(c.calls, called); diff != "" {
					t.Errorf("called (-want +got):\n%s\n%s", diff, w.journal(again.RunID))
				}
				if string(v.Output) != c.output {
					t.Errorf("output %s, want %s", v.Output, c.output)
				}
				if first.Status == run.StatusSucceeded && string(first.Output) != string(v.Output) {
					t.Errorf("output %s, of the first run %s", v.Output, first.Output)
				}
				adoptedAreCopies(t, first, v)
			})
		})
	}
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// adoptedAreCopies: what was taken over is what the first run recorded, cost
// nothing, and had no attempt.
func adoptedAreCopies(t *testing.T, first, again *run.View) {
	t.Helper()
	var entered int64
	for id, st := range again.Steps {
		if st.AdoptedFrom == "" {
			entered += int64(st.Attempts)
			continue
		}
		old := first.Steps[id]
		if old == nil || old.Status != st.Status || string(old.Output) != string(st.Output) || old.InputHash != st.InputHash || st.Attempts != 0 {
			t.Errorf("step %s is %+v, in the first run %+v", id, st, old)
		}
		if st.AdoptedFrom != first.RunID {
			t.Errorf("step %s was taken over from %s, not %s", id, st.AdoptedFrom, first.RunID)
		}
	}
	if again.Usage.Steps != entered || again.Usage.Retries != 0 {
		t.Errorf("usage %+v with %d attempts", again.Usage, entered)
	}
}

// A repeat beside the step that came to its last round in vain begins anew.
func TestRestartBesideAnExhaustedRepeat(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		def := strings.Replace(toolSteps("a", "b"), "{of: a}}", "{of: a}, output_schema: {type: boolean}}", 1) +
			"plan: {parallel: [{repeat: a, until: {from: step, step: a}, max: 2}, b]}\n"
		s := newScript().on("a@root#0", gives(`false`)).on("a@root#1", times(gives(`false`), gives(`true`)))
		p := w.process(s)
		id := p.start(def)
		if v := w.status(id, run.StatusFailed); v.Failure.Code != run.RepeatExhausted {
			t.Fatalf("failed with %v", v.Failure)
		}
		_, err := p.Restart(t.Context(), id, engine.RestartOptions{From: "a:2"}) // after its last round
		refused(t, err, engine.CodeStepNotReached)
		before := len(s.called())
		again, err := p.Restart(t.Context(), id, engine.RestartOptions{From: "b"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.status(again.RunID, run.StatusSucceeded)
		called := s.called()[before:]
		slices.Sort(called)
		if diff := cmp.Diff([]string{"a@root#0", "a@root#1", "b"}, called); diff != "" {
			t.Errorf("called (-want +got):\n%s", diff)
		}
	})
}

// nestedCatalog has a workflow that is nested between two steps.
func nestedCatalog(t *testing.T) func(*engine.Config) {
	t.Helper()
	src, err := workflow.Load("inner", []byte(strings.Replace(toolSteps("x", "y", "z"), "id: w", "id: inner", 1)))
	if err != nil {
		t.Fatal(err)
	}
	return func(c *engine.Config) { c.Catalog = workflow.NewSnapshot(src) }
}

const nesting = `
workflow_schema: 1
id: w
revision: 1
steps:
  - {id: a, type: tool, tool: write}
  - {id: outer, type: workflow, workflow_id: inner, revision: 1}
  - {id: b, type: tool, tool: write}
`

func TestRestartFromInsideANestedRun(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		p := w.process(s, nestedCatalog(t))
		id := p.start(nesting)
		w.status(id, run.StatusSucceeded)
		for _, c := range []struct {
			from  string
			calls []string
		}{
			{"outer/y", []string{"outer/y", "outer/z", "b"}},
			{"outer", []string{"outer/x", "outer/y", "outer/z", "b"}},
			{"b", []string{"b"}},
		} {
			before := len(s.called())
			again, err := p.Restart(t.Context(), id, engine.RestartOptions{From: c.from})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			v := w.status(again.RunID, run.StatusSucceeded)
			if diff := cmp.Diff(c.calls, s.called()[before:]); diff != "" {
				t.Errorf("from %s, called (-want +got):\n%s", c.from, diff)
			}
			if old, now := w.view(id).Steps["outer"].ChildRunID, v.Steps["outer"].ChildRunID; old == now {
				t.Errorf("from %s, the nested run is the old one, %q", c.from, now)
			}
		}
	})
}

// A step that was taken over as a whole cannot be gone into: the run where it ran
// is named. One that was taken over twice is still of the run that ran it.
func TestRestartOfARestart(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript(), nestedCatalog(t))
		id := p.start(nesting)
		second, err := p.Restart(t.Context(), id, engine.RestartOptions{From: "b"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		third, err := p.Restart(t.Context(), second.RunID, engine.RestartOptions{From: "b"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if v := w.status(third.RunID, run.StatusSucceeded); v.Steps["outer"].AdoptedFrom != id || v.RestartedFrom != second.RunID {
			t.Errorf("restarted from %s, with a step of %s", v.RestartedFrom, v.Steps["outer"].AdoptedFrom)
		}
		_, err = p.Restart(t.Context(), second.RunID, engine.RestartOptions{From: "outer/y"})
		refused(t, err, engine.CodeStepNotReached)
		if err != nil && !strings.Contains(err.Error(), id) {
			t.Errorf("it does not name the run that ran the step: %v", err)
		}
	})
}

// Refusals say what is wrong, and change nothing.
func TestRestartFromRefusals(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		def := toolSteps("a", "b", "c", "d") + "plan: [a, {map: {from: args, pointer: /list}, as: x, do: b}, {if: {from: args, pointer: /yes}, then: c, else: d}]\n" +
			"input_schema: {type: object, properties: {list: {type: array}, yes: {type: boolean}}, required: [list, yes]}\n"
		p := w.process(newScript().on("b@root[1]", definite(false)))
		args := func(s *engine.Start) { s.Args = []byte(`{"list": [1, 2], "yes": false}`) }
		failed, good := p.start(def, args), p.start(toolSteps("a", "b"))
		w.status(failed, run.StatusFailed)
		w.status(good, run.StatusSucceeded)
		before := w.dump()
		for _, c := range []struct{ run, from, code, says string }{
			{failed, "e", engine.CodeStepNotFound, `no step "e"`},
			{failed, "a/x", engine.CodeStepNotFound, "runs no workflow"},
			{failed, "b", engine.CodeAmbiguous, "2 instances"},
			{failed, "b@root[9]", engine.CodeStepNotReached, "2 items"},
			{failed, "b@root[0][1]", engine.CodeStepNotFound, "1 maps and repeats"},
			{failed, "b@root[x]", engine.CodeStepNotFound, "1 maps and repeats"},
			{failed, "c", engine.CodeStepNotReached, "b@root[1]"},
			{failed, "bb", engine.CodeStepNotFound, `no step "bb"`},
			{good, "a:0", engine.CodeStepNotFound, "0 maps and repeats"},
			{"nothing", "a", engine.CodeNotFound, "no run"},
		} {
			_, err := p.Restart(t.Context(), c.run, engine.RestartOptions{From: c.from})
			refused(t, err, c.code)
			if err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("from %s: %q does not say %q", c.from, err, c.says)
			}
		}
		w.unchanged(before)
	})
}

// The branch that was not taken, and what a failed step made be skipped, were not
// come to.
func TestRestartFromWhatWasLeftOut(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		p := w.process(newScript().on("a", definite(false)))
		id := p.start(strings.Replace(toolSteps("a", "b"), "{of: a}}", "{of: a}, failure: skip_dependents}", 1))
		w.status(id, run.StatusSucceeded)
		_, err := p.Restart(t.Context(), id, engine.RestartOptions{From: "b"})
		refused(t, err, engine.CodeStepNotReached)
		id = p.start(toolSteps("c", "d")+"plan: {if: {from: args, pointer: /yes}, then: c, else: d}\ninput_schema: {type: object, properties: {yes: {type: boolean}}, required: [yes]}\n",
			func(s *engine.Start) { s.Args = []byte(`{"yes": true}`) })
		_, err = p.Restart(t.Context(), id, engine.RestartOptions{From: "d"})
		refused(t, err, engine.CodeStepNotReached)
	})
}

// A suspended run is cancelled by the commit that makes the new one; its doubts
// have to be accepted.
func TestRestartFromOfASuspendedRun(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("b", times(fails(errPlain), gives(`1`)))
		p := w.process(s)
		id := p.start(toolSteps("a", "b", "c"))
		w.suspended(id, run.KindInDoubt)
		_, err := p.Restart(t.Context(), id, engine.RestartOptions{From: "b"})
		refused(t, err, engine.CodeStepInDoubt)
		again, err := p.Restart(t.Context(), id, engine.RestartOptions{From: "b", AcceptDoubt: true, Labels: map[string]string{"why": "again"}})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.status(id, run.StatusCancelled)
		if v := w.status(again.RunID, run.StatusSucceeded); v.Labels["why"] != "again" {
			t.Errorf("labels %v", v.Labels)
		}
		if diff := cmp.Diff([]string{"a", "b", "b", "c"}, s.called()); diff != "" {
			t.Errorf("called (-want +got):\n%s", diff)
		}
		w.wantJournal(again.RunID, `run_queued a:adopted run_started | b:started | b:completed | c:started | c:completed run_succeeded`)
	})
}

// The process dies right after the commit that makes the new run: another one goes
// on with it from there, and large outputs are there without the old run's blobs.
func TestDeathAfterARestartFrom(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		large := `"` + strings.Repeat("x", 3*run.InlineLimit) + `"`
		p := w.process(newScript().on("a", gives(large)).on("b", definite(false)))
		id := p.start(toolSteps("a", "b"))
		p.st.hook(nil, func(*store.Batch) { p.kill() })
		_, err := p.Restart(t.Context(), id, engine.RestartOptions{From: "b"})
		if err == nil {
			t.Fatal("the process was not killed")
		}
		synctest.Wait()
		s := newScript()
		q := w.process(s)
		rec := q.recover()
		if len(rec) != 1 {
			t.Fatalf("recovered %v", rec)
		}
		again := rec[0].RunID
		w.wantJournal(again, `run_queued a:adopted run_started | run_suspended`)
		q.resume(again, engine.ContinueOptions{})
		v := w.status(again, run.StatusSucceeded)
		if string(v.Steps["a"].Output) != large || v.Steps["a"].AdoptedFrom != id {
			t.Errorf("step a: %d bytes, of run %s", len(v.Steps["a"].Output), v.Steps["a"].AdoptedFrom)
		}
		if diff := cmp.Diff([]string{"b"}, s.called()); diff != "" {
			t.Errorf("called (-want +got):\n%s", diff)
		}
		w.look(func(_ *engine.Engine, st store.Store) {
			for _, ev := range w.events(again) {
				if a, ok := ev.Body.(*run.StepAdopted); ok {
					if _, err := st.Blob(t.Context(), again, a.OutputBlob.SHA256); err != nil {
						t.Errorf("the new run has no blob of its own: %v", err)
					}
				}
			}
		})
	})
}
