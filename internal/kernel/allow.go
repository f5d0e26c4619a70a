package kernel

import (
	"fmt"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// allows refuses events of a step that the plan does not wait for, though the
// step's own past would permit them: entering a step before its turn, ending a
// workflow step before its plan, cancelling what is in no cancelled scope.
func (m *Machine) allows(ev run.Event) error {
	if _, adopted := ev.Body.(*run.StepAdopted); adopted && m.Declared(ev.StepID) == nil {
		return fmt.Errorf("apply %s event %d: the plan has no step %s", ev.Body.EventType(), ev.Sequence, ev.StepID)
	}
	f := m.leaves[ev.StepID]
	switch b := ev.Body.(type) {
	case *run.Decided:
		f = m.nodes[run.NodeKey(b.Scope, b.Node)]
		return f.mustBeCleanup(b.Cleanup, ev)
	case *run.RetryReserved:
		f = m.nodes[run.NodeKey(b.Scope, b.Node)]
		return f.mustBeCleanup(b.Cleanup, ev)
	}
	if f == nil || f.expects(ev, m.st.Steps[f.id]) {
		return nil
	}
	return fmt.Errorf("apply %s event %d: the plan does not expect it of step %s now", ev.Body.EventType(), ev.Sequence, f.id)
}

// mustBeCleanup refuses an event that says of a node that it is part of a cleanup, or
// is not, if the plan says otherwise. A node that nothing is expected of is refused
// elsewhere.
func (f *frame) mustBeCleanup(cleanup bool, ev run.Event) error {
	if f == nil || cleanup == (f.cleans != nil) {
		return nil
	}
	return fmt.Errorf("apply %s event %d: part of a cleanup: %v, and in the plan: %v", ev.Body.EventType(), ev.Sequence, cleanup, !cleanup)
}

func (f *frame) expects(ev run.Event, rec *run.Step) bool {
	switch b := ev.Body.(type) {
	case *run.StepStarted:
		return f.wants(wantStart, ev) && b.Cleanup == (f.cleans != nil)
	case *run.StepResumed:
		return f.wants(wantResume, ev)
	case *run.StepCancelled:
		return f.dying || f.want == wantCancel || f.want == wantFinish && f.inner != nil && f.inner.kind == resCancelled
	case *run.StepSkipped:
		return false
	case *run.StepCompleted, *run.StepFailed:
		if rec == nil || rec.Status.Ended() || rec.Reenter {
			return f.wants(wantStart, ev) // it fails without being entered
		}
		t := f.node.Step.Def.Type
		return t != workflow.WorkflowStep && t != workflow.SleepStep || f.wants(wantFinish, ev)
	}
	return true
}

// wants reports whether the frame waits for this to be done, and its time has come.
func (f *frame) wants(w want, ev run.Event) bool {
	return f.want == w && (f.timer == nil || !f.timer.at.After(ev.At))
}
