package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/memory"
	"github.com/culm-dev/culm/tool"
)

// World is what processes share: a disk, a time, and the tools outside. At any
// moment one process at most is alive in it. All methods but those of [Clock],
// [Gate] and [Script] are for one goroutine at a time.
type World struct {
	cfg   culm.Config
	clock *Clock
	disk  *memory.Disk

	authority *run.Authority // of processes; nil leaves it to cfg
	process   *process       // the latest; nil before the first
	processes int

	mu      sync.Mutex // guards what follows
	scripts []*Script
	calls   calls
	commits []Commit
	crashes []*armed
}

// New makes a world that begins at a time; zero is [Epoch]. Its engines work as
// cfg says, with a clock of the world's own; without an authority they may do
// everything that their tools can.
func New(cfg culm.Config, begin time.Time) *World {
	if begin.IsZero() {
		begin = Epoch()
	}
	w := &World{cfg: cfg, clock: NewClock(begin), disk: memory.New()}
	w.disk.Clock(w.clock.Now)
	return w
}

// Add adds a scripted tool, in place of any other of that name. It counts for
// processes that are started after it.
func (w *World) Add(s *Script) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scripts = append(slices.DeleteFunc(w.scripts, func(other *Script) bool { return other.spec.Name == s.spec.Name }), s)
}

// Use adds real tools. It counts for processes that are started after it.
func (w *World) Use(tools ...tool.Tool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cfg.Tools = slices.Concat(w.cfg.Tools, tools)
}

// Clock is the world's time.
func (w *World) Clock() *Clock { return w.clock }

// Engine is the living process's engine. If there is none, one is started: it
// finds what the one before left behind.
func (w *World) Engine() (*culm.Engine, error) {
	if err := w.reap(); err != nil {
		return nil, err
	}
	if w.process != nil {
		return w.process.engine, nil
	}
	w.processes++
	p := &process{world: w, number: w.processes}
	p.store = &handle{Store: w.disk.Open(), p: p}
	cfg := w.cfg
	cfg.Clock, cfg.CloseStore = w.clock, true
	cfg.Tools = w.tools(p)
	switch {
	case w.authority != nil:
		cfg.Authority = *w.authority
	case !cfg.Authority.Trusted && cfg.Authority.Allow == nil:
		cfg.Authority = Everything(cfg.Tools)
	}
	var err error
	if p.engine, err = culm.Open(context.Background(), p.store, cfg); err != nil {
		return nil, err
	}
	w.process = p
	return p.engine, nil
}

// tools are the scripted ones, and the real ones for which there is no script.
func (w *World) tools(p *process) []tool.Tool {
	w.mu.Lock()
	defer w.mu.Unlock()
	var tools []tool.Tool
	for _, s := range w.scripts {
		tools = append(tools, s.tool(p))
	}
	for _, t := range w.cfg.Tools {
		name := t.Spec().Name
		if !slices.ContainsFunc(w.scripts, func(s *Script) bool { return s.spec.Name == name }) {
			tools = append(tools, observe(t, p))
		}
	}
	return tools
}

// Authorize sets what processes that are started from now on may do, be it nothing.
func (w *World) Authorize(a run.Authority) { w.authority = &a }

// Everything is the authority to do what those tools can.
func Everything(tools []tool.Tool) run.Authority {
	allow := []string{tool.CapRead, tool.CapWrite, tool.CapExec, tool.CapNet}
	for _, t := range tools {
		if c := t.Spec().Capability; c != "" {
			allow = append(allow, c)
		}
	}
	slices.Sort(allow)
	return run.Authority{Trusted: true, Allow: slices.Compact(allow)}
}

// DiedError says that the process died before a run was recorded.
type DiedError struct{}

func (*DiedError) Error() string { return "the process died before the run was recorded" }

// Start starts a run. If the process dies of it, the view is what it left, and
// the error is a [DiedError] if that is nothing.
func (w *World) Start(ctx context.Context, s culm.Start) (*run.View, error) {
	e, err := w.Engine()
	if err != nil {
		return nil, err
	}
	before := w.recorded()
	v, err := e.Start(ctx, s)
	if !w.process.dead.Load() || err == nil {
		return v, err
	}
	if w.recorded() == before {
		return nil, &DiedError{}
	}
	if e, err = w.Engine(); err != nil {
		return nil, err
	}
	page, err := e.List(ctx, store.Query{Limit: 1})
	if err != nil {
		return nil, err
	}
	return w.View(ctx, page.Runs[0].RunID)
}

// recorded is how many runs there are.
func (w *World) recorded() int {
	n := 0
	for _, c := range w.Commits() {
		n += len(slices.DeleteFunc(slices.Clone(c.Events), func(ev run.Event) bool { return ev.Type != run.TypeQueued }))
	}
	return n
}

