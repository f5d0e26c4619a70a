package engine_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
)

const prefixSuffix = `
workflow_schema: 1
id: two
revision: 1
input_schema: {type: object, properties: {n: {type: integer}}}
steps:
  - {id: prefix, type: tool, tool: write, args: {n: {from: args, pointer: /n}}}
  - {id: suffix, type: tool, tool: write, args: {got: {from: step, step: prefix}}}
`

func withArgs(s *engine.Start) {
	s.Args = []byte(`{"n":7}`)
	s.SessionID = "ses"
	s.Labels = map[string]string{"a": "b"}
}

// count counts the events of a type.
func count(evs []run.Event, want run.Type) (n int) {
	for _, ev := range evs {
		if ev.Type == want {
			n++
		}
	}
	return n
}

// identity is what never changes over a run's life.
func identity(v *run.View) []any {
	return []any{v.RunID, v.ParentRunID, v.ParentStepID, v.RootRunID, v.SessionID, v.Definition, string(v.Bundle), v.Budget,
		v.BundleHash, string(v.Args), v.CreatedAt, v.Labels, v.Semantics}
}

func usage(steps int64) run.Usage {
	none, free := int64(0), int64(0)
	return run.Usage{Steps: steps, Tokens: &none, CostMicros: &free}
}

// dieAfter lets the process die right after the commit that holds the event
// became durable, before the engine hears of it.
func (p *process) dieAfter(event string) {
	p.st.hook(nil, func(b *store.Batch) {
		for _, a := range b.Appends {
			for _, line := range a.Events {
				if ev, err := run.Decode(line); err == nil && word(ev) == event {
					p.kill()
				}
			}
		}
	})
}

// onlyRun is the id of the one run there is.
func (w *world) onlyRun() (id string) {
	w.t.Helper()
	w.look(func(e *engine.Engine, _ store.Store) {
		page, err := e.List(context.Background(), store.Query{})
		if err != nil || len(page.Runs) != 1 {
			w.t.Fatalf("%d runs, %v; want one", len(page.Runs), err)
		}
		id = page.Runs[0].RunID
	})
	return id
}

func TestInvariant05_DeathAfterACompletedPrefix(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("prefix", gives(`{"v":1}`))
		p := w.process(s)
		p.dieAfter("prefix:completed")
		p.start(prefixSuffix, withArgs)

		id := w.onlyRun()
		v := w.status(id, run.StatusRunning)
		if v.Owner == nil || v.Owner.Alive {
			t.Errorf("owner %+v", v.Owner)
		}
		prefix := step(t, v, "prefix", run.StatusStepSucceeded, false)
		if prefix.Attempts != 1 || string(prefix.Output) != `{"v":1}` || prefix.Failure != nil {
			t.Errorf("prefix %+v", prefix)
		}
		if v.Output != nil || v.Failure != nil || v.Suspension != nil {
			t.Errorf("the run has output %s, failure %v, suspension %v", v.Output, v.Failure, v.Suspension)
		}
		if len(v.Steps) != 1 || strings.Contains(w.journal(id), "suffix") {
			t.Errorf("there is a trace of the suffix: %s", w.journal(id))
		}
		if diff := cmp.Diff(usage(1), v.Usage); diff != "" {
			t.Error(diff)
		}
		before := w.events(id)
		if n := uint64(len(before)); v.LastSequence != n || word(before[n-1]) != "prefix:completed" || count(before, run.TypeStepStarted) != 1 {
			t.Errorf("last sequence %d of %s", v.LastSequence, w.journal(id))
		}

		q := w.process(newScript())
		if rec := q.recover(); len(rec) != 1 || rec[0].RunID != id || rec[0].Damaged != "" {
			t.Errorf("recovered %+v", rec)
		}
		recovered := w.suspended(id, run.KindRecovery)
		after := w.events(id)
		if len(q.script.called()) != 0 || len(after) != len(before)+1 {
			t.Errorf("recover called %v and appended %d events", q.script.called(), len(after)-len(before))
		}
		if diff := cmp.Diff(v.Steps, recovered.Steps) + cmp.Diff(v.Usage, recovered.Usage) + cmp.Diff(identity(v), identity(recovered)); diff != "" {
			t.Error(diff)
		}

		done := q.resume(id, engine.ContinueOptions{Session: "ses"})
		if done.Status != run.StatusSucceeded || string(done.Output) != `"suffix"` {
			t.Fatalf("%s with %s", done.Status, done.Output)
		}
		if diff := cmp.Diff(v.Steps["prefix"], done.Steps["prefix"]) + cmp.Diff(usage(2), done.Usage) + cmp.Diff(identity(v), identity(done)); diff != "" {
			t.Error(diff)
		}
		calls := q.script.made()
		if len(calls) != 1 || calls[0].StepID != "suffix" || string(calls[0].Args) != `{"got":{"v":1}}` || calls[0].Attempt != 1 {
			t.Errorf("called %+v", calls)
		}
		if first := s.called(); len(first) != 1 {
			t.Errorf("the first process called %v", first)
		}
		end := w.events(id)
		if diff := cmp.Diff(after, end[:len(after)]); diff != "" {
			t.Error(diff)
		}
		for _, st := range []string{"prefix", "suffix"} {
			if n := strings.Count(words(end), st+":started"); n != 1 {
				t.Errorf("%s started %d times", st, n)
			}
			if n := strings.Count(words(end), st+":completed"); n != 1 {
				t.Errorf("%s completed %d times", st, n)
			}
		}
	})
}

