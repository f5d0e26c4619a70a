package engine

import (
	"context"
	"errors"

	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

func ignoreNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// alone makes the caller the owner of a run that nobody works on, for the moment
// of act: what act emits is recorded, and so is the run's end if that follows
// from it, but nothing is dispatched. ErrOwned if somebody works on it.
func (e *Engine) alone(ctx context.Context, runID string, act func(l *loaded, o *owner) error) (*owner, error) {
	claim, err := e.store.Claim(ctx, runID)
	if err != nil {
		return nil, err
	}
	defer claim.Close()
	l, err := e.load(ctx, runID, keepNothing)
	if err != nil {
		return nil, err
	}
	if r := l.readable(AnySession); r != nil {
		return nil, r
	}
	if l.st.Status.Terminal() {
		return nil, terminalRefusal(l.st)
	}
	if err := l.walk(ctx); err != nil {
		return nil, err
	}
	o := l.newOwner(claim)
	if err := act(l, o); err != nil {
		return nil, errors.Join(err, o.letGo(ctx))
	}
	if o.batch.empty() && o.claim != nil { // nothing to say: nothing is written
		return o, nil
	}
	if err := o.settle(ctx); err != nil {
		return nil, errors.Join(err, o.letGo(ctx))
	}
	if err := o.endAlone(ctx); err != nil {
		return nil, errors.Join(err, o.letGo(ctx))
	}
	o.batch.release = true
	return o, o.commit(ctx)
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
func (e *Engine) settleAlone(ctx context.Context, runID string) (*owner, error) {
	return e.alone(ctx, runID, func(_ *loaded, o *owner) error { return o.readMail(ctx) })
}

// absorb does so if there is mail and the run is suspended. Whatever stands in
// the way of that is told by the caller's own checks.
func (e *Engine) absorb(ctx context.Context, runID string) error {
	head, err := e.store.Head(ctx, runID)
	if err != nil || head.Owner.Alive || head.Row.Status != string(run.StatusSuspended) {
		return nil
	}
	mail, err := e.store.Mail(ctx, runID, 0)
	if err != nil || len(mail) == 0 {
		return nil
	}
	_, err = e.settleAlone(ctx, runID)
	var refusal *Error
	if errors.Is(err, store.ErrOwned) || errors.As(err, &refusal) {
		return nil
	}
	return asError(err, runID)
}

func terminalRefusal(st *run.State) *Error {
	return refuse(CodeTerminal, "run %s has %s; it never changes again", st.RunID, st.Status)
}
