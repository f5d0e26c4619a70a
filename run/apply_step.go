package run

import (
	"fmt"
	"time"
)

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func (s *State) applyStep(ev Event) error {
	st := s.Steps[ev.StepID]
	if st == nil {
		switch ev.Body.(type) {
		case *StepStarted, *StepAdopted, *StepSkipped, *StepFailed: // the last ones: ends of a step that was never entered
			st = &Step{ID: ev.StepID}
			s.Steps[ev.StepID] = st
		default:
			return fmt.Errorf("step %s was never entered", ev.StepID)
		}
	}
	switch b := ev.Body.(type) {
	case *StepStarted:
		return s.applyStepStarted(st, ev, b)
	case *WaitSet:
		return s.applyWaitSet(st, b)
	case *StepSuspended:
		return s.applyStepSuspended(st, ev, b)
	case *StepResumed:
		return s.applyStepResumed(st, ev)
	case *StepCompleted:
		return s.applyStepCompleted(st, ev, b)
	case *StepFailed:
		return s.applyStepFailed(st, ev, b)
	case *StepCancelled:
		return s.applyStepCancelled(st, ev, b)
	case *StepSkipped:
		return s.applyStepSkipped(st, ev, b)
	case *StepResolved:
		return s.applyResolved(st, ev, b)
	case *StepAdopted:
		return s.applyStepAdopted(st, ev, b)
	}
	return fmt.Errorf("it belongs to the run, and names step %s", ev.StepID)
}