// View is the run with its values.
func (w *World) View(ctx context.Context, runID string) (*run.View, error) {
	e, err := w.Engine()
	if err != nil {
		return nil, err
	}
	return e.Progress(ctx, runID, culm.ProgressOptions{Values: true, Session: culm.AnySession})
}

// StalledError says that nothing can happen any more in a world.
type StalledError struct {
	Blocked []string // steps whose calls wait for a gate
}

func (e *StalledError) Error() string {
	if len(e.Blocked) == 0 {
		return "the run has not come to rest, and nothing is left that could happen"
	}
	return fmt.Sprintf("the run has not come to rest, and nothing can happen before the calls of %s are let go on", strings.Join(e.Blocked, ", "))
}

// Wait lets everything happen, and time pass where nothing else does, until the
// run has come to rest: it has ended, is suspended, or has lost its owner.
func (w *World) Wait(ctx context.Context, runID string) (*run.View, error) {
	for {
		w.clock.Settle()
		if _, err := w.Engine(); err != nil { // the next one, if it has died
			return nil, err
		}
		head, err := w.process.store.Head(ctx, runID)
		if err != nil {
			return w.View(ctx, runID) // which says it in the engine's words
		}
		status := run.Status(head.Row.Status)
		if status.Terminal() || status == run.StatusSuspended || !head.Owner.Alive {
			return w.View(ctx, runID)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !w.clock.Step(time.Time{}) {
			return nil, &StalledError{Blocked: w.clock.Blocked()}
		}
	}
}

// Settle lets everything happen that can without time passing: calls that take no
// time return.
func (w *World) Settle() error { return w.Advance(0) }

// Advance lets everything happen that is due within d, and moves the time by d.
// If the process dies meanwhile, it still does so.
func (w *World) Advance(d time.Duration) error {
	to := w.clock.Now().Add(d)
	for {
		w.clock.Settle()
		if err := w.reap(); err != nil {
			return err
		}
		if !w.clock.Step(to) {
			w.clock.Forward(to)
			return nil
		}
	}
}

// Drive runs f, on a goroutine, and lets time pass whenever nothing else happens
// until f returns. f may call an engine; it is not known to be at work while it
// does anything else, so that time may pass meanwhile.
func (w *World) Drive(f func()) {
	w.during(f, func() bool { return w.clock.Step(time.Time{}) })
}

// during runs f, and does next each time that nothing else can happen; next
// reports whether it did anything.
func (w *World) during(f func(), next func() bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	for {
		w.clock.Settle()
		select {
		case <-done:
			return
		default:
		}
		if next() {
			continue
		}
		select {
		case <-done:
			return
		case <-w.clock.stirred:
		}
	}
}

// Crash lets the process die now. Without one it does nothing.
func (w *World) Crash() error {
	if w.process != nil {
		w.process.kill()
	}
	return w.reap()
}

// reap lets what is left of a dead process come to its end, unseen.
func (w *World) reap() error {
	p := w.process
	if p == nil || !p.dead.Load() {
		return nil
	}
	w.process = nil
	return w.closeEngine(p)
}

// closeEngine ends an engine at the present time: its calls are cancelled.
func (w *World) closeEngine(p *process) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var err error
	w.during(func() { err = p.engine.Close(ctx) }, func() bool { return false })
	if errors.Is(err, store.ErrClosed) {
		return nil
	}
	return err
}

// Close ends the living process. The error names real tools that still run.
func (w *World) Close() error {
	if err := w.reap(); err != nil || w.process == nil {
		return err
	}
	p := w.process
	w.process = nil
	return w.closeEngine(p)
}

// Calls are the calls of tools so far, in order.
func (w *World) Calls() []Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]Call, len(w.calls.made))
	for i, c := range w.calls.made {
		all[i] = *c
	}
	return all
}

// Unscripted are the calls that no script foresaw, in words.
func (w *World) Unscripted() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls.unscripted)
}

// Commits are the commits so far that held events.
func (w *World) Commits() []Commit {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.commits)
}

// Processes is how many processes there have been.
func (w *World) Processes() int { return w.processes }

// ended takes what a call came to.
func (w *World) ended(call *Call) func(tool.Result, error) (tool.Result, error) {
	return func(res tool.Result, err error) (tool.Result, error) {
		outcome := Returned
		var definite *tool.Failure
		switch {
		case errors.As(err, &definite):
			outcome = Failed
		case err != nil:
			outcome = Unknown
		}
		w.end(call, outcome, res, err)
		return res, err
	}
}

func (w *World) end(call *Call, outcome Outcome, res tool.Result, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	call.Outcome, call.Output, call.Err, call.Ended = outcome, res.Output, err, w.clock.Now()
}
