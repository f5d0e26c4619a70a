package engine_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/sqlite"
)

// threeSteps may have a value that is kept beside the journal.
const threeSteps = `
workflow_schema: 1
id: outer
revision: 1
steps:
  - {id: big, type: tool, tool: read}
  - {id: pay, type: tool, tool: write}
  - {id: after, type: tool, tool: read}
`

// onTwoWorlds runs a test on two worlds, of every pair of kinds.
func onTwoWorlds(t *testing.T, f func(t *testing.T, here, there *world)) {
	t.Helper()
	onWorlds(t, func(t *testing.T, here *world) {
		begin(t, sqliteWorld, func(t *testing.T, there *world) { f(t, here, there) })
	})
}

func (p *process) export(id string) *store.Extract {
	p.w.t.Helper()
	x, err := p.Export(context.Background(), id)
	if err != nil || x.Damaged != "" || x.Snapshot == nil {
		p.w.t.Fatalf("export: %+v, %v", x, err)
	}
	return x.Extract
}

func (p *process) bring(x *store.Extract, alreadyThere bool) *run.View {
	p.w.t.Helper()
	in, err := p.Import(context.Background(), x)
	if err != nil {
		p.w.t.Fatalf("import: %v", err)
	}
	if in.AlreadyThere != alreadyThere {
		p.w.t.Errorf("already there: %v, want %v", in.AlreadyThere, alreadyThere)
	}
	return in.View
}

func equal() cmp.Options { return cmp.Options{cmpopts.EquateEmpty()} }

func big(context.Context) string { return `"` + strings.Repeat("b", 10_000) + `"` }

func TestAFinishedRunIsTheSameWhereItIsImported(t *testing.T) {
	t.Parallel()
	onTwoWorlds(t, func(t *testing.T, here, there *world) {
		s := newScript().on("big", gives(big(t.Context())))
		p, q := here.process(s), there.process(s)
		id := p.start(threeSteps)
		want := here.status(id, run.StatusSucceeded)
		x := p.export(id)
		got := q.bring(x, false)
		if got.Copy != "" || got.Status != run.StatusSucceeded {
			t.Errorf("imported: %s, copy %q", got.Status, got.Copy)
		}
		if diff := cmp.Diff(want, there.view(id), equal()); diff != "" {
			t.Errorf("view (-there +here):\n%s", diff)
		}
		if diff := cmp.Diff(x, q.export(id), equal()); diff != "" {
			t.Errorf("everything (-exported +imported):\n%s", diff)
		}
		there.wantJournal(id, here.journal(id))
		q.bring(x, true)
		if len(s.made()) != 3 {
			t.Errorf("%d calls were made", len(s.made()))
		}
		refused(t, func() error { _, err := q.Continue(t.Context(), id, engine.ContinueOptions{}); return err }(), engine.CodeTerminal)
	})
}

// The names of nested runs come after the run itself. What breaks off between is
// made good by importing once more.
func TestAnImportThatBrokeOffIsMadeGoodByTheNext(t *testing.T) {
	t.Parallel()
	onTwoWorlds(t, func(t *testing.T, here, there *world) {
		inner := &mutable{text: "workflow_schema: 1\nid: inner\nrevision: 1\nsteps:\n  - {id: x, type: tool, tool: write}\n"}
		s := newScript()
		p := here.process(s, func(c *engine.Config) { c.Catalog = inner })
		id := p.start("workflow_schema: 1\nid: outer\nrevision: 1\nsteps:\n  - {id: in, type: workflow, workflow_id: inner, revision: 1}\n")
		child := here.status(id, run.StatusSucceeded).Steps["in"].ChildRunID
		x := p.export(id)
		_, err := p.Export(t.Context(), child)
		refused(t, err, engine.CodeNotRoot)

		q := there.process(s)
		broken := errors.New("the process died")
		q.st.hook(func(*store.Batch) error { return broken }, nil)
		if _, err := q.Import(t.Context(), x); !errors.Is(err, broken) {
			t.Fatalf("import: %v", err)
		}
		q.st.hook(nil, nil)
		there.status(id, run.StatusSucceeded)
		q.bring(x, true)
		v, err := q.Progress(t.Context(), child, engine.ProgressOptions{Session: engine.AnySession})
		if err != nil || v.ParentRunID != id {
			t.Errorf("the nested run: %+v, %v", v, err)
		}
	})
}

