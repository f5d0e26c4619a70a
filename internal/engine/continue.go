package engine

import (
	"context"
	"errors"
	"time"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
)

// ContinueOptions say how to go on with a run.
type ContinueOptions struct {
	// Session must be the run's; "" is "local", AnySession matches every one.
	Session string
	// Authority is added to what the run has.
	Authority run.Authority
	// Rerun lists effects whose in-doubt steps this call lets be entered again.
	Rerun []tool.Effect
	// Extend grants wall time: from now on, or beyond what is left.
	Extend time.Duration
	// Takeover goes on with a run that was copied from another store: the caller
	// says that it will not go on there. It changes nothing for other runs.
	Takeover bool
}

// Continue goes on with a suspended run from its journal: finished steps never
// run again. It returns the snapshot that run_started gave, once that is durable;
// nothing was dispatched before. A refusal changes nothing.
func (e *Engine) Continue(ctx context.Context, runID string, opts ContinueOptions) (*run.View, error) {
	if r := e.closedRefusal(); r != nil {
		return nil, r
	}
	if r, err := e.notRoot(ctx, runID, opts.Session); r != nil || err != nil {
		return nil, orError(r, err)
	}
	l, err := e.load(ctx, runID, keepNothing)
	if err != nil {
		return nil, err
	}
	switch r, err := l.continueRefusal(ctx, opts); {
	case err != nil:
		return nil, asError(err, runID)
	case r != nil:
		return nil, l.refusedNow(ctx, r)
	}
	claim, err := e.store.Claim(ctx, runID)
	if err != nil {
		return nil, asError(err, runID)
	}
	o := l.newOwner(claim)
	if err := e.takeOver(ctx, l, o, opts); err != nil {
		o.close()
		return nil, err
	}
	return e.launch(o)
}

func (e *Engine) takeOver(ctx context.Context, l *loaded, o *owner, opts ContinueOptions) error {
	if err := l.unmoved(ctx); err != nil {
		return err
	}
	started := &run.Started{By: e.cfg.By, Authority: l.authority(opts), Rerun: e.reruns(opts)}
	copied, err := l.copied(ctx)
	if err != nil {
		return asError(err, o.id)
	}
	if copied != "" {
		if started.Takeover, err = e.generation(ctx); err != nil {
			return asError(err, o.id)
		}
	}
	if opts.Extend > 0 {
		until := e.now()
		if deadline := l.st.Deadline(until); deadline.After(until) {
			until = deadline
		}
		until = until.Add(opts.Extend)
		started.GrantedMS = opts.Extend.Milliseconds()
		if err := o.emit("", &run.DeadlineExtended{Until: until, By: e.cfg.By}); err != nil {
			return err
		}
	}
	if err := o.emit("", started); err != nil {
		return err
	}
	return asError(o.commit(ctx), o.id)
}

// refusedNow is a refusal as it is true now. A run that another process took over
// while this call looked at it is owned elsewhere, whatever else seems to be wrong
// with it: its step's processes run again, say.
func (l *loaded) refusedNow(ctx context.Context, r *Error) error {
	switch r.Code {
	case CodeNotFound, CodeDamaged, CodeNewerFormat: // told before it
		return r
	}
	if err := l.unmoved(ctx); err != nil {
		return err
	}
	return r
}

// unmoved refuses a run that moved since this call first read it.
func (l *loaded) unmoved(ctx context.Context) error {
	head, err := l.e.store.Head(ctx, l.st.RunID)
	if err != nil {
		return asError(err, l.st.RunID)
	}
	if head.Last != l.st.Last || head.Owner.ID != l.head.Owner.ID || head.Owner.Epoch != l.head.Owner.Epoch {
		return refuse(CodeOwnedElsewhere, "run %s moved on while this call looked at it", l.st.RunID)
	}
	return nil
}

func orError(r *Error, err error) error {
	if r != nil {
		return r
	}
	return err
}

// notRoot tells a nested run's id from one that does not exist, to those who may
// know of it.
func (e *Engine) notRoot(ctx context.Context, runID, session string) (*Error, error) {
	rec, err := e.store.Key(ctx, nestedScope, runID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, asError(err, runID)
	}
	l, err := e.load(ctx, rec.Stream, keepNothing)
	if err != nil {
		return nil, err
	}
	switch r := l.readable(session); {
	case r == nil:
	case r.Code == CodeNotFound:
		return noRun(runID), nil
	default:
		return r, nil
	}
	return refuse(CodeNotRoot, "run %s is nested in run %s: act on that one", runID, rec.Stream).with("root_run_id", rec.Stream), nil
}

func noRun(runID string) *Error { return refuse(CodeNotFound, "there is no run %s", runID) }

// nestedScope holds the ids of nested runs, so that they can be found.
const nestedScope = "nested"
