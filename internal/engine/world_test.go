package engine_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/memory"
	"github.com/culm-dev/culm/store/sqlite"
	"github.com/culm-dev/culm/tool"
)

// world is durable state that any number of engines share, each through a handle
// of its own, as processes do. Its time is virtual: it passes only in pass.
type world struct {
	t    *testing.T
	open func() store.Store
	db   string // of SQLite
	// forged: journals were written by hand, and need not be good.
	forged  bool
	scripts []*script

	once     sync.Once
	onlooker store.Store
	looks    *engine.Engine
}

// onWorlds runs a test on every kind of store, each in a synctest bubble, so that
// it fails also if a goroutine outlives it.
func onWorlds(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	kinds := map[string]func(t *testing.T) *world{"memory": memoryWorld, "sqlite": sqliteWorld}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { begin(t, kind, f) })
		})
	}
}

// onMemory is for what would be the same on any store.
func onMemory(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { begin(t, memoryWorld, f) })
}

func begin(t *testing.T, kind func(t *testing.T) *world, f func(t *testing.T, w *world)) {
	w := kind(t)
	t.Cleanup(w.leave)
	t.Cleanup(w.examine)
	f(t, w)
}

func memoryWorld(t *testing.T) *world {
	disk := memory.New()
	return &world{t: t, open: func() store.Store { return disk.Open() }}
}

func sqliteWorld(t *testing.T) *world {
	db := filepath.Join(t.TempDir(), "culm.db")
	return &world{t: t, db: db, open: func() store.Store {
		st, err := sqlite.Open(context.Background(), db, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}}
}

// process is one engine with its own handle and its own copies of the tools.
type process struct {
	*engine.Engine
	w      *world
	st     *handle
	script *script
}

// everything is the authority that all scripted tools need.
func everything() run.Authority {
	return run.Authority{Trusted: true, Allow: []string{"write"}}
}

// process starts one; its tools do what the script says.
func (w *world) process(s *script, change ...func(*engine.Config)) *process {
	w.t.Helper()
	cfg := engine.Config{Tools: s.tools(), Authority: everything()}
	for _, f := range change {
		f(&cfg)
	}
	opened := w.open()
	st := &handle{Store: opened, Keeper: opened.(store.Keeper)}
	e, err := engine.Open(context.Background(), st, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	p := &process{Engine: e, w: w, st: st, script: s}
	if !slices.Contains(w.scripts, s) {
		w.scripts = append(w.scripts, s)
	}
	w.t.Cleanup(func() { p.end() })
	return p
}

// end closes what is still open. Runs that still run are none of a test's business.
func (p *process) end() {
	p.script.releaseAll()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = p.Close(ctx)
	_ = p.st.Close()
}

// kill lets the process die: its handle takes nothing any more, and whatever it
// owned has a dead owner.
func (p *process) kill() { p.st.kill() }

// pass lets time pass, and then everything come to rest.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// start starts a run and waits until everything came to rest.
func (p *process) start(def string, change ...func(*engine.Start)) string {
	p.w.t.Helper()
	s := engine.Start{Workflow: []byte(def)}
	for _, f := range change {
		f(&s)
	}
	v, err := p.Start(context.Background(), s)
	if err != nil {
		p.w.t.Fatal(err)
	}
	synctest.Wait()
	return v.RunID
}

// resume continues a run and waits until everything came to rest.
func (p *process) resume(id string, opts engine.ContinueOptions) *run.View {
	p.w.t.Helper()
	if _, err := p.Continue(context.Background(), id, opts); err != nil {
		p.w.t.Fatal(err)
	}
	synctest.Wait()
	return p.w.view(id)
}

func (p *process) recover() []engine.Recovered {
	p.w.t.Helper()
	rec, err := p.Recover(context.Background())
	if err != nil {
		p.w.t.Fatal(err)
	}
	return rec
}

// look reads with a handle that nothing is done with.
func (w *world) look(f func(e *engine.Engine, st store.Store)) {
	w.t.Helper()
	w.once.Do(func() {
		w.onlooker = w.open()
		e, err := engine.Open(context.Background(), w.onlooker, engine.Config{Tools: newScript().tools(), Authority: everything()})
		if err != nil {
			w.t.Fatal(err)
		}
		w.looks = e
	})
	f(w.looks, w.onlooker)
}

// leave closes it.
func (w *world) leave() {
	if w.looks == nil {
		return
	}
	if err := errors.Join(w.looks.Close(context.Background()), w.onlooker.Close()); err != nil {
		w.t.Error(err)
	}
}

// view is the run with its values, as an onlooker sees it.
func (w *world) view(id string) (v *run.View) {
	w.t.Helper()
	w.look(func(e *engine.Engine, _ store.Store) {
		var err error
		if v, err = e.Progress(context.Background(), id, engine.ProgressOptions{Values: true, Session: engine.AnySession}); err != nil {
			w.t.Fatal(err)
		}
	})
	return v
}

// commits are the run's events by commit.
func (w *world) commits(id string) (all [][]run.Event) {
	w.t.Helper()
	w.look(func(_ *engine.Engine, st store.Store) {
		groups, err := st.Read(context.Background(), id, 0, 1<<30)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, g := range groups {
			var evs []run.Event
			for i, line := range g.Events {
				ev, err := run.Decode(line)
				if err != nil {
					w.t.Fatal(err)
				}
				if want := g.First + uint64(i); ev.Sequence != want {
					w.t.Fatalf("event %d stands at %d", ev.Sequence, want)
				}
				evs = append(evs, ev)
			}
			all = append(all, evs)
		}
	})
	return all
}

func (w *world) events(id string) (all []run.Event) {
	w.t.Helper()
	for _, evs := range w.commits(id) {
		all = append(all, evs...)
	}
	return all
}

// word names an event in few letters: "a:completed", "run_started".
func word(ev run.Event) string {
	if ev.StepID == "" {
		return string(ev.Type)
	}
	return ev.StepID + ":" + strings.TrimPrefix(string(ev.Type), "step_")
}

// journal writes a run's journal as "run_queued run_started | a:started | ...":
// a line is a commit's limit.
func (w *world) journal(id string) string {
	w.t.Helper()
	var commits []string
	for _, evs := range w.commits(id) {
		commits = append(commits, words(evs))
	}
	return strings.Join(commits, " | ")
}

func words(evs []run.Event) string {
	var ws []string
	for _, ev := range evs {
		ws = append(ws, word(ev))
	}
	return strings.Join(ws, " ")
}

// wantJournal compares a journal with its commits, white space aside.
func (w *world) wantJournal(id, want string) {
	w.t.Helper()
	if got, want := w.journal(id), strings.Join(strings.Fields(want), " "); got != want {
		w.t.Errorf("journal\n got %s\nwant %s", got, want)
	}
}

// code is the code of a refusal; "" for none.
func code(t *testing.T, err error) string {
	t.Helper()
	var refusal *engine.Error
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &refusal):
		t.Fatalf("error without a code: %v", err)
	}
	return refusal.Code
}