func TestInvariant06_DeathWithAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		p := w.process(s)
		s.on("suffix", func(context.Context, tool.Call) (tool.Result, error) {
			p.kill()
			return tool.Text("sent"), nil
		})
		p.start(prefixSuffix, withArgs)

		id := w.onlyRun()
		v := w.status(id, run.StatusRunning)
		suffix := step(t, v, "suffix", run.StatusStepRunning, false)
		if suffix.Attempts != 1 || suffix.Output != nil {
			t.Errorf("suffix %+v", suffix)
		}
		if diff := cmp.Diff(usage(2), v.Usage); diff != "" {
			t.Error(diff)
		}
		before := w.events(id)
		if word(before[len(before)-1]) != "suffix:started" || count(before, run.TypeStepStarted) != 2 || v.LastSequence != uint64(len(before)) {
			t.Errorf("journal %s", w.journal(id))
		}

		q := w.process(newScript())
		q.recover()
		r := w.suspended(id, run.KindRecovery)
		got := step(t, r, "suffix", run.StatusStepSuspended, true)
		if got.Attempts != 1 || got.InputHash != suffix.InputHash || got.Failure == nil || got.Failure.Code != run.RecoverySuspended {
			t.Errorf("suffix %+v, failure %v", got, got.Failure)
		}
		after := w.events(id)
		if len(after) != len(before)+2 {
			t.Errorf("recover appended %d events", len(after)-len(before))
		}
		if diff := cmp.Diff(v.Steps["prefix"], r.Steps["prefix"]) + cmp.Diff(v.Usage, r.Usage) + cmp.Diff(identity(v), identity(r)); diff != "" {
			t.Error(diff)
		}

		was := w.dump()
		_, err := q.Continue(t.Context(), id, engine.ContinueOptions{Session: "ses", Authority: everything()})
		refused(t, err, engine.CodeStepInDoubt)
		w.unchanged(was)
		if diff := cmp.Diff(r, w.view(id), cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
		if calls := q.script.called(); len(calls) != 0 {
			t.Errorf("called %v", calls)
		}
		if text := w.journal(id); strings.Contains(text, "suffix:completed") || strings.Contains(text, "run_succeeded") {
			t.Errorf("journal %s", text)
		}
	})
}

func TestInvariant08_RecoverIsIdempotentAndSparesTheLiving(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		dying, living := newScript(), newScript()
		dying.on("s", untilCancelled(nil))
		g := living.gate()
		living.on("s", deaf(g, gives(`1`)))
		p, q := w.process(dying), w.process(living)
		dead, alive := p.start(strings.ReplaceAll(prefixSuffix, "prefix", "s"), withArgs), q.start(strings.ReplaceAll(prefixSuffix, "prefix", "s"), withArgs)
		p.kill()
		r := w.process(newScript())
		for i := range 3 {
			rec := r.recover()
			if want := i == 0; (len(rec) == 1) != want || len(rec) > 1 || want && rec[0].RunID != dead {
				t.Errorf("recover %d found %+v", i+1, rec)
			}
		}
		if n := count(w.events(dead), run.TypeSuspended); n != 1 {
			t.Errorf("suspended %d times", n)
		}
		if v, err := r.RecoverRun(t.Context(), alive); v != nil || err != nil {
			t.Errorf("recovered a living run: %v, %v", v, err)
		}
		w.status(alive, run.StatusRunning)
		g.open()
		synctest.Wait()
		w.status(alive, run.StatusSucceeded)
	})
}