func TestAnUnfinishedRunGoesOnElsewhereOnlyWhenTakenOver(t *testing.T) {
	t.Parallel()
	onTwoWorlds(t, func(t *testing.T, here, there *world) {
		here.forged = true // there is the whole history, and looked at
		s := newScript().on("big", gives(big(t.Context()))).on("pay", times(untilCancelled(fails(errPlain)), gives("1")))
		p, q := here.process(s), there.process(s)
		id := p.start(threeSteps)
		before := here.journal(id)
		x := p.export(id) // while it is worked on
		v := q.bring(x, false)
		if v.Copy != "imported" || *v.Actions["continue"] != engine.CodeCopied || v.Suspension.Kind != run.KindRecovery {
			t.Errorf("imported: %+v", v)
		}
		step(t, v, "pay", run.StatusStepSuspended, true)
		there.wantJournal(id, before+" | pay:suspended run_suspended")
		if got := here.journal(id); got != before {
			t.Errorf("where it came from it is now\n%s", got)
		}
		page, err := q.List(t.Context(), store.Query{})
		if err != nil || len(page.Runs) != 1 || page.Runs[0].Copy != "imported" || page.Runs[0].Suspension != run.KindRecovery {
			t.Errorf("listed: %+v, %v", page, err)
		}

		goOn := func(o engine.ContinueOptions) error { _, err := q.Continue(t.Context(), id, o); return err }
		refused(t, goOn(engine.ContinueOptions{}), engine.CodeCopied)
		refused(t, goOn(engine.ContinueOptions{Takeover: true}), engine.CodeStepInDoubt)
		if _, err := q.Resolve(t.Context(), id, "pay", engine.Resolution{Verdict: run.VerdictRerun}); err != nil {
			t.Fatal(err)
		}
		refused(t, goOn(engine.ContinueOptions{}), engine.CodeCopied)
		q.resume(id, engine.ContinueOptions{Takeover: true})
		done := there.status(id, run.StatusSucceeded)
		if done.Copy != "" {
			t.Errorf("once it has ended it is a copy: %q", done.Copy)
		}
		q.bring(x, true)
		there.status(id, run.StatusSucceeded)
		p.kill()
	})
}

func TestAnImportedRunThatWasTakenOverIsARunLikeAnyOther(t *testing.T) {
	t.Parallel()
	onTwoWorlds(t, func(t *testing.T, here, there *world) {
		here.forged = true // there is the whole history, and looked at
		s := newScript()
		first, second := s.gate(), s.gate()
		s.on("big", deaf(first, gives("1"))).on("pay", deaf(second, gives("1")))
		p, q := here.process(s), there.process(s)
		id := p.start(threeSteps)
		p.stopAt(first)
		here.suspended(id, run.KindStopped)
		q.bring(p.export(id), false)
		there.suspended(id, run.KindRecovery)
		q.resume(id, engine.ContinueOptions{Takeover: true})
		q.stopAt(second)
		if v := there.suspended(id, run.KindStopped); v.Copy != "" {
			t.Errorf("it is a copy still: %q", v.Copy)
		}
		q.resume(id, engine.ContinueOptions{})
		there.status(id, run.StatusSucceeded)
	})
}

// stopAt stops the process while a call is in flight, which then returns.
func (p *process) stopAt(g *gate) {
	p.w.t.Helper()
	stopped := make(chan error, 1)
	go func() { stopped <- p.Stop(p.w.t.Context()) }()
	synctest.Wait()
	g.open()
	if err := <-stopped; err != nil {
		p.w.t.Fatal(err)
	}
	synctest.Wait()
}

