package kernel

import (
	"fmt"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// enterRetry enters a retry's node under the latest round that was reserved.
func (m *Machine) enterRetry(f *frame) {
	outer := uint64(0)
	if f.parent != nil {
		outer = f.parent.reopen
	}
	if r := m.st.Retries[f.key()]; r.Seq > outer && !f.stale(r.Seq) {
		f.pos = r.Round
		f.reopen, f.due = r.Seq, r.Due
		f.touched = max(f.touched, r.Seq) // what is entered again was entered before
		f.scope.forget(f.node)
		m.take(f, -f.took)
		f.asides = nil
	}
	m.enter(f, 0, f.node.Children[0], f.scope)
}

// noRound ends a retry for which no round could be had, if that was decided.
func (m *Machine) noRound(f *frame) bool {
	d, ok := m.st.Decisions[f.key()]
	if !ok || d.Failure == nil || f.stale(d.Seq) {
		return false
	}
	f.touched = max(f.touched, d.Seq)
	m.giveUp(f, &failure{Failure: d.Failure, seq: d.Seq}, true)
	return true
}

// retryDone decides whether another round may be reserved.
func (m *Machine) retryDone(f *frame, r result) {
	switch {
	case r.kind != resFailed:
		m.finish(f, r)
	case m.noRound(f):
	case r.hard:
		m.giveUp(f, r.fail, true)
	case f.pos+1 >= f.node.Def.MaxAttempts:
		m.giveUp(f, exhausted(r.fail, f.node.Def.MaxAttempts), false)
	case f.dying:
		m.finish(f, result{kind: resCancelled})
	default:
		m.await(f, f.key())
		m.request(f, wantRetry)
	}
}

func exhausted(last *failure, attempts int) *failure {
	return &failure{seq: last.seq, Failure: &run.Failure{
		Code:      run.RetryExhausted,
		Message:   fmt.Sprintf("failed in %d of %d attempts; the last time: %s: %s", attempts, attempts, last.Code, last.Message),
		Retryable: true,
	}}
}

// giveUp ends a retry as failed. The failure policy of a step directly inside
// comes in only now.
func (m *Machine) giveUp(f *frame, fl *failure, hard bool) {
	r := result{kind: resFailed, fail: fl, hard: hard}
	if child := f.node.Children[0]; child.Type == workflow.StepNode {
		r = policy(child.Step.Def.Failure, r)
	}
	m.finish(f, r)
}

// policy turns a failure into what the parent sees.
func policy(p workflow.FailurePolicy, r result) result {
	switch p {
	case workflow.ContinueWithError:
		return result{val: Val{Kind: FailureValue, Failure: r.fail.Failure}, hard: r.hard}
	case workflow.SkipDependents:
		return result{val: Val{Kind: FailureValue, Failure: r.fail.Failure}, skipRest: true, hard: r.hard}
	}
	return r
}