func TestInvariant09_OneOfManyContinuesWins(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript())
		p.dieAfter("prefix:completed")
		p.start(prefixSuffix, func(s *engine.Start) { s.Args = []byte(`{"n":7}`) })
		id := w.onlyRun()
		var procs []*process
		shared := newScript()
		g := shared.gate()
		shared.on("suffix", deaf(g, gives(`1`)))
		for range 4 {
			procs = append(procs, w.process(shared))
		}
		procs[0].recover()
		var won, owned atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				switch _, err := procs[i%4].Continue(context.Background(), id, engine.ContinueOptions{}); code(t, err) {
				case "":
					won.Add(1)
				case engine.CodeOwnedElsewhere:
					owned.Add(1)
				default:
					t.Errorf("refused: %v", err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		if won.Load() != 1 || owned.Load() != 15 {
			t.Errorf("%d won, %d found it owned", won.Load(), owned.Load())
		}
		g.open()
		synctest.Wait()
		w.status(id, run.StatusSucceeded)
		if calls := shared.called(); len(calls) != 1 {
			t.Errorf("called %v", calls)
		}
	})
}

// Any death, at any commit: what was finished stays so, and the run can be ended.
func TestDeathAtEveryCommit(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		const def = `
workflow_schema: 1
id: deaths
revision: 1
steps:
  - {id: a, type: tool, tool: write}
  - {id: p1, type: tool, tool: write}
  - {id: p2, type: tool, tool: read}
  - {id: list, type: tool, tool: read, output_schema: {type: array}}
  - {id: item, type: tool, tool: write, args: {i: {from: item, name: it}}}
  - {id: broken, type: tool, tool: read, failure: skip_dependents}
  - {id: skipped, type: tool, tool: write}
  - {id: nap, type: sleep, duration_ms: 5}
plan: [a, {parallel: [p1, p2]}, list, {map: {from: step, step: list}, as: it, do: item}, nap, [broken, skipped]]
`
		script := func() *script { return newScript().on("list", gives(`[1,2]`)).on("broken", definite(false)) }
		for n := 2; ; n++ {
			p := w.process(script())
			left := n
			p.st.hook(nil, func(*store.Batch) {
				if left--; left == 0 {
					p.kill()
				}
			})
			v, err := p.Start(t.Context(), engine.Start{Workflow: []byte(def)})
			if err != nil {
				t.Fatal(err)
			}
			id := v.RunID
			pass(1e8)
			if w.view(id).Status == run.StatusSucceeded {
				return // it lived longer than the run
			}
			before := w.view(id)
			w.endWhateverIsLeft(id, script())
			after := w.status(id, run.StatusSucceeded)
			for step, was := range before.Steps {
				if was.Status == run.StatusStepSucceeded && cmp.Diff(was, after.Steps[step]) != "" {
					t.Errorf("death at commit %d: finished step %s changed", n, step)
				}
			}
		}
	})
}

// endWhateverIsLeft recovers, resolves what is in doubt as succeeded, and continues.
func (w *world) endWhateverIsLeft(id string, s *script) {
	w.t.Helper()
	q := w.process(s)
	q.recover()
	for step, st := range w.view(id).Steps {
		if !st.InDoubt {
			continue
		}
		output := `"done"`
		if step == "list" {
			output = `[1,2]`
		}
		r := engine.Resolution{Verdict: run.VerdictSucceeded, Output: []byte(output)}
		if step == "broken" {
			r = engine.Resolution{Verdict: run.VerdictFailed, Message: "no"}
		}
		if _, err := q.Resolve(context.Background(), id, step, r); err != nil {
			w.t.Fatal(err)
		}
	}
	if w.view(id).Status.Terminal() {
		return
	}
	q.resume(id, engine.ContinueOptions{})
	pass(1e8)
}
