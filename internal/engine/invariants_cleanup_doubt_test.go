package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// Nobody knows what to clean up after while the node is in doubt. A verdict tells, and
// so does giving it up.
func TestInvariant25_NoCleanupWhileTheNodeIsInDoubt(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]struct {
		decide func(p *process, id string) error
		end    run.Status
		calls  string
	}{
		"succeeded": {verdict(run.VerdictSucceeded), run.StatusSucceeded, "rest sweep"},
		"failed":    {verdict(run.VerdictFailed), run.StatusFailed, "note sweep"},
		"given up": {func(p *process, id string) error {
			_, err := p.Cancel(context.Background(), id, engine.CancelOptions{})
			return err
		}, run.StatusCancelled, "note sweep"},
	} {
		t.Run(name, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				p := w.process(newScript().on("work", fails(errPlain)))
				id := p.start(cleaned)
				step(t, w.suspended(id, run.KindInDoubt), "work", run.StatusStepSuspended, true)
				if got := strings.Join(p.script.called(), " "); got != "work" {
					t.Fatalf("called %q", got)
				}
				q := w.process(newScript())
				if err := given.decide(q, id); err != nil {
					t.Fatal(err)
				}
				q.resume(id, engine.ContinueOptions{})
				w.status(id, given.end)
				if got := strings.Join(q.script.called(), " "); got != given.calls {
					t.Errorf("called %q, want %q", got, given.calls)
				}
				w.listsDoubt(id, name == "given up")
			})
		})
	}
}

func verdict(v run.Verdict) func(p *process, id string) error {
	return func(p *process, id string) error {
		_, err := p.Resolve(context.Background(), id, "work", engine.Resolution{Verdict: v})
		return err
	}
}

// A cleanup in doubt waits for a verdict, also in a run that is being cancelled, and in
// one whose time is over; then the rest of the cleanup is done.
func TestInvariant25_ACleanupInDoubtWaits(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, p *process, id string){
		"cancelled": func(t *testing.T, p *process, id string) {
			if _, err := p.Cancel(t.Context(), id, engine.CancelOptions{}); err != nil {
				t.Fatal(err)
			}
		},
		"failed": func(*testing.T, *process, string) { pass(time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				s := newScript().on("rest", untilCancelled(nil)).on("note", fails(errPlain))
				p := w.process(s)
				id := p.start(cleaned)
				end(t, p, id)
				pass(time.Second)
				step(t, w.suspended(id, run.KindInDoubt), "note", run.StatusStepSuspended, true)
				q := w.process(newScript())
				before := w.dump()
				_, err := q.Continue(t.Context(), id, engine.ContinueOptions{})
				refused(t, err, engine.CodeStepInDoubt)
				w.unchanged(before)
				if _, err := q.Resolve(t.Context(), id, "note", engine.Resolution{Verdict: run.VerdictSucceeded}); err != nil {
					t.Fatal(err)
				}
				q.resume(id, engine.ContinueOptions{})
				w.status(id, run.Status(name))
				if got := strings.Join(q.script.called(), " "); got != "sweep" {
					t.Errorf("called %q after the verdict", got)
				}
			})
		})
	}
}

// A cancel gives up the doubts that it finds, those of cleanups as well.
func TestInvariant25_CancellingGivesUpACleanupInDoubt(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		p := w.process(newScript().on("sweep", fails(errPlain)))
		id := p.start(cleaned)
		w.suspended(id, run.KindInDoubt)
		if _, err := p.Cancel(t.Context(), id, engine.CancelOptions{}); err != nil {
			t.Fatal(err)
		}
		step(t, w.status(id, run.StatusCancelled), "sweep", run.StatusStepCancelled, true)
	})
}

// Nor does one that waits in the mailbox for the next owner keep it from going on.
func TestInvariant25_ACancelThatWaitsGivesUpACleanupInDoubt(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		p := w.process(newScript().on("sweep", fails(errPlain)))
		id := p.start(cleaned)
		w.suspended(id, run.KindInDoubt)
		post := store.Post{Stream: id, ID: "cancel", Body: []byte(`{"kind":"cancel","by":"someone"}`)}
		if err := p.st.Commit(t.Context(), &store.Batch{Posts: []store.Post{post}}); err != nil {
			t.Fatal(err)
		}
		p.resume(id, engine.ContinueOptions{})
		step(t, w.status(id, run.StatusCancelled), "sweep", run.StatusStepCancelled, true)
	})
}

// A restart takes back what the old run was still to do, but not its cleanup.
func TestInvariant25_ARestartLeavesTheCleanupOfTheOldRun(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript())
		p.dieAfter("work:completed")
		id := p.start(cleaned)
		q := w.process(newScript())
		q.recover()
		anew, err := q.Restart(t.Context(), id, engine.RestartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.status(anew.RunID, run.StatusSucceeded)
		if v := w.status(id, run.StatusSuspended); v.CancelRequested == "" || v.Actions["continue"] != nil {
			t.Errorf("cancel requested by %q, continue: %v", v.CancelRequested, v.Actions["continue"])
		}
		r := w.process(newScript())
		r.resume(id, engine.ContinueOptions{})
		w.status(id, run.StatusCancelled)
		if got := strings.Join(r.script.called(), " "); got != "note sweep" {
			t.Errorf("called %q", got)
		}
	})
}

// A restart from a step takes over what was done before it, and cleans up after that anew.
func TestInvariant25_ARestartFromAStepCleansUpAnew(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript().on("rest", definite(false)))
		id := p.start(cleaned)
		w.status(id, run.StatusFailed)
		q := w.process(newScript())
		_, err := q.Restart(t.Context(), id, engine.RestartOptions{From: "sweep"})
		refused(t, err, engine.CodeStepNotReached)
		anew, err := q.Restart(t.Context(), id, engine.RestartOptions{From: "rest"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.status(anew.RunID, run.StatusSucceeded)
		if got := strings.Join(q.script.called(), " "); got != "rest sweep" {
			t.Errorf("called %q", got)
		}
		again, err := q.Restart(t.Context(), anew.RunID, engine.RestartOptions{From: "sweep"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.status(again.RunID, run.StatusSucceeded)
		if got := strings.Join(q.script.called(), " "); got != "rest sweep sweep" {
			t.Errorf("called %q", got)
		}
	})
}
