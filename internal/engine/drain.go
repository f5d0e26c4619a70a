package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// drain ends an ownership that broke: calls in flight are cancelled and awaited
// for their grace, and what they came to is recorded if the store still takes it.
func (o *owner) drain(ctx context.Context, cause error) {
	outs := o.awaitCalls()
	message := ""
	var broke *panicked
	if errors.As(cause, &broke) {
		message = broke.message
	}
	for pause := firstPause; !hopeless(cause); pause = min(2*pause, longestPause) {
		cause = o.guarded(func() error { return o.recordDrained(ctx, outs, message) })
		if cause == nil {
			return
		}
		o.e.cfg.Logger.Error("run could not be suspended", "run", o.id, "error", cause)
		if errors.As(cause, &broke) || o.asked() != haltNo {
			return
		}
		// A full disk is emptied some day; until then the run has an owner, and says so.
		stop := o.e.cfg.Clock.AfterFunc(pause, o.signal)
		o.e.working(-1)
		<-o.wake
		stop()
	}
}

// Pauses between attempts to record that a run was given up.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
)

// hopeless reports whether this owner can record nothing any more.
func hopeless(err error) bool {
	var damaged *store.DamagedError
	return errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrPoisoned) || errors.Is(err, store.ErrNotOwner) ||
		errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) || errors.As(err, &damaged)
}

// awaitCalls cancels the calls in flight and collects what they came to.
func (o *owner) awaitCalls() []outcome {
	now := o.e.cfg.Clock.Now()
	for _, c := range o.calls {
		c.abort(errGivenUp, now, o.e.cfg.Grace)
	}
	outs := o.batch.replay
	var late atomic.Bool
	stop := o.e.cfg.Clock.AfterFunc(o.e.cfg.Grace, func() {
		late.Store(true)
		o.signal()
	})
	defer stop()
	for {
		o.mu.Lock()
		outs = append(outs, o.outcomes...)
		o.outcomes = nil
		o.mu.Unlock()
		for _, out := range outs {
			delete(o.calls, out.call.req.StepID)
		}
		if len(o.calls) == 0 {
			return outs
		}
		o.e.working(-1)
		<-o.wake
		if !late.Load() {
			continue
		}
		for id, c := range o.calls { // who has returned meanwhile is about to deliver
			if c.abandon() {
				outs = append(outs, outcome{call: c, abandoned: true})
				delete(o.calls, id)
			}
		}
	}
}

// recordDrained records outcomes and the suspension without asking the kernel,
// which is what broke.
func (o *owner) recordDrained(ctx context.Context, outs []outcome, message string) error {
	l, err := o.e.load(ctx, o.id, keepNothing)
	if err != nil {
		return err
	}
	o.m, o.st = nil, l.st
	o.durable = l.st.Last
	o.batch = batch{}
	clear(o.vals.pending)
	for _, out := range outs {
		rec := o.st.Steps[out.call.req.StepID]
		if rec == nil || rec.Status != run.StatusStepRunning {
			continue
		}
		if err := o.settleCall(out); err != nil {
			return err
		}
	}
	if err := o.commit(ctx); err != nil {
		return err
	}
	if err := o.suspend(run.KindRecovery, message); err != nil {
		return err
	}
	return o.commit(ctx)
}
