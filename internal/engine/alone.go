package engine

import (
	"context"
	"errors"

	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// alone makes the caller the owner of a run that nobody works on, for the moment
// of act: what act emits is recorded, and so is the run's end if that follows
// from it, but nothing is dispatched. ErrOwned if somebody works on it.
func (e *Engine) alone(ctx context.Context, runID string, act func(o *owner) error) error {
	claim, err := e.store.Claim(ctx, runID)
	if err != nil {
		return err
	}
	defer claim.Close()
	l, err := e.load(ctx, runID, keepNothing)
	if err != nil {
		return err
	}
	if r := l.readable(AnySession); r != nil {
		return r
	}
	if l.st.Status.Terminal() {
		return terminalRefusal(l.st)
	}
	if err := l.walk(ctx); err != nil {
		return err
	}
	o := l.newOwner(claim)
	if err := act(o); err != nil {
		return errors.Join(err, o.letGo(ctx))
	}
	if o.batch.empty() && o.claim != nil { // nothing to say: nothing is written
		return nil
	}
	if err := o.conclude(ctx); err != nil {
		return errors.Join(err, o.letGo(ctx))
	}
	return nil
}

// conclude commits what follows and gives the run back. Whoever posted mail to
// this owner was told that it acts on it: so it takes all there is.
func (o *owner) conclude(ctx context.Context) error {
	for {
		if err := o.settleRest(ctx); err != nil {
			return err
		}
		if err := o.endAlone(ctx); err != nil {
			return err
		}
		o.batch.release, o.batch.gated = true, true
		if err := o.commit(ctx); !errors.Is(err, store.ErrMailWaiting) {
			return err
		}
		if err := o.reload(ctx); err != nil {
			return err
		}
		if err := o.readMail(ctx); err != nil {
			return err
		}
	}
}

// settleRest settles, and so again what could end only once skips were recorded.
func (o *owner) settleRest(ctx context.Context) error {
	for {
		if err := o.settle(ctx); err != nil {
			return err
		}
		last := o.state().Last
		if err := o.skipRest(ctx); err != nil {
			return err
		}
		if o.state().Last == last {
			return nil
		}
	}
}

// skipRest records what will not be entered, if nothing else is left to record
// before the run's end.
func (o *owner) skipRest(ctx context.Context) error {
	st := o.state()
	if st.CancelRequested == "" && st.Expired == nil && len(st.OpenSteps()) > 0 {
		return nil
	}
	for _, a := range o.m.Next(o.e.now(), 0) {
		if a.Do != kernel.Skip {
			continue
		}
		if _, err := o.do(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// endAlone records the run's end if it can only be one that nothing runs for. A
// success is left to whoever continues the run.
func (o *owner) endAlone(ctx context.Context) error {
	if end, ok := o.m.End(); !ok || end.Kind == kernel.Succeeded {
		return nil
	}
	_, err := o.end(ctx)
	return err
}

// letGo gives up an ownership that an earlier commit of this owner took.
func (o *owner) letGo(ctx context.Context) error {
	if o.claim != nil { // never taken
		return nil
	}
	o.batch = batch{release: true}
	return o.e.store.Commit(context.WithoutCancel(ctx), &store.Batch{Appends: []store.Append{{
		Stream: o.id, Expect: o.durable, Release: true,
	}}})
}

// settleAlone moves waiting mail into the journal of a run that nobody works on.
func (e *Engine) settleAlone(ctx context.Context, runID string) error {
	return e.alone(ctx, runID, func(o *owner) error { return o.readMail(ctx) })
}

// tell posts a message to the run's mailbox. Whoever owns the run after that takes
// it; live is false if nobody does.
func (e *Engine) tell(ctx context.Context, runID string, m message) (live bool, err error) {
	if err := e.post(ctx, runID, m); err != nil {
		return false, err
	}
	head, err := e.store.Head(ctx, runID)
	return head.Owner.Alive, asError(err, runID)
}

func terminalRefusal(st *run.State) *Error {
	return refuse(CodeTerminal, "run %s has %s; it never changes again", st.RunID, st.Status)
}
