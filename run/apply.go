package run

import (
	"fmt"
	"maps"
	"slices"
)

// Fold gives the state of a journal's events.
func Fold(events []Event) (*State, error) {
	s := NewState()
	for _, ev := range events {
		if err := s.Apply(ev); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// NewState is the state before the first event.
func NewState() *State {
	return &State{Steps: make(map[string]*Step)}
}

// Keep makes the state keep the values that later events carry, for showing them.
func (s *State) Keep() { s.keep = true }

// Apply moves the state on by one event. An event that cannot follow on what
// was before is an error, and the state must not be used any more.
func (s *State) Apply(ev Event) error {
	if ev.Sequence != s.Last+1 {
		return fmt.Errorf("apply %s event: sequence %d follows on %d", ev.Type, ev.Sequence, s.Last)
	}
	if s.Status.Terminal() {
		return fmt.Errorf("apply %s event %d: the run already %s", ev.Type, ev.Sequence, s.Status)
	}
	if _, first := ev.Body.(*Queued); first != (ev.Sequence == 1) {
		return fmt.Errorf("apply %s event %d: a journal begins with run_queued, once", ev.Type, ev.Sequence)
	}
	s.tick(ev.At)
	var err error
	if ev.StepID != "" {
		err = s.applyStep(ev)
	} else {
		err = s.applyRun(ev)
	}
	if err != nil {
		return fmt.Errorf("apply %s event %d: %w", ev.Type, ev.Sequence, err)
	}
	s.Last, s.UpdatedAt = ev.Sequence, ev.At
	switch ev.Body.(type) {
	case *Started, *Suspended, *StepSuspended, *StepResumed:
	default:
		s.Progress = ev.Sequence
	}
	return nil
}

// applyPanic counts how often in a row the engine broke at the same place.
func (s *State) applyPanic(message string) {
	switch {
	case message == "":
	case s.PanicAt == s.Progress:
		s.Panics++
	default:
		s.PanicAt, s.Panics = s.Progress, 1
	}
}

func (s *State) applyRun(ev Event) error {
	switch b := ev.Body.(type) {
	case *Queued:
		s.applyQueued(ev, b)
	case *Started:
		s.Status, s.Suspension = StatusRunning, ""
		s.Authority, s.Rerun, s.StartedSeq = b.Authority, b.Rerun, ev.Sequence
	case *Suspended:
		s.Status, s.Suspension = StatusSuspended, b.Reason
		s.applyPanic(b.Panic)
	case *Succeeded:
		s.end(StatusSucceeded)
		s.Output = s.value(ev.Sequence, b.Output, b.OutputBlob)
	case *Failed:
		s.end(StatusFailed)
		s.Failure = &b.Failure
	case *CancelledRun:
		s.end(StatusCancelled)
	case *CancelRequested:
		if s.CancelRequested == "" {
			s.CancelRequested = b.By
		}
	case *DeadlineExtended:
		s.Clock.Base, s.Clock.Waited = b.Until, 0
	case *Decided:
		s.applyDecided(ev, b)
	case *RetryReserved:
		s.applyRetry(ev, b)
	default:
		return fmt.Errorf("it belongs to a step, and names none")
	}
	return nil
}

func (s *State) applyQueued(ev Event, b *Queued) {
	s.RunID, s.ParentRunID, s.ParentStepID, s.RootRunID = ev.RunID, b.ParentRunID, b.ParentStepID, b.RootRunID
	s.SessionID, s.Definition, s.BundleHash = b.SessionID, b.Definition, b.BundleHash
	s.Bundle = s.value(ev.Sequence, b.Bundle, b.BundleBlob)
	s.Args = s.value(ev.Sequence, b.Args, b.ArgsBlob)
	s.Budget, s.Authority, s.Tools, s.Workspace = b.Budget, b.Authority, b.Tools, b.Workspace
	s.RestartedFrom, s.Labels, s.Semantics, s.CreatedAt = b.RestartedFrom, maps.Clone(b.Labels), b.Semantics, b.CreatedAt
	s.Status = StatusQueued
	var none, free int64
	s.Usage.Tokens, s.Usage.CostMicros = &none, &free
	s.Clock.Base = b.CreatedAt.Add(millis(b.Budget.WallTimeMS))
	s.Clock.At = ev.At
}

func (s *State) applyDecided(ev Event, b *Decided) {
	if b.Node == WallTimeNode {
		s.Expired = b.Failure
		return
	}
	if s.Decisions == nil {
		s.Decisions = make(map[string]Decision)
	}
	d := Decision{Seq: ev.Sequence, Count: b.Count, Truth: string(b.Value) == "true", Failure: b.Failure}
	if b.Failure == nil {
		d.Value = s.value(ev.Sequence, b.Value, b.ValueBlob)
	}
	s.Decisions[NodeKey(b.Scope, b.Node)] = d
}

func (s *State) applyRetry(ev Event, b *RetryReserved) {
	if s.Retries == nil {
		s.Retries = make(map[string]Retry)
	}
	s.Retries[NodeKey(b.Scope, b.Node)] = Retry{Round: b.Round, Seq: ev.Sequence, Due: b.Due}
	s.Usage.Retries += b.Reservation["retries"]
}

func (s *State) end(status Status) {
	s.Status, s.Suspension = status, ""
}

func (s *State) value(seq uint64, raw Raw, blob *Blob) Value {
	v := Value{Seq: seq, Blob: blob}
	if s.keep {
		v.Raw = raw
	}
	return v
}

// OpenSteps are the step instances that were entered and have not ended, in the
// order in which they were entered.
func (s *State) OpenSteps() []*Step {
	var open []*Step
	for _, st := range s.Steps {
		if !st.Status.Ended() {
			open = append(open, st)
		}
	}
	slices.SortFunc(open, func(a, b *Step) int {
		if a.StartSeq < b.StartSeq {
			return -1
		}
		return 1
	})
	return open
}
