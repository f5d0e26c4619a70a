package rehearsal

import (
	"context"
	"sync"
)

// Gate is something that calls wait for until it is opened, which it stays.
type Gate struct {
	mu      sync.Mutex
	open    bool
	waiting []func() // let each call that waits go on when it is its turn
}

// NewGate makes a closed one.
func NewGate() *Gate { return &Gate{} }

// Open lets the calls that wait for it go on. Opening it again changes nothing.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = true
	for _, release := range g.waiting {
		release()
	}
	g.waiting = nil
}

// await blocks a call until the gate is open, ctx ends, or over says so.
func (c *Clock) await(ctx context.Context, g *Gate, step string, over func() bool) {
	g.mu.Lock()
	if g.open {
		g.mu.Unlock()
		return
	}
	c.mu.Lock()
	p := c.newWait(ctx, step, over)
	c.add(p)
	c.work(-1)
	c.mu.Unlock()
	g.waiting = append(g.waiting, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		p.at = c.now
		c.stir()
	})
	g.mu.Unlock()
	<-p.woken
}
