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
)

// Mail that came between the reading of earlier mail and the commit that takes
// it delays that commit, and loses neither.
func TestMailThatCameTogether(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		const def = `
workflow_schema: 1
id: mails
revision: 1
steps:
  - {id: a, type: tool, tool: write}
  - {id: b, type: tool, tool: write}
  - {id: hold, type: tool, tool: write}
  - {id: after, type: tool, tool: read, on_unknown: rerun}
plan: {parallel: [[a, after], b, hold]}
`
		s := newScript().on("a", fails(errPlain)).on("b", fails(errPlain))
		g := s.gate()
		s.on("hold", deaf(g, gives(`1`)))
		p := w.process(s)
		id := p.start(def)
		q := w.process(newScript())
		posted := false
		p.st.hook(func(b *store.Batch) error {
			for _, ap := range b.Appends {
				if posted || len(ap.TakeMail) == 0 || ap.IfNoMailAfter == nil {
					continue
				}
				posted = true
				if _, err := q.Resolve(context.Background(), id, "b", engine.Resolution{Verdict: run.VerdictSucceeded}); err != nil {
					t.Error(err)
				}
			}
			return nil
		}, nil)
		if _, err := q.Resolve(t.Context(), id, "a", engine.Resolution{Verdict: run.VerdictSucceeded}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if !posted {
			t.Fatal("the mail did not come together")
		}
		v := w.status(id, run.StatusRunning)
		step(t, v, "a", run.StatusStepSucceeded, false)
		step(t, v, "b", run.StatusStepSucceeded, false)
		g.open()
		synctest.Wait()
		w.status(id, run.StatusSucceeded)
	})
}

// A decision that a dead owner did not take is still one: whoever continues the
// run goes by it, a refusal leaves it where it is, and a cancel heeds it.
func TestMailOfADeadOwner(t *testing.T) {
	t.Parallel()
	scene := func(w *world) (id string) {
		s := newScript()
		p, id, _ := held(w, s)
		q := w.process(newScript())
		p.st.hook(func(b *store.Batch) error { // it dies before it can take the mail
			p.kill()
			return store.ErrClosed
		}, nil)
		if _, err := q.Resolve(context.Background(), id, "pay", engine.Resolution{Verdict: run.VerdictSucceeded, Output: []byte(`"paid"`)}); err != nil {
			w.t.Fatal(err)
		}
		pass(time.Second)
		p.end()
		q.recover()
		if _, err := q.Resolve(context.Background(), id, "other", engine.Resolution{Verdict: run.VerdictSucceeded}); err != nil {
			w.t.Fatal(err)
		}
		return id
	}
	t.Run("continue", func(t *testing.T) {
		onWorlds(t, func(t *testing.T, w *world) {
			id := scene(w)
			q := w.process(newScript())
			if v := q.resume(id, engine.ContinueOptions{}); v.Status != run.StatusSucceeded || string(v.Steps["pay"].Output) != `"paid"` {
				t.Errorf("%s", v.Status)
			}
		})
	})
	t.Run("cancel", func(t *testing.T) {
		onWorlds(t, func(t *testing.T, w *world) {
			id := scene(w)
			rc, err := w.process(newScript()).Cancel(t.Context(), id, engine.CancelOptions{})
			if err != nil || len(rc.InDoubt) > 0 {
				t.Errorf("receipt %+v, %v", rc, err)
			}
			step(t, w.status(id, run.StatusCancelled), "pay", run.StatusStepSucceeded, false)
		})
	})
}

// A refused continue does not even take the mail.
func TestRefusedContinueLeavesTheMail(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		p, id, _ := held(w, s)
		q := w.process(newScript())
		p.st.hook(func(*store.Batch) error {
			p.kill()
			return store.ErrClosed
		}, nil)
		if _, err := q.Resolve(t.Context(), id, "pay", engine.Resolution{Verdict: run.VerdictSucceeded}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		p.end()
		q.recover()
		before := w.dump()
		_, err := q.Continue(t.Context(), id, engine.ContinueOptions{}) // other is in doubt still
		refused(t, err, engine.CodeStepInDoubt)
		if steps := err.(*engine.Error).Details["steps"]; fmt.Sprint(steps) != "[other]" {
			t.Errorf("steps %v", steps)
		}
		_, err = q.Continue(t.Context(), id, engine.ContinueOptions{Session: "another"})
		refused(t, err, engine.CodeNotFound)
		w.unchanged(before)
	})
}

// once does f at the first commit that is asked for.
func once(f func()) func(*store.Batch) error {
	done := false
	return func(*store.Batch) error {
		if !done {
			done = true
			f()
		}
		return nil
	}
}

// A verdict that comes at the moment at which its owner gives the run up is still
// the owner's to take: who gave it was told so.
func TestMailAtTheMomentOfSuspension(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p, q := w.process(newScript().on("s", fails(errPlain))), w.process(newScript())
		var id string
		posted := false
		p.st.hook(at("run_suspended", func() error {
			if posted {
				return nil
			}
			posted = true
			id = w.onlyRun()
			rc, err := q.Resolve(context.Background(), id, "s", engine.Resolution{Verdict: run.VerdictSucceeded})
			if err != nil || !rc.Live {
				t.Errorf("receipt %+v, %v", rc, err)
			}
			return nil
		}), nil)
		p.start(fmt.Sprintf(oneCall, "write", ""))
		pass(time.Second)
		w.status(id, run.StatusSucceeded)
	})
}

// Two verdicts on two doubts, each given while the other is recorded.
func TestMailToAMomentaryOwner(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("pay", fails(errPlain)).on("other", fails(errPlain))
		p, q := w.process(s), w.process(newScript())
		id := p.start(strings.ReplaceAll(payAndOther, "tool: read", "tool: write"))
		resolve := func(e *process, step string) {
			if _, err := e.Resolve(context.Background(), id, step, engine.Resolution{Verdict: run.VerdictSucceeded}); err != nil {
				t.Error(err)
			}
		}
		taking := once(func() { resolve(q, "other") })
		p.st.hook(func(b *store.Batch) error {
			if len(b.Appends) > 0 {
				return taking(b)
			}
			return nil
		}, nil)
		resolve(p, "pay")
		v := w.status(id, run.StatusSuspended)
		step(t, v, "pay", run.StatusStepSucceeded, false)
		step(t, v, "other", run.StatusStepSucceeded, false)
	})
}
