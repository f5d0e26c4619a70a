package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
)

// at gives a commit hook that does f whenever a commit holds the event.
func at(event string, f func() error) func(*store.Batch) error {
	return func(b *store.Batch) error {
		for _, a := range b.Appends {
			for _, line := range a.Events {
				if ev, err := run.Decode(line); err == nil && word(ev) == event {
					return f()
				}
			}
		}
		return nil
	}
}

// A panic in the engine ends the ownership, and nothing else: the run can be
// continued. A second one at the same place marks it damaged.
func TestPanicsEndTheOwnership(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		p := w.process(s)
		p.st.hook(at("suffix:started", func() error { panic("kernel is broken") }), nil)
		id := p.start(prefixSuffix, func(s *engine.Start) { s.Args = []byte(`{"n":7}`) })
		v := w.suspended(id, run.KindRecovery)
		step(t, v, "prefix", run.StatusStepSucceeded, false)
		if evs := w.events(id); evs[len(evs)-1].Body.(*run.Suspended).Panic == "" {
			t.Error("the journal does not say that the engine broke")
		}
		other := p.start(fmt.Sprintf(oneCall, "write", "")) // the engine lives on
		w.status(other, run.StatusSucceeded)

		v = p.resume(id, engine.ContinueOptions{})
		if v.Damaged == "" {
			t.Errorf("after a second panic: %s, not damaged", v.Status)
		}
		if len(s.called("suffix")) > 0 {
			t.Error("called without a durable start")
		}
		p.st.hook(nil, nil)
		before := w.dump()
		_, err := p.Continue(t.Context(), id, engine.ContinueOptions{})
		refused(t, err, engine.CodeDamaged)
		w.unchanged(before)
		again, err := p.Restart(t.Context(), id, engine.RestartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.status(again.RunID, run.StatusSucceeded)
	})
}

// Calls in flight when the engine breaks are asked to return, awaited and recorded.
func TestPanicsDrainCallsInFlight(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		tool   string
		does   behaviour
		status run.StepStatus
		doubt  bool
	}{
		{"success", "write", untilCancelled(gives(`1`)), run.StatusStepSucceeded, false},
		{"failure", "write", untilCancelled(definite(false)), run.StatusStepFailed, false},
		{"unknown write", "write", untilCancelled(nil), run.StatusStepSuspended, true},
		{"read cut short", "read", untilCancelled(nil), run.StatusStepSuspended, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				s := newScript()
				g := s.gate()
				s.on("pay", c.does).on("other", deaf(g, gives(`2`)))
				p := w.process(s)
				var once sync.Once
				p.st.hook(at("other:completed", func() error {
					once.Do(func() { panic("kernel is broken") })
					return nil
				}), nil)
				id := p.start(strings.Replace(payAndOther, "tool: write", "tool: "+c.tool, 1))
				g.open()
				synctest.Wait()
				v := w.suspended(id, run.KindRecovery)
				step(t, v, "pay", c.status, c.doubt)
				step(t, v, "other", run.StatusStepSucceeded, false)
				p.resume(id, engine.ContinueOptions{Rerun: []tool.Effect{tool.Read, tool.Write}})
				pass(time.Second)
				if v := w.view(id); !c.doubt && !v.Status.Terminal() {
					t.Errorf("continued: %s", v.Status)
				}
			})
		})
	}
}

// A store that refuses a commit once, as a full disk does, costs the ownership
// and no outcome.
func TestARefusedCommitLosesNothing(t *testing.T) {
	t.Parallel()
	for _, event := range []string{"prefix:started", "prefix:completed", "suffix:started", "run_succeeded"} {
		t.Run(event, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				s := newScript()
				p := w.process(s)
				failed := false
				p.st.hook(at(event, func() error {
					if failed {
						return nil
					}
					failed = true
					return errors.New("no space left on device")
				}), nil)
				id := p.start(prefixSuffix, func(s *engine.Start) { s.Args = []byte(`{"n":7}`) })
				v := w.view(id)
				if v.Status == run.StatusRunning {
					t.Fatalf("nobody works on the run, and it is running, owned by %+v\n%s", v.Owner, w.journal(id))
				}
				if v.Status == run.StatusSuspended {
					v = p.resume(id, engine.ContinueOptions{})
				}
				if v.Status != run.StatusSucceeded || len(s.called()) != 2 {
					t.Errorf("%s after calls %v\n%s", v.Status, s.called(), w.journal(id))
				}
			})
		})
	}
}

