package kernel

import (
	"slices"
	"time"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// syncLeaf brings a leaf's frame in line with what the journal says of it.
func (m *Machine) syncLeaf(f *frame) {
	if f.done {
		return
	}
	rec := m.st.Steps[f.id]
	m.unwant(f)
	delete(m.aborts, f)
	fresh := rec == nil || m.reopened(f, rec)
	if !fresh && !rec.Status.Ended() && f.took == 0 {
		m.take(f, 1)
	}
	switch {
	case fresh:
		m.syncFresh(f)
	case rec.InDoubt && !rec.Status.Ended():
		m.syncDoubt(f, rec)
	case rec.Status == run.StatusStepRunning:
		m.syncRunning(f, rec)
	case rec.Status == run.StatusStepSuspended:
		m.syncSuspended(f, rec)
	default:
		m.finish(f, m.leafResult(f, rec))
	}
}

// reopened reports whether the recorded end came before the latest retry round
// around the leaf, so that it does not count any more. In a cleanup, successes of an
// earlier round do not count either.
func (m *Machine) reopened(f *frame, rec *run.Step) bool {
	if rec.Status.Ended() && f.stale(rec.LastSeq) {
		return true
	}
	return rec.Status.Ended() && rec.Status != run.StatusStepSucceeded && rec.LastSeq < f.reopen
}

func (m *Machine) syncFresh(f *frame) {
	if f.dying {
		m.finish(f, result{kind: resCancelled})
		return
	}
	if f.due.IsZero() {
		m.request(f, wantStart)
		return
	}
	m.requestAt(f, wantStart, f.due)
}

func (m *Machine) syncDoubt(f *frame, rec *run.Step) {
	switch {
	case m.givesUp(f, rec):
		m.request(f, wantCancel)
	case m.mayRerun(f, rec):
		m.request(f, wantRerun)
	}
}

// mayRerun reports whether someone said beforehand that this step may be entered
// again: its author, or the operator by the start that came after the doubt.
func (m *Machine) mayRerun(f *frame, rec *run.Step) bool {
	if f.node.Step.Def.OnUnknown == workflow.OnUnknownRerun {
		return true
	}
	return rec.LastSeq < m.st.StartedSeq && slices.Contains(m.st.Rerun, rec.Effect)
}

func (m *Machine) syncRunning(f *frame, rec *run.Step) {
	switch f.node.Step.Def.Type {
	case workflow.WorkflowStep:
		m.syncNested(f, rec)
	case workflow.SleepStep:
		if f.dying {
			m.request(f, wantCancel)
		} else if !rec.Deadline.IsZero() {
			m.requestAt(f, wantFinish, earlier(rec.Deadline, expiry(f, rec)))
		}
	default:
		if f.dying {
			m.aborts[f] = struct{}{}
		}
	}
}

func (m *Machine) syncSuspended(f *frame, rec *run.Step) {
	nested := f.node.Step.Def.Type == workflow.WorkflowStep
	switch {
	case nested && !rec.Reenter:
		m.syncNested(f, rec)
	case f.dying:
		m.request(f, wantCancel)
	case rec.Reenter:
		m.syncFresh(f)
	default:
		m.request(f, wantResume)
	}
}

// syncNested goes on with a workflow step's inner plan.
func (m *Machine) syncNested(f *frame, rec *run.Step) {
	if f.live == 0 && f.inner == nil {
		act := &activation{
			wf:    f.node.Step.Nested,
			path:  f.id + "/",
			args:  Val{Kind: Stored, Value: rec.Args},
			runID: rec.ChildRunID,
		}
		f.plan = act.rootScope()
		m.enter(f, 0, act.wf.Plan, f.plan) // may come back here through childDone
		if f.inner != nil || f.done {
			return
		}
	}
	if f.node.Step.Def.TimeoutMS != nil {
		m.timeOut(f, rec)
	}
	suspended := rec.Status == run.StatusStepSuspended
	switch {
	case f.inner != nil && suspended && f.inner.kind == resOK && f.dying:
		m.request(f, wantCancel) // its output was never made, and is not to be made any more
	case f.inner != nil && suspended && f.inner.kind == resOK:
		m.request(f, wantResume)
	case f.inner != nil:
		m.request(f, wantFinish)
	case f.dying || f.timedOut != nil:
	case suspended:
		m.request(f, wantResume)
	default:
		m.syncTimeout(f, rec)
	}
}

// timeOut cancels the inner plan of a workflow step once it was decided, durably,
// that the timeout of its attempt passed.
func (m *Machine) timeOut(f *frame, rec *run.Step) {
	d, ok := m.st.Decisions[f.key()]
	if !ok || d.Seq < rec.StartSeq || f.timedOut != nil {
		return
	}
	f.timedOut = d.Failure
	if f.inner == nil {
		m.cancel(f.kids[0]) // may come back here through childDone
		m.unwant(f)
	}
}

// syncTimeout watches the timeout of a workflow step's attempt.
func (m *Machine) syncTimeout(f *frame, rec *run.Step) {
	if at := expiry(f, rec); !at.IsZero() {
		m.await(f, f.key())
		m.requestAt(f, wantExpire, at)
	}
}

// expiry is when the timeout of the step's latest attempt passes; zero for never.
func expiry(f *frame, rec *run.Step) time.Time {
	ms := f.node.Step.Def.TimeoutMS
	if ms == nil {
		return time.Time{}
	}
	return rec.StartedAt.Add(time.Duration(*ms) * time.Millisecond)
}

// earlier is the earlier of two times, of which zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// leafResult is what a leaf's recorded end means to its parent.
func (m *Machine) leafResult(f *frame, rec *run.Step) result {
	if rec.Status != run.StatusStepSkipped {
		f.touched = max(f.touched, rec.LastSeq)
	}
	switch rec.Status {
	case run.StatusStepSucceeded:
		return result{val: Val{Kind: Stored, Value: rec.Output}}
	case run.StatusStepSkipped:
		return result{val: Val{Kind: Null}}
	case run.StatusStepFailed:
		fl := &failure{Failure: rec.Failure, seq: rec.LastSeq}
		r := result{kind: resFailed, fail: fl, hard: !rec.Failure.Retryable}
		if f.parent != nil && f.parent.node.Type == workflow.RetryNode {
			return r // the policy waits until the retry gave up
		}
		return policy(f.node.Step.Def.Failure, r)
	default: // what was given up in doubt is not entered again, ever
		return result{kind: resCancelled, hard: rec.InDoubt}
	}
}

// cancel cancels a scope: the frame and all that lives in it, but for cleanups,
// which go on, or begin now.
func (m *Machine) cancel(f *frame) {
	if f.done {
		return
	}
	f.dying = true
	for _, kid := range slices.Clone(f.kids) {
		if kid != nil && kid.cleans != f {
			m.cancel(kid)
		}
	}
	switch {
	case f.done:
	case f.isLeaf():
		m.syncLeaf(f)
	case f.want == wantDecide || f.want == wantRetry:
		m.finish(f, result{kind: resCancelled, hard: f.hard})
	}
}

// lasting reports whether a step's status stays what it is when the step is skipped in
// a later round.
func lasting(s run.StepStatus) bool {
	return s == run.StatusStepSucceeded || s == run.StatusStepSkipped
}

// skipLeaves asks to record the steps of a node as skipped: those that have an
// instance in this scope. Steps inside a map or repeat have none.
func (m *Machine) skipLeaves(f *frame, node *workflow.PlanNode, reason string) {
	switch node.Type {
	case workflow.StepNode:
		id := f.scope.instance(node.Step.Def.ID)
		if rec := m.st.Steps[id]; rec == nil || f.stale(rec.LastSeq) && !lasting(rec.Status) {
			m.skips.add(skip{id: id, reason: reason}) // else it was skipped in an earlier round
		}
	case workflow.MapNode, workflow.RepeatNode:
	default:
		for _, child := range node.Children {
			m.skipLeaves(f, child, reason)
		}
	}
}
