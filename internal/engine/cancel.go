package engine

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// CancelOptions say whose run is cancelled.
type CancelOptions struct {
	// Session must be the run's; "" is "local", AnySession matches every one.
	Session string
}

// Cancel asks, durably, for the run to be cancelled. A living owner acts on it;
// without one the caller cancels the run, with calls that a dead owner left
// behind in doubt, and named in the receipt. If something that the run began is
// still to be cleaned up, that is left to who continues the run, and the receipt
// says so. Cancelling again changes nothing.
func (e *Engine) Cancel(ctx context.Context, runID string, opts CancelOptions) (*Receipt, error) {
	l, err := e.loadForAction(ctx, runID, opts.Session)
	if err != nil {
		return nil, err
	}
	if l.st.Status == run.StatusCancelled {
		return e.receipt(ctx, runID, false)
	}
	if l.st.Status.Terminal() {
		return nil, terminalRefusal(l.st)
	}
	m := message{Kind: mailCancel, By: e.cfg.By}
	live := l.head.Owner.Alive
	if live {
		if live, err = e.tell(ctx, runID, m); err != nil {
			return nil, err
		}
	}
	if !live {
		err = e.alone(ctx, runID, func(o *owner) error { return o.cancelAlone(ctx, m) })
		if errors.Is(err, &Error{Code: CodeBundleMismatch}) {
			err = e.cancelPlanless(ctx, runID, m)
		}
		if errors.Is(err, store.ErrOwned) { // somebody took it over meanwhile
			live, err = e.tell(ctx, runID, m)
		}
	}
	if errors.Is(err, &Error{Code: CodeTerminal}) { // it ended meanwhile, maybe by this
		if rc, rerr := e.receipt(ctx, runID, false); rerr == nil && rc.View.Status == run.StatusCancelled {
			return rc, nil
		}
	}
	if err != nil {
		return nil, asError(err, runID)
	}
	return e.receipt(ctx, runID, live)
}

// cancelAlone makes the request durable before anything follows from it.
func (o *owner) cancelAlone(ctx context.Context, m message) error {
	if o.state().Status == run.StatusRunning { // its owner died
		for _, ev := range o.state().RecoverBodies() {
			if err := o.emit(ev.StepID, ev.Body); err != nil {
				return err
			}
		}
		if err := o.commit(ctx); err != nil {
			return err
		}
	}
	if err := o.readMail(ctx); err != nil { // late answers are still worth having
		return err
	}
	if err := o.admitMail(m); err != nil {
		return err
	}
	return o.commit(ctx)
}

// givenUp are the steps that were cancelled in doubt, sorted.
func givenUp(v *run.View) []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(v.Steps)) {
		if st := v.Steps[id]; st.InDoubt && st.Status == run.StatusStepCancelled {
			ids = append(ids, id)
		}
	}
	return ids
}