func TestWhatWentTwoWaysIsNotMixed(t *testing.T) {
	t.Parallel()
	onTwoWorlds(t, func(t *testing.T, here, there *world) {
		here.forged, there.forged = true, true // two histories, one log of effects
		s := newScript()
		gate := s.gate()
		s.on("pay", deaf(gate, gives("1")))
		other := newScript()
		p, q := here.process(s), there.process(other)
		id := p.start(threeSteps)
		early := p.export(id)
		q.bring(early, false)
		if _, err := q.Resolve(t.Context(), id, "pay", engine.Resolution{Verdict: run.VerdictFailed}); err != nil {
			t.Fatal(err)
		}
		gate.open()
		synctest.Wait()
		late := p.export(id)
		_, err := q.Import(t.Context(), late)
		refused(t, err, engine.CodeDiverged)
		p.bring(early, true) // where it came from it has gone on
		shorter := *late
		shorter.Groups = late.Groups[:2]
		_, err = here.process(newScript()).Import(t.Context(), &shorter)
		if err != nil {
			t.Errorf("import of a beginning: %v", err)
		}
		third := begun(t)
		third.bring(&shorter, false)
		_, err = third.Import(t.Context(), late)
		refused(t, err, engine.CodeDiverged)
	})
}

// begun is a process on a world of its own.
func begun(t *testing.T) *process {
	w := memoryWorld(t)
	w.forged = true
	t.Cleanup(w.leave)
	return w.process(newScript())
}

func TestNothingOfADamagedExportIsImported(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		s := newScript().on("big", gives(big(t.Context())))
		p := w.process(s)
		id := p.start(threeSteps)
		for name, spoil := range map[string]func(x *store.Extract){
			"an event is gone":     func(x *store.Extract) { x.Groups = x.Groups[: len(x.Groups)-1 : len(x.Groups)-1]; x.Groups[1].First++ },
			"an event is not JSON": func(x *store.Extract) { x.Groups[1].Events[0] = []byte("{") },
			"an unknown field": func(x *store.Extract) {
				x.Groups[1].Events[0] = replaced(x.Groups[1].Events[0], `"type"`, `"x":1,"type"`)
			},
			"an impossible event":    func(x *store.Extract) { x.Groups[1].Events[0] = x.Groups[0].Events[0] },
			"another run's":          func(x *store.Extract) { x.Stream, x.Row.ID, x.Account.ID = "other", "other", "other" },
			"a value is gone":        func(x *store.Extract) { x.Blobs = nil },
			"a value is another one": func(x *store.Extract) { x.Blobs[0].Data = []byte("other") },
			"no events":              func(x *store.Extract) { x.Groups = nil },
		} {
			q := begun(t)
			x := p.export(id)
			spoil(x)
			_, err := q.Import(t.Context(), x)
			if code(t, err) != engine.CodeDamaged {
				t.Errorf("%s: %v", name, err)
			}
			if page, err := q.List(t.Context(), store.Query{}); err != nil || len(page.Runs) > 0 {
				t.Errorf("%s: %+v, %v", name, page, err)
			}
		}
		x := p.export(id)
		x.Groups[1].Events[0] = replaced(x.Groups[1].Events[0], `"type":"`, `"type":"later_`)
		_, err := begun(t).Import(t.Context(), x)
		refused(t, err, engine.CodeNewerFormat)
	})
}

func replaced(line []byte, old, with string) []byte {
	return bytes.Replace(line, []byte(old), []byte(with), 1)
}

func TestARestoredBackupDoesNotGoOnByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin(t, sqliteWorld, func(t *testing.T, here *world) {
			here.forged = true // both stores' effects are in one log
			s := newScript().on("pay", times(untilCancelled(fails(errPlain)), gives("1")))
			p := here.process(s)
			id := p.start(threeSteps)
			done := p.start(threeSteps)
			there := &world{t: t, db: filepath.Join(t.TempDir(), "copy.db")}
			there.open = func() store.Store {
				st, err := sqlite.Open(context.Background(), there.db, sqlite.Options{})
				if err != nil {
					t.Fatal(err)
				}
				return st
			}
			if err := p.st.Backup(t.Context(), there.db); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(there.leave)
			q := there.process(s)
			there.status(done, run.StatusSucceeded)
			q.recover()
			v := there.suspended(id, run.KindRecovery)
			if v.Copy != "restored" || *v.Actions["continue"] != engine.CodeCopied {
				t.Errorf("restored: copy %q, actions %v", v.Copy, v.Actions)
			}
			_, err := q.Continue(t.Context(), id, engine.ContinueOptions{})
			refused(t, err, engine.CodeCopied)
			if _, err := q.Resolve(t.Context(), id, "pay", engine.Resolution{Verdict: run.VerdictRerun}); err != nil {
				t.Fatal(err)
			}
			_, err = q.Continue(t.Context(), id, engine.ContinueOptions{})
			refused(t, err, engine.CodeCopied)
			q.resume(id, engine.ContinueOptions{Takeover: true})
			there.status(id, run.StatusSucceeded)

			// What begins in the copy is its own.
			pass(time.Second)
			own := q.start(threeSteps)
			if v := there.status(own, run.StatusSucceeded); v.Copy != "" {
				t.Errorf("a run of its own is a copy: %q", v.Copy)
			}
			p.kill()
		})
	})
}

