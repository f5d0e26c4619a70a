package rehearsal

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Epoch is when a world begins unless it is told otherwise.
func Epoch() time.Time { return time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Clock is a time that stands still while anything is at work, and moves only
// when [Clock.Step] is called: to the next thing that is due, one at a time and in
// an order that does not depend on the machine. It is safe for concurrent use.
type Clock struct {
	mu      sync.Mutex
	quiet   *sync.Cond // nothing is at work
	now     time.Time
	working int // owners and calls of the engine that are not waiting
	plans   []*plan
	made    int
	stirred chan struct{} // capacity 1: something was planned or began to work
}

// plan is something that is to happen, or a call that waits for it.
type plan struct {
	at   time.Time // zero: not by time alone
	step string    // of a call: its step instance
	seq  int
	fire func() // nil for a call

	woken chan struct{}
	over  func() bool // the call is not to wait any longer
}

// NewClock makes a clock that shows a time.
func NewClock(now time.Time) *Clock {
	c := &Clock{now: now, stirred: make(chan struct{}, 1)}
	c.quiet = sync.NewCond(&c.mu)
	return c
}

// Now is the time that it shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc lets Step call f when d has passed, on the goroutine that calls Step.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &plan{at: c.now.Add(max(0, d)), fire: f}
	c.add(p)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.remove(p)
	}
}

// Working is told by how many those at work have become more or fewer.
func (c *Clock) Working(delta int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.work(delta)
}

func (c *Clock) work(delta int) {
	c.working += delta
	if c.working == 0 {
		c.quiet.Broadcast()
	}
	c.stir()
}

func (c *Clock) stir() {
	select {
	case c.stirred <- struct{}{}:
	default:
	}
}

// Settle blocks until nothing more can happen without time passing. Calls that
// were cancelled meanwhile return, one after the other.
func (c *Clock) Settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for c.working > 0 {
			c.quiet.Wait()
		}
		i := c.first(func(p *plan) bool { return p.over != nil && p.over() })
		if i < 0 {
			return
		}
		c.wake(c.plans[i])
	}
}

// Step lets the next thing happen that is due no later than limit, at its time;
// false if there is none. A zero limit is none. It is to be called when everything
// has settled, by one goroutine at a time.
func (c *Clock) Step(limit time.Time) bool {
	c.mu.Lock()
	i := c.first(func(p *plan) bool {
		return !p.at.IsZero() && (limit.IsZero() || !p.at.After(limit))
	})
	if i < 0 {
		c.mu.Unlock()
		return false
	}
	p := c.plans[i]
	if p.at.After(c.now) {
		c.now = p.at
	}
	if p.fire == nil {
		c.wake(p)
		c.mu.Unlock()
		return true
	}
	c.remove(p)
	c.mu.Unlock()
	p.fire()
	return true
}

// Forward sets the time, if nothing is planned before it.
func (c *Clock) Forward(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if to.After(c.now) {
		c.now = to
	}
}

// Blocked are the steps whose calls wait for more than time, sorted.
func (c *Clock) Blocked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var steps []string
	for _, p := range c.plans {
		if p.at.IsZero() {
			steps = append(steps, p.step)
		}
	}
	slices.Sort(steps)
	return steps
}

// sleep blocks a call for d, at least until its turn comes: calls that end at the
// same time do so in the order of their steps. It returns early once ctx ends, or
// what over says.
func (c *Clock) sleep(ctx context.Context, step string, d time.Duration, over func() bool) {
	c.mu.Lock()
	p := c.newWait(ctx, step, over)
	p.at = c.now.Add(max(0, d))
	c.add(p)
	c.work(-1)
	c.mu.Unlock()
	<-p.woken
}

func (c *Clock) newWait(ctx context.Context, step string, over func() bool) *plan {
	return &plan{
		step: step, woken: make(chan struct{}),
		over: func() bool { return ctx.Err() != nil || over() },
	}
}

func (c *Clock) add(p *plan) {
	c.made++
	p.seq = c.made
	c.plans = append(c.plans, p)
	c.stir()
}

func (c *Clock) remove(p *plan) bool {
	i := slices.Index(c.plans, p)
	if i >= 0 {
		c.plans = slices.Delete(c.plans, i, i+1)
	}
	return i >= 0
}

// wake lets a waiting call go on; it works from this moment.
func (c *Clock) wake(p *plan) {
	c.remove(p)
	c.work(+1)
	close(p.woken)
}

// first is the first of the plans that satisfy a condition: by time, calls before
// timers, by step, by age. -1 if none does.
func (c *Clock) first(want func(*plan) bool) int {
	found := -1
	for i, p := range c.plans {
		if want(p) && (found < 0 || compare(p, c.plans[found]) < 0) {
			found = i
		}
	}
	return found
}

func compare(a, b *plan) int {
	isTimer := func(p *plan) int {
		if p.fire != nil {
			return 1
		}
		return 0
	}
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(isTimer(a), isTimer(b)), cmp.Compare(a.step, b.step), cmp.Compare(a.seq, b.seq))
}
