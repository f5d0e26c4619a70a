package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// everyShape has a step in every kind of node; %s is a field of every step.
const everyShape = `
workflow_schema: 1
id: shapes
revision: 1
steps:
  - {id: first, type: tool, tool: write%[1]s}
  - {id: p1, type: tool, tool: write%[1]s, args: {of: {from: step, step: first}}}
  - {id: p2, type: tool, tool: read%[1]s}
  - {id: items, type: tool, tool: read%[1]s, output_schema: {type: array}}
  - {id: item, type: tool, tool: idem%[1]s, args: {item: {from: item, name: it}}}
  - {id: yes, type: tool, tool: write%[1]s}
  - {id: no, type: tool, tool: write%[1]s}
  - {id: flaky, type: tool, tool: write%[1]s}
  - {id: round, type: tool, tool: write%[1]s, output_schema: {type: boolean}}
  - {id: broken, type: tool, tool: read%[1]s, failure: skip_dependents}
  - {id: skipped, type: tool, tool: write%[1]s}
  - {id: last, type: tool, tool: write%[1]s, args: {all: {from: step, step: mapped}}}
plan:
  - first
  - {parallel: [p1, p2]}
  - items
  - {map: {from: step, step: items}, as: it, do: item, id: mapped}
  - {if: {cel: "size(steps.items) == 3"}, then: yes, else: no}
  - {retry: flaky, attempts: 3}
  - {repeat: round, until: {from: step, step: round}, max: 5}
  - {parallel: [[broken, skipped]]}
  - last
`

func shapes(s *script) {
	s.on("items", gives(`[1,2,3]`)).on("broken", definite(false))
	s.on("flaky", times(definite(true), gives(`1`)))
	s.on("round@root#0", gives(`false`)).on("round@root#1", gives(`true`))
}

func TestInvariant01_IntentBeforeEffect(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		shapes(s)
		seen := 0
		var mu sync.Mutex
		witness := func(do behaviour) behaviour {
			return func(ctx context.Context, c tool.Call) (tool.Result, error) {
				if err := w.intent(c); err != nil {
					t.Error(err)
				}
				mu.Lock()
				seen++
				mu.Unlock()
				if do == nil {
					return tool.Text(c.StepID), nil
				}
				return do(ctx, c)
			}
		}
		for _, id := range []string{"first", "p1", "p2", "items", "item@root[0]", "item@root[1]", "item@root[2]", "yes", "flaky",
			"round@root#0", "round@root#1", "broken", "last"} {
			s.on(id, witness(s.does[id]))
		}
		id := w.process(s).start(fmt.Sprintf(everyShape, ""))
		v := w.status(id, run.StatusSucceeded)
		if seen != 14 || v.Usage.Steps != 14 || v.Usage.Retries != 1 {
			t.Errorf("%d calls were seen, usage %+v", seen, v.Usage)
		}
	})
}

// intent is an error unless the call's start, with its reservation, is durable,
// and booked on the run's account.
func (w *world) intent(c tool.Call) error {
	var starts, found int64
	for _, ev := range w.events(c.RunID) {
		b, ok := ev.Body.(*run.StepStarted)
		if !ok {
			continue
		}
		starts += b.Reservation["steps"]
		if ev.StepID == c.StepID && b.Attempt == c.Attempt && b.Reservation["steps"] == 1 {
			found++
		}
	}
	var spent int64
	w.look(func(_ *engine.Engine, st store.Store) {
		a, err := st.Account(context.Background(), c.RunID)
		if err != nil {
			w.t.Fatal(err)
		}
		spent = a.Spent["steps"]
	})
	if found != 1 || spent < starts {
		return fmt.Errorf("%s attempt %d was called with %d durable starts, and %d of %d steps booked", c.StepID, c.Attempt, found, spent, starts)
	}
	return nil
}

func TestInvariant02_OutcomeBeforeUse(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		shapes(s)
		p := w.process(s)
		var heard atomic.Uint64
		p.st.hook(func(b *store.Batch) error {
			for _, a := range b.Appends {
				if h := heard.Load(); h > a.Expect {
					t.Errorf("a listener heard of event %d before it was durable", h)
				}
			}
			return nil
		}, nil)
		v, err := p.Start(t.Context(), engine.Start{Workflow: fmt.Appendf(nil, everyShape, "")})
		if err != nil {
			t.Fatal(err)
		}
		id := v.RunID
		for ev, err := range p.Subscribe(t.Context(), id, 0) {
			if err != nil {
				t.Fatal(err)
			}
			heard.Store(ev.Sequence)
		}
		w.status(id, run.StatusSucceeded)
		for _, commit := range w.commits(id) {
			ended, started := "", ""
			for _, ev := range commit {
				switch ev.Body.(type) {
				case *run.StepCompleted, *run.StepFailed:
					ended = ev.StepID
				case *run.StepStarted:
					started = ev.StepID
				}
			}
			if ended != "" && started != "" {
				t.Errorf("one commit holds the end of %s and the start of %s: %s", ended, started, words(commit))
			}
		}
	})
}

// A step that is harmless to repeat shares the commit of what enabled it: one
// sync a step.
func TestInvariant02_HarmlessStepsShareCommits(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		id := w.process(newScript()).start(`
workflow_schema: 1
id: chain
revision: 1
steps:
  - {id: a, type: tool, tool: write}
  - {id: b, type: tool, tool: write, on_unknown: rerun}
  - {id: c, type: tool, tool: write, on_unknown: rerun}
  - {id: d, type: tool, tool: write}
`)
		w.wantJournal(id, `run_queued run_started | a:started | a:completed b:started | b:completed c:started |
			c:completed | d:started | d:completed run_succeeded`)
	})
}