func (s *State) applyStepStarted(st *Step, ev Event, b *StepStarted) error {
	if err := s.mayEnter(st, b.Cleanup); err != nil {
		return err
	}
	if b.Attempt != st.Attempts+1 {
		return fmt.Errorf("step %s: attempt %d follows on %d", st.ID, b.Attempt, st.Attempts)
	}
	if st.ChildRunID != "" && b.ChildRunID != st.ChildRunID {
		return fmt.Errorf("step %s: its nested run was %s, and is %q now", st.ID, st.ChildRunID, b.ChildRunID)
	}
	st.Status, st.Attempts, st.InputHash, st.Effect = StatusStepRunning, b.Attempt, b.InputHash, b.Effect
	st.Failure, st.Reason, st.Output, st.Reenter, st.AdoptedFrom = nil, "", Value{}, false, ""
	st.Cleanup = b.Cleanup
	st.EndedAt, st.Deadline = time.Time{}, time.Time{}
	st.StartedAt, st.StartSeq, st.LastSeq = ev.At, ev.Sequence, ev.Sequence
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

// mayEnter refuses to enter a step that the run or the step's own past forbids.
func (s *State) mayEnter(st *Step, cleanup bool) error {
	if err := s.mustGoOn(cleanup); err != nil {
		return err
	}
	switch {
	case st.InDoubt:
		return fmt.Errorf("step %s is entered while it is in doubt", st.ID)
	case st.Status == StatusStepSuspended && st.Reenter:
		return nil
	}
	return s.mustBeClosed(st, cleanup)
}

// mustGoOn refuses what only a run does that is worked on and may go on. Cleanups
// go on in a run that can only end, until their time is over.
func (s *State) mustGoOn(cleanup bool) error {
	switch {
	case s.Status != StatusRunning:
		return fmt.Errorf("the run is %s, not %s", s.Status, StatusRunning)
	case s.CleanupOver != nil:
		return fmt.Errorf("the time of cleanups is over")
	case cleanup:
		return nil
	case s.CancelRequested != "":
		return fmt.Errorf("the run is being cancelled")
	case s.Expired != nil:
		return fmt.Errorf("the run's time is over")
	}
	return nil
}

// mustBeClosed refuses a step that is open, or that ended for good. A step of a
// cleanup that succeeded may follow on another round of a retry around it.
func (s *State) mustBeClosed(st *Step, cleanup bool) error {
	switch {
	case st.Status == "":
		return nil
	case st.Status == StatusStepSucceeded && !cleanup || !st.Status.Ended():
		return fmt.Errorf("step %s is %s", st.ID, st.Status)
	case s.LastRetry < st.LastSeq:
		return fmt.Errorf("step %s is %s, and no retry round came after that", st.ID, st.Status)
	}
	return nil
}

func (st *Step) mustBe(status StepStatus) error {
	if st.Status != status {
		return fmt.Errorf("step %s is %s, not %s", st.ID, st.Status, status)
	}
	return nil
}

func (s *State) applyWaitSet(st *Step, b *WaitSet) error {
	if err := st.mustBe(StatusStepRunning); err != nil {
		return err
	}
	st.Deadline = b.Deadline
	s.openWait(st.ID, b.Deadline)
	return nil
}

func (s *State) applyStepSuspended(st *Step, ev Event, b *StepSuspended) error {
	if err := st.mustBe(StatusStepRunning); err != nil {
		return err
	}
	if b.InDoubt && st.Effect == "" {
		return fmt.Errorf("step %s calls no tool, and cannot be in doubt", st.ID)
	}
	s.leave(st, ev, StatusStepSuspended)
	st.Reason = b.Reason
	s.doubt(st, b.InDoubt)
	return nil
}

func (s *State) applyStepResumed(st *Step, ev Event) error {
	if err := st.mustBe(StatusStepSuspended); err != nil {
		return err
	}
	switch {
	case st.InDoubt:
		return fmt.Errorf("step %s is in doubt", st.ID)
	case st.Reenter:
		return fmt.Errorf("step %s is to be entered again, not resumed", st.ID)
	case s.Status != StatusRunning:
		return fmt.Errorf("the run is %s, not %s", s.Status, StatusRunning)
	}
	st.Status, st.Reason, st.LastSeq = StatusStepRunning, "", ev.Sequence
	if st.Effect != "" {
		s.Clock.Calls++
	}
	return nil
}

func (s *State) applyStepCompleted(st *Step, ev Event, b *StepCompleted) error {
	if err := st.mustBe(StatusStepRunning); err != nil {
		return err
	}
	s.finish(st, ev, StatusStepSucceeded)
	st.Output = s.value(ev.Sequence, b.Output, b.OutputBlob)
	return nil
}

func (s *State) applyStepFailed(st *Step, ev Event, b *StepFailed) error {
	switch {
	case st.InDoubt:
		return fmt.Errorf("step %s is in doubt: only a verdict can fail it", st.ID)
	case !st.open() || st.Reenter: // it fails without being entered
		if err := s.mayEnter(st, b.Cleanup); err != nil {
			return err
		}
		st.Cleanup = b.Cleanup
		st.Output = Value{}
	}
	s.finish(st, ev, StatusStepFailed)
	st.Failure = &b.Failure
	return nil
}

func (s *State) applyStepCancelled(st *Step, ev Event, b *StepCancelled) error {
	switch {
	case !st.open():
		return fmt.Errorf("step %s is %s: there is nothing to cancel", st.ID, st.Status)
	case st.InDoubt && !b.InDoubt:
		return fmt.Errorf("step %s is in doubt: cancelling must not hide it", st.ID)
	case b.InDoubt && !st.InDoubt:
		return fmt.Errorf("step %s is not in doubt", st.ID)
	case b.InDoubt && s.CancelRequested == "":
		return fmt.Errorf("step %s is in doubt, and nobody asked for the run to be cancelled", st.ID)
	}
	s.finish(st, ev, StatusStepCancelled)
	if b.InDoubt {
		st.InDoubt = true
		s.Abandoned++
	}
	return nil
}

func (s *State) applyStepSkipped(st *Step, ev Event, b *StepSkipped) error {
	if err := s.mustBeClosed(st, false); err != nil {
		return err
	}
	s.finish(st, ev, StatusStepSkipped)
	st.Reason = b.Reason
	return nil
}

func (s *State) applyResolved(st *Step, ev Event, b *StepResolved) error {
	if !st.InDoubt || !st.open() {
		return fmt.Errorf("step %s is %s, and not in doubt", st.ID, st.Status)
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

// open reports whether the step was entered and has not ended.
func (st *Step) open() bool {
	return st.Status == StatusStepRunning || st.Status == StatusStepSuspended
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
	st.Reason, st.Failure, st.Reenter, st.AdoptedFrom = "", nil, false, ""
	st.EndedAt = ev.At
	s.closeWait(st.ID)
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
