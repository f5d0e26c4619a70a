package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// mailPause is the least time between two looks at the mailbox that nothing but
// the store's own signal asked for. Every start commit is refused if there is
// mail, so that this bounds only how long an idle owner may overlook some.
const mailPause = 100 * time.Millisecond

// serve owns the run until it ends, suspends, or the owner is asked to stop.
func (o *owner) serve() {
	defer o.retire()
	defer o.e.disown(o)
	defer close(o.done)
	defer o.e.releaseLog(o.id)
	defer o.close()
	ctx := context.Background()
	changed, unwatch := o.e.store.Watch(o.id)
	defer unwatch()
	err := o.guarded(func() error { return o.loop(ctx, changed) })
	if err == nil {
		o.final = o.finalView(ctx)
		return
	}
	o.err = err
	o.e.cfg.Logger.Error("run given up", "run", o.id, "error", err)
	o.drain(ctx, err)
}

// guarded turns a panic into an error: panics stay in this package.
func (o *owner) guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			o.e.cfg.Logger.Error("engine panicked", "run", o.id, "panic", p, "stack", string(debug.Stack()))
			err = &panicked{message: fmt.Sprint(p)}
		}
	}()
	return f()
}

type panicked struct{ message string }

func (p *panicked) Error() string { return "internal: " + p.message }

func (o *owner) loop(ctx context.Context, changed <-chan struct{}) error {
	for {
		over, err := o.turn(ctx)
		if err != nil || over {
			return err
		}
		o.wait(changed)
	}
}

// turn does all that can be done now; over reports that the run is no longer owned.
func (o *owner) turn(ctx context.Context) (over bool, err error) {
	for {
		if err := o.takeOutcomes(ctx); err != nil {
			return false, err
		}
		if err := o.takeMail(ctx); err != nil {
			return false, err
		}
		if err := o.expire(); err != nil {
			return false, err
		}
		if err := o.settle(ctx); err != nil {
			return false, err
		}
		if err := o.startHarmless(ctx); err != nil {
			return false, err
		}
		switch over, err := o.flush(ctx); {
		case errors.Is(err, store.ErrMailWaiting):
			if err := o.reload(ctx); err != nil {
				return false, err
			}
			continue
		case err != nil || over:
			return over, err
		}
		progress, err := o.startNext(ctx)
		if err != nil {
			return false, err
		}
		if progress {
			switch over, err := o.flush(ctx); {
			case errors.Is(err, store.ErrMailWaiting):
				if err := o.reload(ctx); err != nil {
					return false, err
				}
				continue
			case err != nil || over:
				return over, err
			}
			continue
		}
		o.abortCalls()
		if o.pendingOutcomes() {
			continue
		}
		return o.suspendIfIdle(ctx)
	}
}

// flush commits the batch and dispatches what it started. If everything has
// ended, the run's end goes with it.
func (o *owner) flush(ctx context.Context) (over bool, err error) {
	ended, err := o.end(ctx)
	if err != nil {
		return false, err
	}
	starts := o.batch.starts
	if err := o.commit(ctx); err != nil {
		return false, err
	}
	for _, c := range starts {
		c.dispatch()
	}
	return ended, nil
}

// end emits the run's end if there is nothing left that is open.
func (o *owner) end(ctx context.Context) (bool, error) {
	end, ok := o.m.End()
	if !ok {
		return false, nil
	}
	body, err := o.endBody(ctx, end)
	if err != nil {
		return false, err
	}
	o.batch.release = true
	return true, o.emit("", body)
}

func (o *owner) takeOutcomes(context.Context) error {
	o.mu.Lock()
	outs := o.outcomes
	o.outcomes = nil
	o.mu.Unlock()
	now := o.e.cfg.Clock.Now()
	for _, c := range o.calls {
		if late := c.giveUpAt(o.e.cfg.Grace); !late.IsZero() && !now.Before(late) && c.abandon() {
			outs = append(outs, outcome{call: c, abandoned: true})
		}
	}
	for _, out := range outs {
		if err := o.settleCall(out); err != nil {
			return err
		}
	}
	return nil
}

// giveUpAt is when the call is abandoned; zero for never, so far.
func (c *call) giveUpAt(grace time.Duration) time.Time {
	if c.giveUp.IsZero() && !c.expiry.IsZero() {
		return c.expiry.Add(grace)
	}
	return c.giveUp
}

func (o *owner) pendingOutcomes() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.outcomes) > 0
}

