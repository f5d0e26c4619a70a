package engine

import (
	"bytes"
	"context"

	"github.com/culm-dev/culm/run"
)

// decided reports whether the journal has this verdict on this attempt. Another
// one on it is a refusal.
func (l *loaded) decided(ctx context.Context, m message) (bool, error) {
	verdict, err := l.verdictOn(ctx, m.Step, m.Attempt)
	switch {
	case err != nil || verdict == nil:
		return false, err
	case !m.says(verdict):
		return false, refuse(CodeAlreadyDecided, "step %s was already decided otherwise, by %s", m.Step, verdict.By)
	}
	return true, nil
}

// verdictOn finds the verdict on an attempt; nil if there is none.
func (l *loaded) verdictOn(ctx context.Context, step string, attempt int) (*run.StepResolved, error) {
	current := 0
	for after := uint64(0); ; {
		groups, err := l.e.store.Read(ctx, l.st.RunID, after, readBytes)
		if err != nil || len(groups) == 0 {
			return nil, asError(err, l.st.RunID)
		}
		for _, g := range groups {
			after = g.First + uint64(len(g.Events)) - 1
			for _, line := range g.Events {
				ev, err := run.Decode(line)
				if err != nil {
					return nil, asError(err, l.st.RunID)
				}
				if ev.StepID != step {
					continue
				}
				if started, ok := ev.Body.(*run.StepStarted); ok {
					current = started.Attempt
				}
				if verdict, ok := ev.Body.(*run.StepResolved); ok && current == attempt {
					return verdict, asError(l.fill(ctx, &ev), l.st.RunID)
				}
			}
		}
	}
}

// says compares a message with the verdict that stands.
func (m message) says(verdict *run.StepResolved) bool {
	same := m.Verdict == verdict.Verdict && bytes.Equal(m.Output, verdict.Output)
	if verdict.Failure != nil {
		return same && m.Message == verdict.Failure.Message
	}
	return same
}
