package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

// rounds bounds how often an operator goes on with one run.
const rounds = 100

// Operator is who sees runs to their end: it recovers what a dead process left,
// decides on steps in doubt as far as it can, and continues the run; calls that may
// be repeated are.
type Operator struct {
	// Knows: it knows what was done, and decides by that.
	Knows bool
	// Verdicts are what it says where it does not know, by step instance or step.
	Verdicts map[string]culm.Resolution

	used map[string]bool
}

// Unused are the verdicts that were never asked for, sorted.
func (o *Operator) Unused() []string {
	var steps []string
	for step := range o.Verdicts {
		if !o.used[step] {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	return steps
}

// Operate returns the run when it has ended, or when the operator can do nothing
// more for it: it is then suspended.
func (w *World) Operate(ctx context.Context, runID string, o *Operator) (*run.View, error) {
	for range rounds {
		v, err := w.Wait(ctx, runID)
		if err != nil || v.Status.Terminal() {
			return v, err
		}
		over, err := w.goOn(ctx, v, o)
		if err != nil && !w.died() {
			return nil, err
		}
		if over && !w.died() {
			return w.View(ctx, runID)
		}
	}
	return nil, fmt.Errorf("the run has not come to an end after %d continues", rounds)
}

// See starts a run, again if the process died before it was recorded, and operates
// it. The view is nil if there is no run.
func (w *World) See(ctx context.Context, s culm.Start, o *Operator) (*run.View, error) {
	v, err := w.Start(ctx, s)
	var died *DiedError
	if errors.As(err, &died) {
		v, err = w.Start(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	return w.Operate(ctx, v.RunID, o)
}

// died reports whether the process that was last started is dead.
func (w *World) died() bool { return w.process == nil || w.process.dead.Load() }

// goOn brings a run on that rests; over if nobody can who knows no more.
func (w *World) goOn(ctx context.Context, v *run.View, o *Operator) (over bool, err error) {
	e, err := w.Engine()
	if err != nil {
		return false, err
	}
	if v.Status != run.StatusSuspended {
		if v, err = e.RecoverRun(ctx, v.RunID); err != nil {
			return false, fmt.Errorf("recover run: %w", err)
		}
	}
	again := culm.ContinueOptions{Session: culm.AnySession, Rerun: []tool.Effect{tool.Read, tool.Idempotent}}
	_, err = e.Continue(ctx, v.RunID, again)
	var refused *culm.Error
	if errors.As(err, &refused) && refused.Code == culm.CodeStepInDoubt {
		steps, _ := refused.Details["steps"].([]string)
		if decided, err := w.decide(ctx, e, o, v.RunID, steps); err != nil || !decided {
			return !decided, err
		}
		_, err = e.Continue(ctx, v.RunID, again)
	}
	switch {
	case errors.Is(err, &culm.Error{Code: culm.CodeTerminal}): // a verdict ended it
		return false, nil
	case errors.Is(err, &culm.Error{Code: culm.CodeStepInDoubt}):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("continue run: %w", err)
	}
	return false, nil
}

// decide says of steps in doubt what the operator can say, and reports whether that
// is anything.
func (w *World) decide(ctx context.Context, e *culm.Engine, o *Operator, runID string, steps []string) (decided bool, err error) {
	for _, step := range steps {
		r, known := w.verdict(o, runID, step)
		if !known {
			continue
		}
		decided = true
		_, err := e.Resolve(ctx, runID, step, r)
		if errors.Is(err, &culm.Error{Code: culm.CodeInvalidOutput}) {
			_, err = e.Resolve(ctx, runID, step, culm.Resolution{
				Session: culm.AnySession, Verdict: run.VerdictFailed, Message: "it returned what it must not",
			})
		}
		if err != nil && !errors.Is(err, &culm.Error{Code: culm.CodeTerminal}) {
			return decided, fmt.Errorf("resolve step %s: %w", step, err)
		}
	}
	return decided, nil
}

// verdict is the operator's on a step; false if there is none.
func (w *World) verdict(o *Operator, runID, step string) (culm.Resolution, bool) {
	if o.Knows {
		if r, known := w.truth(runID, step); known {
			return r, true
		}
	}
	for name, r := range o.Verdicts {
		if Instance(name, step) {
			if o.used == nil {
				o.used = make(map[string]bool)
			}
			o.used[name] = true
			r.Session = culm.AnySession
			return r, true
		}
	}
	return culm.Resolution{}, false
}

// truth is the verdict on a step by what was really done; false if nobody knows.
func (w *World) truth(runID, step string) (culm.Resolution, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := culm.Resolution{Session: culm.AnySession, Verdict: run.VerdictRerun}
	c := w.calls.last(runID, step)
	if c == nil {
		return r, true
	}
	switch c.Outcome {
	case Returned:
		r.Verdict, r.Output = run.VerdictSucceeded, c.Output
	case Unknown, Running:
		return r, false
	}
	return r, true
}