func TestRecoverReportsDamage(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript().on("s", untilCancelled(nil)))
		bad, good := p.start(fmt.Sprintf(oneCall, "write", "")), p.start(fmt.Sprintf(oneCall, "write", ""))
		p.kill()
		p.end()
		w.forge(bad, `{"not":"an event"}`)
		found := map[string]string{}
		for _, r := range w.process(newScript()).recover() {
			found[r.RunID] = r.Damaged
			if r.RunID == good && r.View.Status != run.StatusSuspended {
				t.Errorf("the good run is %s", r.View.Status)
			}
		}
		if len(found) != 2 || found[bad] == "" || found[good] != "" {
			t.Errorf("found %v", found)
		}
		w.suspended(good, run.KindRecovery)
		v := w.view(bad)
		if v.Damaged == "" || v.Steps["s"] == nil {
			t.Errorf("a damaged run shows %+v", v)
		}
	})
}

// counted counts what an engine took from its store and did not give back.
type counted struct {
	store.Store
	mu      sync.Mutex
	watches int
	claims  int
}

func (c *counted) add(n *int, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n += by
}

func (c *counted) Watch(stream string) (<-chan struct{}, func()) {
	ch, stop := c.Store.Watch(stream)
	c.add(&c.watches, 1)
	return ch, func() { stop(); c.add(&c.watches, -1) }
}

func (c *counted) Claim(ctx context.Context, stream string) (store.Claim, error) {
	claim, err := c.Store.Claim(ctx, stream)
	if err != nil {
		return nil, err
	}
	c.add(&c.claims, 1)
	return &countedClaim{Claim: claim, c: c}, nil
}

func (c *counted) Commit(ctx context.Context, b *store.Batch) error {
	unwrapped := *b
	unwrapped.Appends = append([]store.Append{}, b.Appends...)
	for i, a := range unwrapped.Appends {
		if cl, ok := a.Claim.(*countedClaim); ok {
			unwrapped.Appends[i].Claim = cl.Claim
		}
	}
	return c.Store.Commit(ctx, &unwrapped)
}

type countedClaim struct {
	store.Claim
	c    *counted
	once sync.Once
}

func (c *countedClaim) Close() {
	c.Claim.Close()
	c.once.Do(func() { c.c.add(&c.c.claims, -1) })
}

// When a run has ended or is suspended, or a call was refused, nothing is left:
// no claim, no subscription and, since the engine is not even closed before the
// bubble ends, no goroutine.
func TestInvariant21_NothingLeaks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := memoryWorld(t)
		c := &counted{Store: w.open()}
		s := newScript().on("s", times(gives(`1`), fails(errPlain), definite(false)))
		e, err := engine.Open(t.Context(), c, engine.Config{Tools: s.tools(), Authority: everything()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, def := t.Context(), []byte(fmt.Sprintf(oneCall, "write", ""))
		gone, leave := context.WithCancel(ctx)
		leave()
		var ids []string
		for range 3 {
			v, err := e.Run(ctx, engine.Start{Workflow: def})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, v.RunID)
		}
		for _, id := range append(ids, "none") {
			_, _ = e.Continue(ctx, id, engine.ContinueOptions{})
			_, _ = e.Restart(ctx, id, engine.RestartOptions{Session: "other"})
			_, _ = e.Resolve(ctx, id, "nothing", engine.Resolution{Verdict: run.VerdictRerun})
			_, _ = numbers(gone, e, id, 1000, nil)
			_, _ = e.Start(ctx, engine.Start{Workflow: []byte("no")})
			if id == ids[0] || id == ids[2] {
				_, _ = numbers(ctx, e, id, 0, nil)
			}
		}
		if _, err := e.Resolve(ctx, ids[1], "s", engine.Resolution{Verdict: run.VerdictFailed}); err != nil {
			t.Error(err)
		}
		if _, err := e.Cancel(ctx, ids[1], engine.CancelOptions{}); err == nil {
			t.Error("a failed run was cancelled")
		}
		synctest.Wait()
		if c.watches != 0 || c.claims != 0 {
			t.Errorf("%d subscriptions and %d claims are left", c.watches, c.claims)
		}
	})
}
