package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
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
		return fmt.Errorf("apply %s event: sequence %d follows on %d", ev.Body.EventType(), ev.Sequence, s.Last)
	}
	err := s.mayFollow(ev)
	if err == nil {
		s.tick(ev.At)
		if ev.StepID != "" {
			err = s.applyStep(ev)
		} else {
			err = s.applyRun(ev)
		}
	}
	if err != nil {
		return fmt.Errorf("apply %s event %d: %w", ev.Body.EventType(), ev.Sequence, err)
	}
	s.Last, s.UpdatedAt = ev.Sequence, ev.At
	switch ev.Body.(type) {
	case *Started, *Suspended, *StepSuspended, *StepResumed:
	default:
		s.Progress = ev.Sequence
	}
	return nil
}

// mayFollow refuses what no event may be, whatever its type.
func (s *State) mayFollow(ev Event) error {
	_, first := ev.Body.(*Queued)
	switch {
	case s.Status.Terminal():
		return fmt.Errorf("the run already %s", s.Status)
	case first != (ev.Sequence == 1):
		return fmt.Errorf("a journal begins with run_queued, once")
	case !first && ev.RunID != s.RunID:
		return fmt.Errorf("it is of run %q, and the journal of run %q", ev.RunID, s.RunID)
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
		return s.applyStarted(ev, b)
	case *Suspended:
		return s.applySuspended(b)
	case *Succeeded:
		if err := s.mustGoOn(false); err != nil {
			return err
		}
		s.Output = s.value(ev.Sequence, b.Output, b.OutputBlob)
		return s.end(StatusSucceeded)
	case *Failed:
		if s.CancelRequested != "" {
			return fmt.Errorf("cancelling was asked for: the run can only end as cancelled")
		}
		s.Failure = &b.Failure
		return s.end(StatusFailed)
	case *CancelledRun:
		if s.CancelRequested == "" {
			return fmt.Errorf("nobody asked for the run to be cancelled")
		}
		return s.end(StatusCancelled)
	case *CancelRequested:
		return s.applyCancelRequested(ev, b)
	case *DeadlineExtended:
		if b.Until.After(s.Deadline(ev.At)) { // granting time never takes any
			s.Clock.Base, s.Clock.Waited = b.Until, 0
		}
	case *Decided:
		return s.applyDecided(ev, b)
	case *RetryReserved:
		return s.applyRetry(ev, b)
	case *NodeAdopted:
		return s.applyNodeAdopted(ev, b)
	default:
		return fmt.Errorf("it belongs to a step, and names none")
	}
	return nil
}

func (s *State) applyStarted(ev Event, b *Started) error {
	if s.Status == StatusRunning {
		return fmt.Errorf("the run is running")
	}
	if s.Imported != "" && b.Takeover == "" {
		return fmt.Errorf("it was imported, and nobody took it over")
	}
	if b.Takeover != "" {
		s.Imported, s.TakenOver = "", b.Takeover
	}
	s.Status, s.Suspension = StatusRunning, ""
	s.Authority, s.Rerun, s.StartedSeq = b.Authority, b.Rerun, ev.Sequence
	if s.Doomed() {
		s.CleanupFrom = ev.At
	}
	return nil
}

func (s *State) applySuspended(b *Suspended) error {
	if s.Status == StatusSuspended && b.Imported == "" {
		return fmt.Errorf("the run is suspended")
	}
	for _, st := range s.Steps {
		if st.Status == StatusStepRunning {
			return fmt.Errorf("step %s is running", st.ID)
		}
	}
	s.Status, s.Suspension, s.Imported = StatusSuspended, b.Reason, cmp.Or(b.Imported, s.Imported)
	s.applyPanic(b.Panic)
	return nil
}

func (s *State) applyCancelRequested(ev Event, b *CancelRequested) error {
	switch {
	case b.By == "":
		return fmt.Errorf("it names nobody who asked")
	case s.CancelRequested == "":
		s.doom(ev)
		s.CancelRequested, s.CancelSeq = b.By, ev.Sequence
	}
	return nil
}

// doom books that from here on the run can only end, after its cleanups.
func (s *State) doom(ev Event) {
	if !s.Doomed() {
		s.CleanupFrom = ev.At
	}
}

// Doomed reports whether the run can only end, as cancelled or failed: someone
// asked for it to be cancelled, or its wall time is over.
func (s *State) Doomed() bool { return s.CancelRequested != "" || s.Expired != nil }

