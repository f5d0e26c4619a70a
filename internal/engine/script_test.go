package engine_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/culm-dev/culm/internal/testkit/effectlog"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
)

// behaviour is what a tool does when a step calls it.
type behaviour func(ctx context.Context, c tool.Call) (tool.Result, error)

// script says what the tools read, idem and write do, by step instance, and
// remembers what was called. A step that it says nothing of returns its own id.
type script struct {
	mu    sync.Mutex
	does  map[string]behaviour
	calls []tool.Call
	log   []effectlog.Line // of calls
	gates []*gate
	extra []tool.Tool
}

func newScript() *script { return &script{does: make(map[string]behaviour)} }

func (s *script) on(step string, b behaviour) *script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.does[step] = b
	return s
}

// tools are one of each effect.
func (s *script) tools() []tool.Tool {
	return append([]tool.Tool{
		scripted{s, tool.Spec{Name: "read", Effect: tool.Read}},
		scripted{s, tool.Spec{Name: "idem", Effect: tool.Idempotent}},
		scripted{s, tool.Spec{Name: "write", Effect: tool.Write}},
	}, s.extra...)
}

// called lists the steps that were called, in order; those named only, if any are.
func (s *script) called(steps ...string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, c := range s.calls {
		if len(steps) == 0 || slices.Contains(steps, c.StepID) {
			ids = append(ids, c.StepID)
		}
	}
	return ids
}

// made are the calls.
func (s *script) made() []tool.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

type scripted struct {
	s    *script
	spec tool.Spec
}

func (t scripted) Spec() tool.Spec { return t.spec }

func (t scripted) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	t.s.mu.Lock()
	t.s.calls = append(t.s.calls, c)
	t.s.log = append(t.s.log, effectlog.Line{Run: c.RunID, Step: c.StepID, Attempt: c.Attempt, Key: c.IdempotencyKey, At: time.Now()})
	do := t.s.does[c.StepID]
	t.s.mu.Unlock()
	if do == nil {
		return tool.Text(c.StepID), nil
	}
	return do(ctx, c)
}

// gate is something that a tool waits for.
type gate struct {
	once sync.Once
	ch   chan struct{}
}

func (g *gate) open() { g.once.Do(func() { close(g.ch) }) }

// gate makes one; it is opened at the latest when the process ends.
func (s *script) gate() *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &gate{ch: make(chan struct{})}
	s.gates = append(s.gates, g)
	return g
}

func (s *script) releaseAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.gates {
		g.open()
	}
}

var errPlain = errors.New("connection reset")

func gives(output string) behaviour {
	return func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Output: []byte(output)}, nil
	}
}

func fails(err error) behaviour {
	return func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, err }
}

func definite(retryable bool) behaviour { return fails(tool.Failed("", retryable, "said no")) }

func panics(context.Context, tool.Call) (tool.Result, error) { panic("tool is broken") }

// untilCancelled waits for its context, and then does what then does; it gives
// the context's error if then is nil.
func untilCancelled(then behaviour) behaviour {
	return func(ctx context.Context, c tool.Call) (tool.Result, error) {
		<-ctx.Done()
		if then == nil {
			return tool.Result{}, ctx.Err()
		}
		return then(ctx, c)
	}
}

// deaf ignores its context until the gate opens.
func deaf(g *gate, then behaviour) behaviour {
	return func(ctx context.Context, c tool.Call) (tool.Result, error) {
		<-g.ch
		return then(ctx, c)
	}
}

// times does the n-th behaviour at the n-th call, and the last one ever after.
func times(bs ...behaviour) behaviour {
	var mu sync.Mutex
	n := 0
	return func(ctx context.Context, c tool.Call) (tool.Result, error) {
		mu.Lock()
		b := bs[min(n, len(bs)-1)]
		n++
		mu.Unlock()
		return b(ctx, c)
	}
}

// handle is a store's handle that tests can watch, refuse and kill.
type handle struct {
	store.Store
	store.Keeper
	mu      sync.Mutex
	commits int
	before  func(*store.Batch) error // an error refuses the batch, which leaves no trace
	after   func(*store.Batch)       // once it is durable, before the committer hears of it
	dead    bool
}

func (h *handle) Commit(ctx context.Context, b *store.Batch) error {
	h.mu.Lock()
	before, after := h.before, h.after
	h.commits++
	h.mu.Unlock()
	if before != nil {
		if err := before(b); err != nil {
			return err
		}
	}
	if err := h.Store.Commit(ctx, b); err != nil {
		return err
	}
	if after != nil {
		after(b)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dead {
		return store.ErrClosed
	}
	return nil
}

// count is how many commits were asked for.
func (h *handle) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.commits
}

// hook sets what is asked before and told after commits.
func (h *handle) hook(before func(*store.Batch) error, after func(*store.Batch)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.before, h.after = before, after
}

func (h *handle) kill() {
	h.mu.Lock()
	h.dead = true
	h.mu.Unlock()
	if m, ok := h.Store.(interface{ Abandon() }); ok {
		m.Abandon()
		return
	}
	_ = h.Store.Close()
}