// If only some of what an outcome enables is harmless, nothing shares its commit.
func TestInvariant02_OneHarmfulStepParts(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		id := w.process(newScript()).start(`
workflow_schema: 1
id: mixed
revision: 1
steps:
  - {id: a, type: tool, tool: write}
  - {id: b, type: tool, tool: write, on_unknown: rerun}
  - {id: c, type: tool, tool: write}
plan: [a, {parallel: [b, c]}]
`)
		if got := w.journal(id); !strings.HasPrefix(got, "run_queued run_started | a:started | a:completed | b:started c:started | ") {
			t.Errorf("journal %s", got)
		}
	})
}

func TestInvariant03_TwoWritersOfOneSequence(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("s", fails(errPlain))
		p := w.process(s)
		for range 20 {
			id := p.start(fmt.Sprintf(oneCall, "write", ""))
			q := w.process(newScript())
			verdicts := []engine.Resolution{
				{Verdict: run.VerdictSucceeded, Output: []byte(`1`)}, {Verdict: run.VerdictFailed, Message: "no"},
			}
			var wins atomic.Int32
			var wg sync.WaitGroup
			for i, e := range []*process{p, q} {
				wg.Go(func() {
					_, err := e.Resolve(context.Background(), id, "s", verdicts[i])
					if err == nil {
						wins.Add(1)
					}
				})
			}
			wg.Wait()
			n := 0
			for i, ev := range w.events(id) {
				if ev.Sequence != uint64(i+1) {
					t.Errorf("event %d stands at %d", ev.Sequence, i+1)
				}
				if ev.Type == run.TypeStepResolved {
					n++
				}
			}
			if n != 1 || wins.Load() != 1 {
				t.Errorf("%d verdicts are in the journal, and %d calls were told of success", n, wins.Load())
			}
		}
	})
}

func TestInvariant04_TerminalRunsNeverChange(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("s", gives(`1`))
		p := w.process(s)
		succeeded := p.start(fmt.Sprintf(oneCall, "write", ""))
		s.on("s", definite(false))
		failed := p.start(fmt.Sprintf(oneCall, "write", ""))
		s.on("s", untilCancelled(gives(`1`))) // a success that comes after the cancelling
		cancelled := p.start(fmt.Sprintf(oneCall, "write", ""))
		if _, err := p.Cancel(t.Context(), cancelled, engine.CancelOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.status(succeeded, run.StatusSucceeded)
		w.status(failed, run.StatusFailed)
		v := w.status(cancelled, run.StatusCancelled)
		step(t, v, "s", run.StatusStepSucceeded, false)

		before := w.dump()
		for _, id := range []string{succeeded, failed, cancelled} {
			_, err := p.Continue(t.Context(), id, engine.ContinueOptions{Extend: 1e9})
			refused(t, err, engine.CodeTerminal)
			_, err = p.Resolve(t.Context(), id, "s", engine.Resolution{Verdict: run.VerdictFailed})
			refused(t, err, engine.CodeTerminal)
			_, err = p.Cancel(t.Context(), id, engine.CancelOptions{})
			if id != cancelled {
				refused(t, err, engine.CodeTerminal)
			} else if err != nil {
				t.Errorf("cancelling again: %v", err)
			}
		}
		p.recover()
		w.unchanged(before)
	})
}

func TestInvariant10_ThePinnedDefinitionIsUsed(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		const outer = `
workflow_schema: 1
id: outer
revision: 1
steps:
  - {id: wait, type: tool, tool: write}
  - {id: in, type: workflow, workflow_id: inner, revision: 1}
`
		inner := func(step string) string {
			return "workflow_schema: 1\nid: inner\nrevision: 1\nsteps:\n  - {id: " + step + ", type: tool, tool: write}\n"
		}
		catalog := &mutable{text: inner("old")}
		s := newScript()
		g := s.gate()
		s.on("wait", deaf(g, gives(`1`)))
		withCatalog := func(c *engine.Config) { c.Catalog = catalog }
		p := w.process(s, withCatalog)
		id := p.start(outer)
		catalog.set(inner("new"))
		g.open()
		synctest.Wait()
		v := w.status(id, run.StatusSucceeded)
		if v.Steps["in/old"] == nil || v.Steps["in/new"] != nil {
			t.Errorf("steps %v", s.called())
		}
		again := w.status(p.start(outer), run.StatusSucceeded)
		if again.Steps["in/new"] == nil || again.BundleHash == v.BundleHash {
			t.Errorf("a new run does not use the new definition: %v", s.called())
		}
		// A restart keeps the pin.
		old, err := p.Restart(t.Context(), id, engine.RestartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if r := w.status(old.RunID, run.StatusSucceeded); r.Steps["in/old"] == nil || r.BundleHash != v.BundleHash {
			t.Error("a restart does not keep the pinned definition")
		}
	})
}

// mutable is a catalog of one definition, which can change.
type mutable struct {
	mu   sync.Mutex
	text string
}

func (m *mutable) set(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text = text
}

func (m *mutable) Snapshot() (*workflow.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	src, err := workflow.Load("inner.yaml", []byte(m.text))
	if err != nil {
		return nil, err
	}
	return workflow.NewSnapshot(src), nil
}