// CleanupDeadline is when the time of a doomed run's cleanups is over. It counts
// from when the run came to be doomed, and anew each time it is continued. Zero for
// never: the run is not doomed, or the time was decided to be over.
func (s *State) CleanupDeadline() time.Time {
	if s.CleanupFrom.IsZero() || s.CleanupOver != nil {
		return time.Time{}
	}
	return s.CleanupFrom.Add(millis(s.Budget.CleanupMS))
}

func (s *State) applyQueued(ev Event, b *Queued) {
	s.RunID, s.ParentRunID, s.ParentStepID, s.RootRunID = ev.RunID, b.ParentRunID, b.ParentStepID, b.RootRunID
	s.SessionID, s.Definition, s.BundleHash = b.SessionID, b.Definition, b.BundleHash
	s.Bundle = s.value(ev.Sequence, b.Bundle, b.BundleBlob)
	s.Args = s.value(ev.Sequence, b.Args, b.ArgsBlob)
	s.Budget, s.Authority, s.Tools, s.Workspace = b.Budget, b.Authority, b.Tools, b.Workspace
	s.RestartedAtStep = b.RestartedAtStep
	s.RestartedFrom, s.Labels, s.Semantics, s.CreatedAt = b.RestartedFrom, maps.Clone(b.Labels), b.Semantics, b.CreatedAt
	s.Status = StatusQueued
	var none, free int64
	s.Usage.Tokens, s.Usage.CostMicros = &none, &free
	s.Clock.Base = b.CreatedAt.Add(millis(b.Budget.WallTimeMS))
	s.Clock.At = ev.At
}

func (s *State) applyDecided(ev Event, b *Decided) error {
	if b.Node == WallTimeNode || b.Node == CleanupTimeNode {
		return s.applyTimeOver(ev, b)
	}
	if err := s.mustGoOn(b.Cleanup); err != nil {
		return err
	}
	key := NodeKey(b.Scope, b.Node)
	if d, decided := s.Decisions[key]; decided && !d.timeout() && (!b.Cleanup || s.LastRetry < d.Seq) {
		return fmt.Errorf("node %s was decided before", key)
	}
	s.record(key, ev.Sequence, *b)
	return nil
}

// record keeps what a node decided.
func (s *State) record(key string, seq uint64, b Decided) {
	if s.Decisions == nil {
		s.Decisions = make(map[string]Decision)
	}
	d := Decision{Seq: seq, Count: b.Count, Truth: string(b.Value) == "true", Failure: b.Failure}
	if b.Failure == nil {
		d.Value = s.value(seq, b.Value, b.ValueBlob)
	}
	s.Decisions[key] = d
}

// applyTimeOver: the run's wall time is over, or the time of its cleanups.
func (s *State) applyTimeOver(ev Event, b *Decided) error {
	cleanup := b.Node == CleanupTimeNode
	switch err := s.mustGoOn(cleanup); {
	case err != nil:
		return err
	case b.Failure == nil:
		return fmt.Errorf("time is over without a failure")
	case cleanup && !s.Doomed():
		return fmt.Errorf("the time of cleanups is over in a run that may go on")
	case cleanup:
		s.CleanupOver = b.Failure
	default:
		s.doom(ev)
		s.Expired = b.Failure
	}
	return nil
}

// timeout reports whether the decision was that a step's timeout passed: each of
// its attempts may come to that.
func (d Decision) timeout() bool { return d.Failure != nil && d.Failure.Code == TimedOut }

func (s *State) applyRetry(ev Event, b *RetryReserved) error {
	if err := s.mustGoOn(b.Cleanup); err != nil {
		return err
	}
	s.reserve(NodeKey(b.Scope, b.Node), Retry{Round: b.Round, Seq: ev.Sequence, Due: b.Due})
	s.Usage.Retries += b.Reservation["retries"]
	return nil
}

// reserve keeps the latest round of a retry node.
func (s *State) reserve(key string, r Retry) {
	if s.Retries == nil {
		s.Retries = make(map[string]Retry)
	}
	s.Retries[key], s.LastRetry = r, r.Seq
}

// end ends the run: everything in it ended before.
func (s *State) end(status Status) error {
	for _, st := range s.Steps {
		if st.open() {
			return fmt.Errorf("step %s is %s (in doubt: %v)", st.ID, st.Status, st.InDoubt)
		}
	}
	s.Status, s.Suspension = status, ""
	return nil
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