// refused fails the test unless err is a refusal with that code.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	if got := code(t, err); got != want {
		t.Errorf("refused with %q (%v), want %q", got, err, want)
	}
}

// status fails the test unless the run has it.
func (w *world) status(id string, want run.Status) *run.View {
	w.t.Helper()
	v := w.view(id)
	if v.Status != want {
		w.t.Fatalf("the run is %s (failure %v, suspension %v), want %s\n%s", v.Status, v.Failure, v.Suspension, want, w.journal(id))
	}
	return v
}

// suspended fails the test unless the run is, for that reason.
func (w *world) suspended(id string, kind run.SuspensionKind) *run.View {
	w.t.Helper()
	v := w.status(id, run.StatusSuspended)
	if v.Suspension.Kind != kind {
		w.t.Errorf("suspended as %s, want %s", v.Suspension.Kind, kind)
	}
	return v
}

// step fails the test unless the step has the status and is in doubt or not.
func step(t *testing.T, v *run.View, id string, want run.StepStatus, doubt bool) *run.SnapshotStep {
	t.Helper()
	s := v.Steps[id]
	if s == nil {
		t.Fatalf("there is no step %s", id)
	}
	if s.Status != want || s.InDoubt != doubt {
		t.Errorf("step %s is %s (in doubt: %v, failure %v), want %s (in doubt: %v)", id, s.Status, s.InDoubt, s.Failure, want, doubt)
	}
	return s
}

var _ tool.Tool = scripted{}
