package run

import (
	"encoding/json"
	"time"
)

// Snapshot is a state as the API shows it: its JSON names are the API.
type Snapshot struct {
	RunID        string                   `json:"run_id"`
	ParentRunID  string                   `json:"parent_run_id,omitzero"`
	ParentStepID string                   `json:"parent_step_id,omitzero"`
	RootRunID    string                   `json:"root_run_id"`
	SessionID    string                   `json:"session_id"`
	Definition   DefinitionRef            `json:"definition"`
	Bundle       json.RawMessage          `json:"definition_bundle,omitzero"`
	BundleHash   string                   `json:"definition_bundle_hash"`
	Args         json.RawMessage          `json:"validated_args,omitzero"`
	Budget       Budget                   `json:"budget"`
	Authority    Authority                `json:"authority"`
	Status       Status                   `json:"status"`
	Steps        map[string]*SnapshotStep `json:"steps"`
	Usage        Usage                    `json:"usage"`
	LastSequence uint64                   `json:"last_sequence"`
	Output       json.RawMessage          `json:"output,omitzero"`
	Failure      *Failure                 `json:"failure,omitzero"`
	// CancelRequested names who asked for the run to be cancelled.
	CancelRequested string      `json:"cancel_requested,omitzero"`
	Suspension      *Suspension `json:"suspension,omitzero"`
	Waits           []Wait      `json:"waits"`
	RestartedFrom   string      `json:"restarted_from,omitzero"`
	// RestartedAtStep is the step from which RestartedFrom is run again.
	RestartedAtStep string            `json:"restarted_at_step,omitzero"`
	Labels          map[string]string `json:"labels"`
	Semantics       int               `json:"semantics"`
	CreatedAt       time.Time         `json:"created_at"`
	UpdatedAt       time.Time         `json:"updated_at"`
	// Deadline is when the wall time is over if nothing waits from now on.
	Deadline time.Time `json:"deadline"`
}

// SnapshotStep is a step instance as the API shows it.
type SnapshotStep struct {
	ID         string          `json:"id"`
	Status     StepStatus      `json:"status"`
	InputHash  string          `json:"input_hash,omitzero"`
	Output     json.RawMessage `json:"output,omitzero"`
	Failure    *Failure        `json:"failure,omitzero"`
	Attempts   int             `json:"attempts"`
	InDoubt    bool            `json:"in_doubt"`
	Effect     string          `json:"effect,omitzero"`
	Cleanup    bool            `json:"cleanup,omitzero"` // it is part of a cleanup
	ChildRunID string          `json:"child_run_id,omitzero"`
	Workflow   *DefinitionRef  `json:"workflow,omitzero"` // of a workflow step
	Args       json.RawMessage `json:"args,omitzero"`     // of a workflow step
	Reason     string          `json:"reason,omitzero"`
	// AdoptedFrom is the run that ran this step, if it was taken over from one.
	AdoptedFrom string     `json:"adopted_from,omitzero"`
	StartedAt   *time.Time `json:"started_at,omitzero"`
	EndedAt     *time.Time `json:"ended_at,omitzero"`
}

// Suspension says why a suspended run is so.
type Suspension struct {
	Kind SuspensionKind `json:"kind"`
}

// Wait is one thing that a run waits for.
type Wait struct {
	Kind     SuspensionKind `json:"kind"`
	Step     string         `json:"step"`
	Since    time.Time      `json:"since"`
	Deadline *time.Time     `json:"deadline,omitzero"`
}

// View is what API calls answer: a snapshot, and what is true of the run now.
type View struct {
	Snapshot
	Owner   *Owner `json:"owner"` // null if nobody owns it
	Damaged string `json:"damaged,omitzero"`
	// Copy says that the run was copied from another store, where it may go on
	// too, and how: "imported" or "restored" (with a backup). Empty if it was not,
	// was taken over since, or has ended.
	Copy string `json:"copy,omitzero"`
	// Repeated: a start under a key that was used before led to this run.
	Repeated bool `json:"repeated,omitzero"`
	// Actions has every action's name: null if it is possible now, else the code
	// with which it would be refused.
	Actions map[string]*string `json:"actions"`
}

// Owner is the process that may append to the run.
type Owner struct {
	ID    string `json:"id"`
	Alive bool   `json:"alive"`
}

// Snapshot shows the state. Values are shown as far as the state kept them.
func (s *State) Snapshot() *Snapshot {
	sn := &Snapshot{
		RunID: s.RunID, ParentRunID: s.ParentRunID, ParentStepID: s.ParentStepID, RootRunID: s.RootRunID,
		SessionID: s.SessionID, Definition: s.Definition, Bundle: s.Bundle.Raw, BundleHash: s.BundleHash,
		Args: s.Args.Raw, Budget: s.Budget, Authority: s.Authority, Status: s.Status,
		Steps: make(map[string]*SnapshotStep, len(s.Steps)), Usage: s.Usage, LastSequence: s.Last,
		Output: s.Output.Raw, Failure: s.Failure, CancelRequested: s.CancelRequested, Waits: s.waits(), RestartedFrom: s.RestartedFrom,
		RestartedAtStep: s.RestartedAtStep,
		Labels:          s.Labels, Semantics: s.Semantics, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
		Deadline: s.Deadline(s.UpdatedAt),
	}
	if sn.Labels == nil {
		sn.Labels = map[string]string{}
	}
	if s.Status == StatusSuspended {
		sn.Suspension = &Suspension{Kind: s.Suspension}
	}
	for id, st := range s.Steps {
		sn.Steps[id] = st.snapshot()
	}
	return sn
}

func (st *Step) snapshot() *SnapshotStep {
	return &SnapshotStep{
		ID: st.ID, Status: st.Status, InputHash: st.InputHash, Output: st.Output.Raw, Failure: st.shownFailure(),
		Attempts: st.Attempts, InDoubt: st.InDoubt, Effect: st.Effect, Cleanup: st.Cleanup, ChildRunID: st.ChildRunID,
		Workflow: st.Workflow, Args: st.Args.Raw, Reason: st.Reason,
		AdoptedFrom: st.AdoptedFrom, StartedAt: at(st.StartedAt), EndedAt: at(st.EndedAt),
	}
}

// shownFailure gives a suspended step the failure that says why.
func (st *Step) shownFailure() *Failure {
	if st.Failure != nil || st.Status != StatusStepSuspended {
		return st.Failure
	}
	if st.InDoubt && st.Reason == string(OutcomeUnknown) {
		return &Failure{Code: OutcomeUnknown, Message: "the call began, and nobody knows whether it happened"}
	}
	if st.Reason == string(RecoverySuspended) {
		return &Failure{Code: RecoverySuspended, Message: "the process that worked on this step is gone"}
	}
	return &Failure{Code: SuspendedCode, Message: "suspended: " + st.Reason}
}

func (s *State) waits() []Wait {
	waits := []Wait{}
	for _, st := range s.OpenSteps() {
		switch {
		case st.InDoubt:
			waits = append(waits, Wait{Kind: KindInDoubt, Step: st.ID, Since: st.StartedAt})
		case !st.Deadline.IsZero():
			waits = append(waits, Wait{Kind: KindSleep, Step: st.ID, Since: st.StartedAt, Deadline: at(st.Deadline)})
		}
	}
	return waits
}

func at(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
