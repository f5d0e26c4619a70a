package culmtest

import (
	"testing"
	"time"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/rehearsal"
	"github.com/culm-dev/culm/run"
)

// Options say what an [Env] is like. The zero value is usable.
type Options struct {
	// Config is the engine's. Its Clock and CloseStore are replaced; its Tools are
	// real ones, as those of [Env.Use]. Default authority: everything that the
	// tools can do.
	Config culm.Config
	// Begin is what time it is at first. Default: 2030-01-01, midnight UTC.
	Begin time.Time
}

// Env is an engine with all that is around it.
type Env struct {
	t testing.TB
	w *rehearsal.World
}

// New makes one for a test, which closes it. nil options are the zero value.
func New(t testing.TB, opts *Options) *Env {
	t.Helper()
	if opts == nil {
		opts = &Options{}
	}
	e := &Env{t: t, w: rehearsal.New(opts.Config, opts.Begin)}
	t.Cleanup(e.leave)
	return e
}

// leave closes the engine, and says what was left open.
func (e *Env) leave() {
	e.t.Helper()
	if err := e.w.Close(); err != nil {
		e.t.Errorf("close engine: %v", err)
	}
	for _, what := range e.w.Unscripted() {
		e.t.Errorf("%s: give its Script a reply", what)
	}
	if e.w.Armed() {
		e.t.Error("the process was to die at an event that never came")
	}
}

// Engine is the engine of the living process. After a crash it is that of the next
// one, which has recovered nothing yet. Its calls that wait for time (Run, Wait,
// Stop, Subscribe) belong into [Env.Do].
func (e *Env) Engine() *culm.Engine {
	e.t.Helper()
	eng, err := e.w.Engine()
	e.must("open engine", err)
	return eng
}

// Start starts a run. If the process dies of it, the view is what it left behind,
// which must be something.
func (e *Env) Start(s culm.Start) *run.View {
	e.t.Helper()
	v, err := e.w.Start(e.t.Context(), s)
	e.must("start run", err)
	return v
}

// Run is [Env.Start] and [Env.Wait].
func (e *Env) Run(s culm.Start) *run.View {
	e.t.Helper()
	return e.Wait(e.Start(s).RunID)
}

// Wait lets time pass until a run has come to rest: it has ended, is suspended, or
// its process has died. The test fails if nothing is left that could happen.
func (e *Env) Wait(runID string) *run.View {
	e.t.Helper()
	v, err := e.w.Wait(e.t.Context(), runID)
	e.must("wait for run", err)
	return v
}

// View is a run as it stands now, with its values.
func (e *Env) View(runID string) *run.View {
	e.t.Helper()
	v, err := e.w.View(e.t.Context(), runID)
	e.must("look at run", err)
	return v
}

// Do runs f, such as the code of a program that uses the engine, and lets time pass
// whenever the engine has nothing else to do until f returns.
func (e *Env) Do(f func()) { e.w.Drive(f) }

// Now is what time it is.
func (e *Env) Now() time.Time { return e.w.Clock().Now() }

// Advance lets d pass, with all that is due in it.
func (e *Env) Advance(d time.Duration) {
	e.t.Helper()
	e.must("advance", e.w.Advance(d))
}

// Settle lets everything happen that can without time passing.
func (e *Env) Settle() {
	e.t.Helper()
	e.must("settle", e.w.Settle())
}

func (e *Env) must(what string, err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatalf("%s: %v", what, err)
	}
}
