package culm

import (
	"context"
	"iter"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// Engine runs workflows over one store. Make one with [Open], or with local.Open
// of package local. Its methods are safe for concurrent use; their errors are
// [*Error] where somebody may want to decide on one, and the context's own when it
// ended first. A call that was refused changed nothing.
type Engine struct{ e *engine.Engine }

// Open makes an engine over a store. The store stays the caller's to close, after
// the engine was closed, unless [Config.CloseStore] says otherwise. Opening writes
// nothing and recovers nothing. It fails if the tools cannot be registered, and then
// says all that is wrong with them.
func Open(ctx context.Context, st store.Store, cfg Config) (*Engine, error) {
	e, err := engine.Open(ctx, st, cfg.engine())
	if err != nil {
		return nil, err
	}
	return &Engine{e}, nil
}

// Start starts a run, and returns once it is durably running: whatever happens
// then, the run is there. The view is the run as it began.
func (e *Engine) Start(ctx context.Context, s Start) (*run.View, error) {
	v, err := e.e.Start(ctx, engine.Start(s))
	return v, asError(err)
}

// Run is [Engine.Start] and [Engine.Wait]. When ctx ends first, the run goes on.
func (e *Engine) Run(ctx context.Context, s Start) (*run.View, error) {
	v, err := e.e.Run(ctx, engine.Start(s))
	return v, asError(err)
}

// Preview does everything that [Engine.Start] does before it writes, and writes
// nothing. What would refuse the start is part of the preview; the error is for what
// has no preview: a definition, arguments or labels that are invalid, or a store that
// cannot be read.
func (e *Engine) Preview(ctx context.Context, s Start) (*Preview, error) {
	pv, err := e.e.Preview(ctx, engine.Start(s))
	return previewOf(pv), asError(err)
}

// Wait waits until a run of any process has ended, is suspended, or has lost its
// owner: the view, which has its values, then says running, with an owner that is
// not alive.
func (e *Engine) Wait(ctx context.Context, runID string) (*run.View, error) {
	v, err := e.e.Wait(ctx, runID)
	return v, asError(err)
}

// Progress is one consistent look at a run: of this process, of another, or of
// nobody. The id of a nested run gives that part of its root.
func (e *Engine) Progress(ctx context.Context, runID string, opts ProgressOptions) (*run.View, error) {
	v, err := e.e.Progress(ctx, runID, engine.ProgressOptions(opts))
	return v, asError(err)
}

// Subscribe gives every event after since, in order, without gap or repeat, then
// live ones, of any process's run, until the run has ended or ctx is done. A slow
// reader loses nothing: events are read from the journal. The values that events
// carry are in them. A nested run's events are those of its root that concern it,
// with the root's sequences. After an error the sequence ends.
func (e *Engine) Subscribe(ctx context.Context, runID string, since uint64) iter.Seq2[run.Event, error] {
	return func(yield func(run.Event, error) bool) {
		for ev, err := range e.e.Subscribe(ctx, runID, since) {
			if !yield(ev, asError(err)) {
				return
			}
		}
	}
}

// Logs gives what the tools of a run printed while they ran, oldest first: what
// [Config.Logs] has kept of it, which may be nothing. It is no part of the journal. A
// nested run's log is its part of its root's. After an error the sequence ends.
func (e *Engine) Logs(ctx context.Context, runID string, opts LogOptions) iter.Seq2[run.LogLine, error] {
	return func(yield func(run.LogLine, error) bool) {
		for line, err := range e.e.Logs(ctx, runID, engine.LogOptions(opts)) {
			if !yield(line, asError(err)) {
				return
			}
		}
	}
}

// List gives runs, newest first. Whether their owners live is true at the time of
// the call.
func (e *Engine) List(ctx context.Context, q store.Query) (*Page, error) {
	page, err := e.e.List(ctx, q)
	if err != nil {
		return nil, asError(err)
	}
	out := &Page{Runs: make([]Summary, len(page.Runs)), Next: page.Next}
	for i, s := range page.Runs {
		out.Runs[i] = Summary(s)
	}
	return out, nil
}

// FindRun finds a run by its id, by a unique beginning of it, or by its random
// tail, of four characters at least: [CodeNotFound] or [CodeAmbiguous] if there is
// not exactly one.
func (e *Engine) FindRun(ctx context.Context, part string) (string, error) {
	id, err := e.e.FindRun(ctx, part)
	return id, asError(err)
}

// Recover suspends every running run whose owner is dead, in any process. It
// dispatches nothing, and never touches a run whose owner is alive. Damaged runs
// are reported and stop nobody.
func (e *Engine) Recover(ctx context.Context) ([]Recovered, error) {
	found, err := e.e.Recover(ctx)
	var all []Recovered
	for _, r := range found {
		all = append(all, Recovered(r))
	}
	return all, asError(err)
}

// RecoverRun does what [Engine.Recover] does for one run; the view is nil if there
// is nothing to do.
func (e *Engine) RecoverRun(ctx context.Context, runID string) (*run.View, error) {
	v, err := e.e.RecoverRun(ctx, runID)
	return v, asError(err)
}

// Continue goes on with a suspended run from its journal: finished steps never run
// again. It returns the view that its new start gave, once that is durable;
// nothing was dispatched before. Of all that may forbid it, it reports the first
// in the order of the codes.
func (e *Engine) Continue(ctx context.Context, runID string, opts ContinueOptions) (*run.View, error) {
	v, err := e.e.Continue(ctx, runID, engine.ContinueOptions(opts))
	return v, asError(err)
}

// Restart starts a new run of the same pinned definitions and arguments, with a
// fresh budget. A suspended old run is cancelled in the same commit; if something
// that it began is still to be cleaned up, it stays suspended, and continuing it
// does only that. What the new run takes over is copied in that commit too, so that
// it never needs the old one.
func (e *Engine) Restart(ctx context.Context, runID string, opts RestartOptions) (*run.View, error) {
	v, err := e.e.Restart(ctx, runID, engine.RestartOptions(opts))
	return v, asError(err)
}

// Resolve ends the doubt about a step, durably. A living owner acts on it at once;
// else it is recorded, and the run is to be continued, unless this was the last
// thing that kept it from failing. The same verdict again changes nothing.
func (e *Engine) Resolve(ctx context.Context, runID, step string, r Resolution) (*Receipt, error) {
	rc, err := e.e.Resolve(ctx, runID, step, engine.Resolution(r))
	return (*Receipt)(rc), asError(err)
}

// Cancel asks, durably, for a run to be cancelled. A living owner acts on it;
// without one this call cancels the run, with the calls that a dead owner left
// behind in doubt, and named in the receipt. If something that the run began is
// still to be cleaned up, that is left to who continues the run, and the receipt
// says so. Cancelling again changes nothing.
func (e *Engine) Cancel(ctx context.Context, runID string, opts CancelOptions) (*Receipt, error) {
	rc, err := e.e.Cancel(ctx, runID, engine.CancelOptions(opts))
	return (*Receipt)(rc), asError(err)
}

// Stop asks every live run of this engine to dispatch nothing new, waits for the
// calls in flight, and suspends the runs as stopped. It returns when that is
// durable, or with ctx's error while it still goes on. The engine stays open.
func (e *Engine) Stop(ctx context.Context) error { return asError(e.e.Stop(ctx)) }

// Close stops every live run as [Engine.Stop] does. When ctx ends first, calls in
// flight are cancelled and, after [Config.Grace], abandoned; their runs are
// suspended with those steps in doubt whose outcome is unknown. The error counts
// tools that ignored their context and still run in this process.
func (e *Engine) Close(ctx context.Context) error { return asError(e.e.Close(ctx)) }