func TestCollectRemovesWhatEndedLongAgo(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		w.forged = true // effects of runs that are gone
		s := newScript()
		gate := s.gate()
		p := w.process(s.on("pay", times(gives("1"), definite(false), untilCancelled(fails(errPlain)), gives("1"), deaf(gate, gives("1")))))
		keyed := func(st *engine.Start) { st.Key = "daily" }
		old := p.start(threeSteps, keyed)
		failed := p.start(threeSteps)
		doubt := p.start(threeSteps)
		if _, err := p.Cancel(t.Context(), doubt, engine.CancelOptions{}); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if v := w.status(doubt, run.StatusCancelled); !v.Steps["pay"].InDoubt {
			t.Fatalf("%+v", v.Steps["pay"])
		}
		pass(time.Hour)
		ended := time.Now()
		pass(time.Hour)
		fresh := p.start(threeSteps)
		going := p.start(threeSteps)
		collect := func(o engine.CollectOptions, want ...string) engine.Reclaimed {
			t.Helper()
			got := map[string]bool{}
			r, err := p.Collect(t.Context(), o, func(c engine.Collected) {
				got[c.RunID] = true
				if c.Bytes <= 0 || c.EndedAt.IsZero() {
					t.Errorf("collected: %+v", c)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			wanted := map[string]bool{}
			for _, id := range want {
				wanted[id] = true
			}
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Errorf("collected (-want +got):\n%s", diff)
			}
			return r
		}
		collect(engine.CollectOptions{})
		collect(engine.CollectOptions{Before: ended, DryRun: true}, old, failed)
		collect(engine.CollectOptions{Before: ended, KeepFailed: true}, old)
		_, err := p.Progress(t.Context(), old, engine.ProgressOptions{})
		refused(t, err, engine.CodeNotFound)
		collect(engine.CollectOptions{Before: ended}, failed)
		collect(engine.CollectOptions{Before: ended})
		collect(engine.CollectOptions{Before: ended, InDoubt: true}, doubt)
		w.status(fresh, run.StatusSucceeded)
		w.status(going, run.StatusRunning)

		// Its key outlives it: a client that repeats its start does not start it anew.
		again := engine.Start{Workflow: []byte(threeSteps), Key: "daily"}
		_, err = p.Start(t.Context(), again)
		refused(t, err, engine.CodeKeyConflict)
		if r := collect(engine.CollectOptions{Before: ended.Add(31 * 24 * time.Hour)}, fresh); r.Keys != 1 {
			t.Errorf("forgot %d keys", r.Keys)
		}
		if _, err = p.Start(t.Context(), again); err != nil {
			t.Errorf("start once the key is forgotten: %v", err)
		}
		gate.open()
		synctest.Wait()
	})
}

// A store that keeps no house says so.
func TestNoHousekeeping(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		e, err := engine.Open(t.Context(), struct{ store.Store }{w.open()}, engine.Config{})
		if err != nil {
			t.Fatal(err)
		}
		_, export := e.Export(t.Context(), "r")
		_, imported := e.Import(t.Context(), &store.Extract{})
		_, collect := e.Collect(t.Context(), engine.CollectOptions{}, nil)
		for _, err := range []error{export, imported, collect} {
			refused(t, err, engine.CodeNoHousekeeping)
		}
		if err := errors.Join(e.Close(t.Context())); err != nil {
			t.Error(err)
		}
	})
}
