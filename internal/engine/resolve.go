package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
)

// Resolution is a verdict on a step in doubt.
type Resolution struct {
	// Session must be the run's; "" is "local", AnySession matches every one.
	Session string
	Verdict run.Verdict
	// Output is what the step returned, if it succeeded; checked as a result is.
	Output json.RawMessage
	// Message says why, if it failed.
	Message string
	// Force decides although processes of the step may still be at work.
	Force bool
}

// Receipt says what became of something that was recorded for a run.
type Receipt struct {
	View *run.View
	// Live: a living owner was told and acts on it.
	Live bool
	// Continue: nobody works on the run, and it has not ended: someone must
	// continue it. Of a run that was cancelled: to clean up after it.
	Continue bool
	// InDoubt are the steps that the run was cancelled with although their
	// outcome is unknown.
	InDoubt []string
}

// Resolve ends a doubt, durably. A living owner acts on it at once; else it is
// recorded, and the run is to be continued, unless this was the last thing that
// kept it from failing.
func (e *Engine) Resolve(ctx context.Context, runID, step string, r Resolution) (*Receipt, error) {
	l, err := e.loadForAction(ctx, runID, r.Session)
	if err != nil {
		return nil, err
	}
	m, decided, err := l.verdict(ctx, step, r)
	if err != nil {
		return nil, err
	}
	if decided {
		return e.receipt(ctx, runID, l.head.Owner.Alive)
	}
	if !l.head.Owner.Alive && l.st.Status != run.StatusSuspended {
		return nil, notRecovered(l.st)
	}
	// The mailbox takes one verdict on a doubt. Whoever owns the run next reads it.
	live, err := e.tell(ctx, runID, m)
	if err != nil {
		return nil, err
	}
	if !live {
		err := e.settleAlone(ctx, runID)
		switch live = errors.Is(err, store.ErrOwned); {
		case errors.Is(err, &Error{Code: CodeTerminal}): // its owner ended it: with this verdict, or by cancelling
			if taken, terr := l.decided(ctx, m); terr != nil || !taken {
				return nil, orError(nil, errors.Join(err, terr))
			}
		case err != nil && !live:
			return nil, asError(err, runID)
		}
	}
	return e.receipt(ctx, runID, live)
}

func notRecovered(st *run.State) *Error {
	return refuse(CodeNotSuspended, "run %s is %s: its owner is gone, and it was not recovered yet", st.RunID, st.Status).
		hint("recover it first: culm recover")
}

// verdict checks a resolution and makes the message that records it; decided
// reports that the journal says the same already.
func (l *loaded) verdict(ctx context.Context, step string, r Resolution) (m message, decided bool, err error) {
	if l.st.Status.Terminal() {
		return m, false, terminalRefusal(l.st)
	}
	rec := l.st.Steps[step]
	if rec == nil {
		return m, false, l.noStep(step)
	}
	m = message{Kind: mailResolve, By: l.e.cfg.By, Step: step, Attempt: rec.Attempts, Verdict: r.Verdict, Message: r.Message}
	if !rec.InDoubt {
		if err := l.checkVerdict(&m, r); err != nil {
			return m, false, err
		}
		decided, err = l.decided(ctx, m)
		if err == nil && !decided {
			err = refuse(CodeNotInDoubt, "step %s is %s: there is nothing to decide", step, rec.Status)
		}
		return m, decided, err
	}
	if err := l.walk(ctx); err != nil {
		return m, false, err
	}
	running, err := l.e.stillRunning(l.st.RunID, step)
	if err != nil {
		return m, false, err
	}
	if running && !r.Force {
		return m, false, refuse(CodeStillRunning, "processes of step %s are still running, and may still do what is in doubt", step).
			with("steps", []string{step}).hint("wait until they are gone, or decide all the same with --force")
	}
	return m, false, l.checkVerdict(&m, r)
}

func (l *loaded) checkVerdict(m *message, r Resolution) error {
	switch r.Verdict {
	case run.VerdictRerun:
	case run.VerdictFailed:
		if m.Message == "" {
			m.Message = "resolved as failed by " + m.By
		}
	case run.VerdictSucceeded:
		raw, err := canon.Canonicalize(orNull(r.Output))
		if err != nil {
			return refuse(CodeInvalidOutput, "the output is not JSON: %v", err)
		}
		if len(raw) > maxAnswer {
			return refuse(CodeTooLarge, "the output has %d bytes; at most %d are taken", len(raw), maxAnswer)
		}
		if info := l.step(m.Step); info != nil {
			if raw, _, err = l.e.checkResult(info, tool.Result{Output: raw}); err != nil {
				return refuse(CodeInvalidOutput, "step %s: %v", m.Step, err)
			}
		}
		m.Output = raw
	default:
		return refuse(CodeInvalidInput, "unknown verdict %q: expected succeeded, failed or rerun", r.Verdict)
	}
	return nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

func (l *loaded) noStep(step string) *Error {
	ids := make([]string, 0, len(l.st.Steps))
	for id := range l.st.Steps {
		ids = append(ids, id)
	}
	r := refuse(CodeStepNotFound, "run %s has not entered a step %q", l.st.RunID, step)
	if near := canon.Near(step, ids); near != "" {
		r.hint("did you mean %q?", near)
	}
	return r
}

// loadForAction reads a root run that something is to be done with.
func (e *Engine) loadForAction(ctx context.Context, runID, session string) (*loaded, error) {
	if r, err := e.notRoot(ctx, runID, session); r != nil || err != nil {
		return nil, orError(r, err)
	}
	l, err := e.load(ctx, runID, keepNothing)
	if err != nil {
		return nil, err
	}
	if r := l.readable(session); r != nil {
		return nil, r
	}
	return l, nil
}

// receipt says what became of what was recorded; live, that an owner acts on it.
func (e *Engine) receipt(ctx context.Context, runID string, live bool) (*Receipt, error) {
	view, err := e.Progress(ctx, runID, ProgressOptions{Session: AnySession})
	if err != nil {
		return nil, err
	}
	rc := &Receipt{View: view, Live: live, Continue: !live && !view.Status.Terminal()}
	if view.CancelRequested != "" {
		rc.InDoubt = givenUp(view)
	}
	return rc, nil
}
