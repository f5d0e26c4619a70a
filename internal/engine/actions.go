package engine

import (
	"context"

	"github.com/culm-dev/culm/run"
)

// actions are what can be done with the run now, by the same predicates that the
// calls use.
func (l *loaded) actions(ctx context.Context) (map[string]*string, error) {
	predicates := map[string]func() (*Error, error){
		"continue": func() (*Error, error) { return l.continueRefusal(ctx, ContinueOptions{Session: AnySession}) },
		"cancel":   l.cancelRefusal,
		"restart":  func() (*Error, error) { return l.restartRefusal(ctx, RestartOptions{Session: AnySession}) },
		"resolve":  func() (*Error, error) { return l.resolveRefusal(ctx) },
		"recover":  func() (*Error, error) { return l.recoverRefusal(), nil },
	}
	all := make(map[string]*string, len(predicates))
	for name, refusal := range predicates {
		r, err := refusal()
		if err != nil {
			return nil, asError(err, l.head.Stream)
		}
		all[name] = code(r)
	}
	return all, nil
}

func code(r *Error) *string {
	if r == nil {
		return nil
	}
	return &r.Code
}

// cancelRefusal: cancelling what is cancelled changes nothing, and is not refused.
func (l *loaded) cancelRefusal() (*Error, error) {
	switch r := l.readable(AnySession); {
	case r != nil:
		return r, nil
	case l.st.Status == run.StatusCancelled:
		return nil, nil
	case l.st.Status.Terminal():
		return terminalRefusal(l.st), nil
	}
	return nil, nil
}

// resolveRefusal is that of all steps in doubt: nil if one of them can be decided.
func (l *loaded) resolveRefusal(ctx context.Context) (*Error, error) {
	switch r := l.readable(AnySession); {
	case r != nil:
		return r, nil
	case l.st.Status.Terminal():
		return terminalRefusal(l.st), nil
	case l.st.Doubts == 0:
		return refuse(CodeNotInDoubt, "no step is in doubt"), nil
	}
	if r, err := splitRefusal(l.walk(ctx)); r != nil || err != nil {
		return r, err
	}
	for _, st := range l.st.OpenSteps() {
		if !st.InDoubt {
			continue
		}
		running, err := l.e.stillRunning(l.st.RunID, st.ID)
		switch {
		case err != nil:
			return nil, err
		case running:
			continue
		case !l.head.Owner.Alive && l.st.Status != run.StatusSuspended:
			return notRecovered(l.st), nil
		}
		return nil, nil
	}
	return refuse(CodeStillRunning, "processes of every step in doubt are still running"), nil
}

func (l *loaded) recoverRefusal() *Error {
	switch r := l.readable(AnySession); {
	case r != nil:
		return r
	case l.st.Status.Terminal():
		return terminalRefusal(l.st)
	case l.head.Owner.Alive:
		return refuse(CodeOwnedElsewhere, "its owner is alive")
	case l.st.Status == run.StatusSuspended:
		return refuse(CodeNotRunning, "it is suspended already")
	}
	return nil
}