// expire decides, durably, that the run's wall time is over; and then, that the time
// is over too which its cleanups had.
func (o *owner) expire() error {
	st := o.m.State()
	now := o.e.now()
	if due := o.cleanupDeadline(); !due.IsZero() && !now.Before(due) {
		return o.emit("", &run.Decided{Node: run.CleanupTimeNode, Failure: &run.Failure{
			Code:    run.BudgetExceeded,
			Message: fmt.Sprintf("the time of %s for cleanups is over", time.Duration(st.Budget.CleanupMS)*time.Millisecond),
		}})
	}
	if st.Expired != nil || st.CancelRequested != "" || now.Before(st.Deadline(now)) {
		return nil
	}
	return o.emit("", &run.Decided{Node: run.WallTimeNode, Failure: &run.Failure{
		Code:    run.BudgetExceeded,
		Message: fmt.Sprintf("the run's wall time of %s is over", time.Duration(st.Budget.WallTimeMS)*time.Millisecond),
	}})
}

// cleanupDeadline is when the time of the cleanups that go on is over; zero for never.
func (o *owner) cleanupDeadline() time.Time {
	if !o.m.Cleaning() {
		return time.Time{}
	}
	return o.m.State().CleanupDeadline()
}

// abortCalls asks calls to return whose scope was cancelled, or all of them if
// the owner was told to abort.
func (o *owner) abortCalls() {
	now := o.e.cfg.Clock.Now()
	for _, id := range o.m.Aborts() {
		if c := o.calls[id]; c != nil {
			c.abort(errCancelled, now, o.e.cfg.Grace)
		}
	}
	if o.asked() == haltAbort {
		for _, c := range o.calls {
			c.abort(errGivenUp, now, o.e.cfg.Grace)
		}
	}
}

// suspendIfIdle gives the run up if nothing in it can move, or if the owner was
// asked to stop and no call is in flight.
func (o *owner) suspendIfIdle(ctx context.Context) (bool, error) {
	if len(o.calls) > 0 {
		return false, nil
	}
	var kind run.SuspensionKind
	switch {
	case o.asked() != haltNo:
		kind = run.KindStopped
	case o.m.Stuck():
		kind = run.KindInDoubt
	default:
		return false, nil
	}
	if err := o.suspend(kind, ""); err != nil {
		return false, err
	}
	o.batch.gated = true
	err := o.commit(ctx)
	if errors.Is(err, store.ErrMailWaiting) {
		if err := o.reload(ctx); err != nil {
			return false, err
		}
		o.signal()
		return false, nil
	}
	return err == nil, err
}

func (o *owner) suspend(kind run.SuspensionKind, panicMessage string) error {
	for _, ev := range o.state().SuspendBodies(kind) {
		if s, ok := ev.Body.(*run.Suspended); ok {
			s.Panic = panicMessage
		}
		if err := o.emit(ev.StepID, ev.Body); err != nil {
			return err
		}
	}
	o.batch.release = true
	return nil
}

// wait blocks until something may have changed. Signals of this owner's own
// commits come by changed too; mailPause keeps them from costing a look at the
// mailbox each.
func (o *owner) wait(changed <-chan struct{}) {
	for {
		select {
		case <-changed:
			o.mailPending = true
		default:
		}
		now := o.e.cfg.Clock.Now()
		if o.mailPending && now.Sub(o.mailAt) >= mailPause {
			return
		}
		if o.waitUntil(o.nextDue(now), now, changed) {
			return
		}
	}
}

// waitUntil blocks until there is something to do, or at last at due, unless that
// is zero; false if the store signalled a change.
func (o *owner) waitUntil(due, now time.Time, changed <-chan struct{}) bool {
	if !due.IsZero() {
		stop := o.e.cfg.Clock.AfterFunc(max(0, due.Sub(now)), o.signal)
		defer stop()
	}
	o.e.working(-1)
	select {
	case <-o.wake: // who signalled said that this owner works again
		return true
	case <-changed:
		o.e.working(+1)
		o.mailPending = true
		return false
	}
}

// nextDue is when the owner must act even if nothing happens.
func (o *owner) nextDue(now time.Time) time.Time {
	due := o.m.Wake()
	earlier := func(t time.Time) {
		if !t.IsZero() && (due.IsZero() || t.Before(due)) {
			due = t
		}
	}
	if st := o.m.State(); st.Expired == nil && st.CancelRequested == "" {
		earlier(st.Expiry(now))
	}
	earlier(o.cleanupDeadline())
	for _, c := range o.calls {
		earlier(c.giveUpAt(o.e.cfg.Grace))
	}
	if o.mailPending {
		earlier(o.mailAt.Add(mailPause))
	}
	if o.withheld {
		earlier(now.Add(ownerPoll))
	}
	return due
}
