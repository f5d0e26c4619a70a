package engine

import (
	"context"
	"errors"

	"github.com/culm-dev/culm/run"
)

// cancelPlanless cancels a run whose pinned plan cannot be walked here. That takes
// no plan: every open step is cancelled, and those in doubt are said to be.
func (e *Engine) cancelPlanless(ctx context.Context, runID string, m message) error {
	claim, err := e.store.Claim(ctx, runID)
	if err != nil {
		return err
	}
	l, err := e.load(ctx, runID, keepNothing)
	if err != nil {
		claim.Close()
		return err
	}
	o := l.newOwner(claim)
	defer o.close()
	if r := l.readable(AnySession); r != nil {
		return r
	}
	if l.st.Status.Terminal() {
		return terminalRefusal(l.st)
	}
	o.m, o.st = nil, l.st
	if err := o.cancelAlone(ctx, m); err != nil {
		return errors.Join(err, o.letGo(ctx))
	}
	if err := o.endPlanless(); err != nil {
		return errors.Join(err, o.letGo(ctx))
	}
	return o.commit(ctx)
}

func (o *owner) endPlanless() error {
	for _, st := range o.state().OpenSteps() {
		if err := o.emit(st.ID, &run.StepCancelled{InDoubt: st.InDoubt}); err != nil {
			return err
		}
	}
	o.batch.release = true
	return o.emit("", &run.CancelledRun{})
}
