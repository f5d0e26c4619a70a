package rehearsal

import (
	"context"
	"errors"
	"fmt"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

// rounds bounds how often an operator goes on with one run.
const rounds = 100

// Operate sees a run to its end as an operator would who knows what happened: it
// recovers what a dead process left, says of each write in doubt whether it was
// done, and continues the run; calls that may be repeated are. It returns the run
// when it has ended, or when nothing but somebody else's knowledge could bring it
// on: it is then suspended.
func (w *World) Operate(ctx context.Context, runID string) (*run.View, error) {
	for range rounds {
		v, err := w.Wait(ctx, runID)
		if err != nil || v.Status.Terminal() {
			return v, err
		}
		over, err := w.goOn(ctx, v)
		if err != nil && !w.died() {
			return nil, err
		}
		if over && !w.died() {
			return w.View(ctx, runID)
		}
	}
	return nil, fmt.Errorf("the run has not come to an end after %d continues", rounds)
}

// died reports whether the process that was last started is dead.
func (w *World) died() bool { return w.process == nil || w.process.dead.Load() }

// goOn brings a run on that rests; over if nobody can who knows no more.
func (w *World) goOn(ctx context.Context, v *run.View) (over bool, err error) {
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
		if decided, err := w.decide(ctx, e, v.RunID, steps); err != nil || !decided {
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

// decide says of steps in doubt what the world knows of them, and reports whether
// it knew anything.
func (w *World) decide(ctx context.Context, e *culm.Engine, runID string, steps []string) (decided bool, err error) {
	for _, step := range steps {
		r, known := w.truth(runID, step)
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
	case Failed:
		r.Verdict, r.Message = run.VerdictFailed, c.Err.Error()
	case Unknown, Running:
		return r, false
	}
	return r, true
}
