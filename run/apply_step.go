package run

import (
	"fmt"
	"time"
)

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func (s *State) applyStep(ev Event) error {
	if b, ok := ev.Body.(*StepStarted); ok {
		return s.applyStepStarted(ev, b)
	}
	st := s.Steps[ev.StepID]
	if st == nil {
		switch ev.Body.(type) {
		case *StepSkipped, *StepFailed: // the ends of a step that was never entered
			st = &Step{ID: ev.StepID}
			s.Steps[ev.StepID] = st
		default:
			return fmt.Errorf("step %s was never entered", ev.StepID)
		}
	}
	switch b := ev.Body.(type) {
	case *WaitSet:
		st.Deadline = b.Deadline
		s.openWait(st.ID, b.Deadline)
		return nil
	case *StepSuspended:
		if err := st.must(StatusStepRunning); err != nil {
			return err
		}
		s.leave(st, ev, StatusStepSuspended)
		st.Reason = b.Reason
		s.doubt(st, b.InDoubt)
	case *StepResumed:
		if err := st.must(StatusStepSuspended); err != nil {
			return err
		}
		if st.InDoubt {
			return fmt.Errorf("step %s is in doubt", st.ID)
		}
		st.Status, st.Reason, st.LastSeq = StatusStepRunning, "", ev.Sequence
	case *StepCompleted:
		if err := st.must(StatusStepRunning); err != nil {
			return err
		}
		s.finish(st, ev, StatusStepSucceeded)
		st.Output = s.value(ev.Sequence, b.Output, b.OutputBlob)
	case *StepFailed:
		if st.InDoubt {
			return fmt.Errorf("step %s is in doubt: only a verdict can fail it", st.ID)
		}
		s.finish(st, ev, StatusStepFailed)
		st.Failure = &b.Failure
	case *StepCancelled:
		if st.InDoubt && !b.InDoubt {
			return fmt.Errorf("step %s is in doubt: cancelling must not hide it", st.ID)
		}
		s.finish(st, ev, StatusStepCancelled)
		if b.InDoubt {
			st.InDoubt = true
			s.Abandoned++
		}
	case *StepSkipped:
		s.finish(st, ev, StatusStepSkipped)
		st.Reason = b.Reason
	case *StepResolved:
		return s.applyResolved(st, ev, b)
	default:
		return fmt.Errorf("it belongs to the run, and names step %s", ev.StepID)
	}
	return nil
}

func (s *State) applyStepStarted(ev Event, b *StepStarted) error {
	st := s.Steps[ev.StepID]
	if st == nil {
		st = &Step{ID: ev.StepID}
		s.Steps[ev.StepID] = st
	}
	if st.Status == StatusStepRunning || st.InDoubt || st.Status == StatusStepSucceeded {
		return fmt.Errorf("step %s is entered while it is %s (in doubt: %v)", st.ID, st.Status, st.InDoubt)
	}
	if b.Attempt != st.Attempts+1 {
		return fmt.Errorf("step %s: attempt %d follows on %d", st.ID, b.Attempt, st.Attempts)
	}
	at := ev.At
	st.Status, st.Attempts, st.InputHash, st.Effect = StatusStepRunning, b.Attempt, b.InputHash, b.Effect
	st.Failure, st.Reason, st.Output, st.Reenter = nil, "", Value{}, false
	st.EndedAt, st.Deadline = time.Time{}, time.Time{}
	st.StartedAt, st.StartSeq, st.LastSeq = at, ev.Sequence, ev.Sequence
	if b.ChildRunID != "" {
		st.ChildRunID, st.Workflow = b.ChildRunID, b.Workflow
		st.Args = s.value(ev.Sequence, b.Args, b.ArgsBlob)
	}
	if b.Effect != "" {
		s.Clock.Calls++
	}
	s.Usage.Steps += b.Reservation["steps"]
	s.Usage.Agents += b.Reservation["agents"]
	return nil
}

func (s *State) applyResolved(st *Step, ev Event, b *StepResolved) error {
	if !st.InDoubt {
		return fmt.Errorf("step %s is not in doubt", st.ID)
	}
	s.doubt(st, false)
	switch b.Verdict {
	case VerdictSucceeded:
		s.finish(st, ev, StatusStepSucceeded)
		st.Output = s.value(ev.Sequence, b.Output, b.OutputBlob)
	case VerdictFailed:
		if b.Failure == nil {
			return fmt.Errorf("step %s: a verdict of failed without a failure", st.ID)
		}
		s.finish(st, ev, StatusStepFailed)
		st.Failure = b.Failure
	case VerdictRerun:
		st.Status, st.Reenter, st.LastSeq = StatusStepSuspended, true, ev.Sequence
	default:
		return fmt.Errorf("step %s: unknown verdict %q", st.ID, b.Verdict)
	}
	return nil
}

// leave books that the step's call is no longer in flight.
func (s *State) leave(st *Step, ev Event, status StepStatus) {
	if st.Status == StatusStepRunning && st.Effect != "" {
		s.Clock.Calls--
	}
	st.Status, st.LastSeq = status, ev.Sequence
}

// finish gives the step its end.
func (s *State) finish(st *Step, ev Event, status StepStatus) {
	s.doubt(st, false)
	s.leave(st, ev, status)
	st.Reason, st.Failure, st.Reenter = "", nil, false
	st.EndedAt = ev.At
	delete(s.Clock.Waits, st.ID)
}

func (s *State) doubt(st *Step, in bool) {
	if st.InDoubt == in {
		return
	}
	st.InDoubt = in
	if in {
		s.Doubts++
	} else {
		s.Doubts--
	}
}

func (st *Step) must(status StepStatus) error {
	if st.Status != status {
		return fmt.Errorf("step %s is %s, not %s", st.ID, st.Status, status)
	}
	return nil
}
