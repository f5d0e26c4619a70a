package run

import "fmt"

// mayAdopt refuses to take anything over but at the very beginning of a run that
// was started for that.
func (s *State) mayAdopt() error {
	switch {
	case s.Status != StatusQueued:
		return fmt.Errorf("the run is %s: nothing can be taken over any more", s.Status)
	case s.RestartedFrom == "" || s.RestartedAtStep == "":
		return fmt.Errorf("the run was not started to go on from a step of another one")
	}
	return nil
}

func (s *State) applyStepAdopted(st *Step, ev Event, b *StepAdopted) error {
	if err := s.mayAdopt(); err != nil {
		return err
	}
	switch {
	case st.Status != "":
		return fmt.Errorf("step %s is %s: it was taken over before", st.ID, st.Status)
	case b.FromRun == "":
		return fmt.Errorf("step %s is taken over from no run", st.ID)
	case st.ID == s.RestartedAtStep:
		return fmt.Errorf("step %s is the one to be run again", st.ID)
	}
	switch {
	case b.Cancelled:
		s.finish(st, ev, StatusStepCancelled)
	case b.Failure != nil:
		s.finish(st, ev, StatusStepFailed)
		st.Failure = b.Failure
	default:
		s.finish(st, ev, StatusStepSucceeded)
		st.Output = s.value(ev.Sequence, b.Output, b.OutputBlob)
	}
	st.InputHash, st.AdoptedFrom = b.InputHash, b.FromRun
	return nil
}

func (s *State) applyNodeAdopted(ev Event, b *NodeAdopted) error {
	if err := s.mayAdopt(); err != nil {
		return err
	}
	key := NodeKey(b.Scope, b.Node)
	if b.Round > 0 {
		if _, reserved := s.Retries[key]; reserved {
			return fmt.Errorf("the rounds of node %s were taken over before", key)
		}
		s.reserve(key, Retry{Round: b.Round, Seq: ev.Sequence})
		return nil
	}
	if _, decided := s.Decisions[key]; decided {
		return fmt.Errorf("node %s was decided before", key)
	}
	s.record(key, ev.Sequence, Decided{Value: b.Value, ValueBlob: b.ValueBlob, Count: b.Count, Failure: b.Failure})
	return nil
}
