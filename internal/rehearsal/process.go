package rehearsal

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/memory"
	"github.com/culm-dev/culm/tool"
)

// process is one engine with its own handle on the disk, as processes have.
type process struct {
	world  *World
	number int // from 1
	store  *handle
	engine *culm.Engine
	dead   atomic.Bool
}

// handle is a process's way to the disk, on which it may die.
type handle struct {
	*memory.Store
	p *process
}

// Commit dies before or after the commit if the world says so.
func (h *handle) Commit(ctx context.Context, b *store.Batch) error {
	if h.p.world.dies(h.p, b, true) {
		h.p.kill()
		return fmt.Errorf("commit: %w", store.ErrClosed)
	}
	if err := h.Store.Commit(ctx, b); err != nil {
		return err
	}
	if h.p.world.dies(h.p, b, false) {
		h.p.kill()
		return fmt.Errorf("commit: %w", store.ErrClosed)
	}
	return nil
}

// kill lets the process die: nothing it does from now on is seen by anyone.
func (p *process) kill() {
	p.dead.Store(true)
	p.store.Abandon()
}

// begin notes that a call begins, and which of its step it is, from 1; nil if the
// process is dead, and so makes no calls.
func (p *process) begin(name string, effect tool.Effect, c tool.Call) (call *Call, n int) {
	w := p.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.dead.Load() {
		return nil, 0
	}
	call = &Call{
		Tool: name, Effect: effect, RunID: c.RunID, Step: c.StepID, Attempt: c.Attempt, Key: c.IdempotencyKey,
		Args: c.Args, Process: p.number, Began: w.clock.Now(), Outcome: Running,
	}
	w.calls.made = append(w.calls.made, call)
	return call, w.calls.recorded[place{c.RunID, c.StepID}] + 1
}

// appended are the events of a batch.
func appended(b *store.Batch) (events []run.Event) {
	for _, a := range b.Appends {
		for _, line := range a.Events {
			if ev, err := run.Decode(line); err == nil {
				events = append(events, ev)
			}
		}
	}
	return events
}
