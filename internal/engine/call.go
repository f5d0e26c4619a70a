package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/culm-dev/culm/internal/proc"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// Causes with which a call's context is cancelled.
var (
	errTimeout   = errors.New("the attempt's timeout passed")
	errCancelled = errors.New("the call's scope was cancelled")
	errGivenUp   = errors.New("the call's owner gave the run up")
)

// call is one tool call in flight.
type call struct {
	o       *owner
	step    *workflow.StepInfo
	tool    tool.Tool
	effect  tool.Effect
	req     tool.Call
	live    *liveOutput   // nil if nobody listens
	timeout time.Duration // of the attempt; 0 for none

	ctx    context.Context
	cancel context.CancelCauseFunc
	// giveUp is when the call is abandoned: zero until it is asked to return.
	giveUp time.Time
	expiry time.Time // when the timeout passes; zero for none

	mu        sync.Mutex
	returned  bool
	abandoned bool
	lock      *proc.FileLock // tells other processes that the abandoned call still runs
}

// outcome is what a call came to.
type outcome struct {
	call *call
	res  tool.Result
	err  error
	// abandoned: the call ignored its context beyond its grace.
	abandoned bool
}

// dispatch starts the call. Its start is durable.
func (c *call) dispatch() {
	ctx, cancel := context.WithCancelCause(context.Background())
	c.ctx, c.cancel = ctx, cancel
	if c.timeout > 0 {
		c.expiry = c.o.e.cfg.Clock.Now().Add(c.timeout)
		timed, stop := c.o.e.withTimeout(ctx, c.timeout, errTimeout)
		c.ctx, c.cancel = timed, func(cause error) { cancel(cause); stop() }
	}
	c.o.calls[c.req.StepID] = c
	c.o.e.working(+1)
	go c.run()
}

func (c *call) run() {
	defer c.o.e.working(-1)
	out := outcome{call: c}
	out.res, out.err = c.invoke()
	c.live.end()
	c.mu.Lock()
	c.returned = true
	abandoned := c.abandoned
	c.mu.Unlock()
	if !abandoned {
		c.o.deliver(out)
		return
	}
	c.o.e.lateAnswer(c, out)
	if c.o.e.owner(c.o.id) == nil {
		c.o.e.releaseLog(c.o.id)
	}
}

// invoke calls the tool; a panic is an error of which nothing is known.
func (c *call) invoke() (res tool.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.o.e.cfg.Logger.Error("tool panicked", "tool", c.step.Def.Tool, "step", c.req.StepID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("tool %s panicked: %v", c.step.Def.Tool, p)
		}
	}()
	return c.tool.Call(c.ctx, c.req)
}

// abort asks the call to return, says why, and sets its grace.
func (c *call) abort(why error, now time.Time, grace time.Duration) {
	if !c.giveUp.IsZero() {
		return
	}
	c.giveUp = now.Add(grace)
	c.cancel(why)
}

// abandon stops waiting for the call; false if it has returned meanwhile. What it
// returns later is posted to the mailbox.
func (c *call) abandon() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.returned {
		return false
	}
	c.abandoned = true
	c.lock = holdLock(c.req.LockPath)
	e := c.o.e
	e.abandoned.add(c.o.id, c.req.StepID, 1)
	e.cfg.Logger.Warn("tool ignores that it was cancelled; its call is abandoned", "tool", c.step.Def.Tool, "run", c.o.id, "step", c.req.StepID)
	return true
}

// holdLock takes the step's lock if nobody has it: processes of the step do.
func holdLock(path string) *proc.FileLock {
	if path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil
	}
	lock, err := proc.OpenFileLock(path)
	if err != nil {
		return nil
	}
	if ok, err := lock.TryLock(); err != nil || !ok {
		lock.Close()
		return nil
	}
	return lock
}

// cause is why the call was asked to return; nil if it was not.
func (c *call) cause() error { return context.Cause(c.ctx) }

// lockPath is where the step's processes say that they live; "" without locks.
func (e *Engine) lockPath(runID, stepID string) string {
	if e.cfg.LockDir == "" {
		return ""
	}
	return proc.StepLockPath(e.cfg.LockDir, runID, stepID)
}

// stillRunning reports whether an earlier call of the step may still be at work:
// its processes hold the step's lock, or it was abandoned in this process.
func (e *Engine) stillRunning(runID, stepID string) (bool, error) {
	if e.abandoned.has(runID, stepID) {
		return true, nil
	}
	path := e.lockPath(runID, stepID)
	if path == "" {
		return false, nil
	}
	return proc.StepLockHeld(path)
}

// reason of a step_suspended that a live owner writes.
const reasonUnknown = string(run.OutcomeUnknown)
