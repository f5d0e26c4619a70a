package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
)

// Engine runs workflows over one store. Its methods are safe for concurrent use.
type Engine struct {
	cfg     Config
	store   store.Store
	tools   *tool.Registry
	tracker tracker // the clock, if it is one; else nil

	mu     sync.Mutex
	live   map[string]*owner // runs that this engine works on
	closed bool
	loops  sync.WaitGroup // of owners

	abandoned abandoned
	programs  programs
	identity  identity
}

// Open makes an engine over a store, which stays the caller's to close, after
// the engine was closed, unless cfg says otherwise.
func Open(_ context.Context, st store.Store, cfg Config) (*Engine, error) {
	reg, err := tool.NewRegistry(cfg.Tools...)
	if err != nil {
		err = fmt.Errorf("open engine: %w", err)
		if cfg.CloseStore {
			err = errors.Join(err, st.Close())
		}
		return nil, err
	}
	e := &Engine{
		cfg:   cfg.withDefaults(),
		store: st,
		tools: reg,
		live:  make(map[string]*owner),
	}
	e.tracker, _ = e.cfg.Clock.(tracker)
	return e, nil
}

// now is the time as events record it: UTC, microseconds.
func (e *Engine) now() time.Time { return e.cfg.Clock.Now().UTC().Truncate(time.Microsecond) }

// adopt registers an owner; false if the engine is closed.
func (e *Engine) adopt(o *owner) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.live[o.id] = o
	e.loops.Add(1)
	return true
}

// closedRefusal refuses what would begin work that this engine can no longer do.
func (e *Engine) closedRefusal() *Error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		return nil
	}
	return refuse(CodeClosed, "the engine is closed")
}

func (e *Engine) disown(o *owner) {
	e.mu.Lock()
	if e.live[o.id] == o {
		delete(e.live, o.id)
	}
	e.mu.Unlock()
	e.loops.Done()
}

func (e *Engine) owner(runID string) *owner {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.live[runID]
}

func (e *Engine) owners() []*owner {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]*owner, 0, len(e.live))
	for _, o := range e.live {
		all = append(all, o)
	}
	return all
}

// Stop asks every live run of this engine to dispatch nothing new, waits for the
// calls in flight, and suspends the runs as stopped. It returns when that is
// durable, or with ctx's error while it still goes on. The engine stays open.
func (e *Engine) Stop(ctx context.Context) error {
	owners := e.owners()
	for _, o := range owners {
		o.stop()
	}
	for _, o := range owners {
		select {
		case <-o.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close stops every live run as Stop does. When ctx ends first, calls in flight
// are cancelled and, after their grace, abandoned; their runs are suspended with
// those steps in doubt where the outcome is unknown. The error counts tools that
// ignored their context and still run in this process.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	if err := e.Stop(ctx); err != nil {
		for _, o := range e.owners() {
			o.abort()
		}
	}
	e.loops.Wait()
	var err error
	if n := e.abandoned.count(); n > 0 {
		err = fmt.Errorf("close engine: %d tool calls ignored their context and are still running", n)
	}
	if e.cfg.CloseStore {
		err = errors.Join(err, e.store.Close())
	}
	return err
}

// abandoned are calls that ignored their context and still run.
type abandoned struct {
	mu    sync.Mutex
	calls map[string]int // by run and step
}

func (a *abandoned) add(runID, step string, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls == nil {
		a.calls = make(map[string]int)
	}
	key := runID + " " + step
	a.calls[key] += n
	if a.calls[key] <= 0 {
		delete(a.calls, key)
	}
}

func (a *abandoned) has(runID, step string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls[runID+" "+step] > 0
}

func (a *abandoned) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, c := range a.calls {
		n += c
	}
	return n
}
