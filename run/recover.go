package run

// RecoverBodies gives what marks a dead owner's run as suspended: one
// step_suspended per open step in the order in which they were entered, then one
// run_suspended. Calls without an outcome are in doubt; nothing is dispatched.
// Each returned event has its step and body; the caller numbers and dates them.
func (s *State) RecoverBodies() []Event {
	return s.suspendBodies(string(RecoverySuspended), KindRecovery)
}

// ImportBodies gives what marks a run as brought here from another store: what
// recovering it would give, and who brought it. It may follow on a suspension.
func (s *State) ImportBodies(by string) []Event {
	evs := s.RecoverBodies()
	evs[len(evs)-1].Body = &Suspended{Reason: KindRecovery, Imported: by}
	return evs
}

// SuspendBodies gives what marks a run as given up by its living owner: its open
// steps that are no calls in flight, and the run itself.
func (s *State) SuspendBodies(kind SuspensionKind) []Event {
	return s.suspendBodies(string(kind), kind)
}

func (s *State) suspendBodies(reason string, kind SuspensionKind) []Event {
	var evs []Event
	for _, st := range s.OpenSteps() {
		if st.Status != StatusStepRunning {
			continue
		}
		evs = append(evs, Event{
			Header: Header{StepID: st.ID},
			Body:   &StepSuspended{Reason: reason, InDoubt: st.Effect != ""},
		})
	}
	return append(evs, Event{Body: &Suspended{Reason: kind}})
}
