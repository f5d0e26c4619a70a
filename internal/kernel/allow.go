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
	if f == nil || f.expects(ev, m.st.Steps[f.id]) {
		return nil
	}
	return fmt.Errorf("apply %s event %d: the plan does not expect it of step %s now", ev.Body.EventType(), ev.Sequence, f.id)
}

func (f *frame) expects(ev run.Event, rec *run.Step) bool {
	switch ev.Body.(type) {
	case *run.StepStarted:
		return f.wants(wantStart, ev)
	case *run.StepResumed:
		return f.wants(wantResume, ev)
	case *run.StepCancelled:
		return f.dying
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
