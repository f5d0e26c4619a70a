package engine

import (
	"context"
	"time"
)

// Clock is the engine's time: what events record, and when what was waited for
// is due. It is safe for concurrent use.
type Clock interface {
	// Now is the present time. Differences of two of them are how long it took:
	// the system's clock gives readings that setting the clock does not move.
	Now() time.Time
	// AfterFunc calls f once d has passed, on a goroutine of the clock's choice. f
	// returns soon. stop reports whether it came before f was called.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// tracker is a [Clock] that wants to know when nothing can happen before its time
// passes. It is told by how many the goroutines of the engine that are at work,
// or about to be, have become more or fewer: owners and tool calls. Callers of
// the engine are not among them.
type tracker interface {
	Working(delta int)
}

// system is the clock of the operating system.
type system struct{}

func (system) Now() time.Time { return time.Now() }

func (system) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

// working tells the clock, if it wants to know.
func (e *Engine) working(delta int) {
	if e.tracker != nil {
		e.tracker.Working(delta)
	}
}

// alarm rings once, after d, unless it is stopped before.
func (e *Engine) alarm(d time.Duration) (rings <-chan struct{}, stop func() bool) {
	c := make(chan struct{})
	return c, e.cfg.Clock.AfterFunc(d, func() { close(c) })
}

// pause blocks an owner for d.
func (e *Engine) pause(d time.Duration) {
	over := make(chan struct{})
	e.cfg.Clock.AfterFunc(d, func() {
		e.working(+1)
		close(over)
	})
	e.working(-1)
	<-over
}

// withTimeout is a context that ends with cause after d. On a clock that is not
// the system's it has no deadline, since whoever reads one compares it with the
// system's time.
func (e *Engine) withTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	if _, ok := e.cfg.Clock.(system); ok {
		return context.WithTimeoutCause(ctx, d, cause)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := e.cfg.Clock.AfterFunc(d, func() { cancel(cause) })
	return ctx, func() {
		stop()
		cancel(context.Canceled)
	}
}
