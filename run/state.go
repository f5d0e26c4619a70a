package run

import (
	"encoding/json"
	"time"
)

// Status is a run's status.
type Status string

// The statuses of a run. The last three are terminal and never change.
const (
	StatusQueued    Status = "queued"
	StatusRunning   Status = "running"
	StatusSuspended Status = "suspended"
	StatusSucceeded Status = "succeeded"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
)

// Terminal reports whether the status is final.
func (s Status) Terminal() bool {
	return s == StatusSucceeded || s == StatusFailed || s == StatusCancelled
}

// Value is a JSON value that an event carries: where it is, and, if it was kept,
// what it is. States hold where, so that memory does not hold outputs.
type Value struct {
	Seq  uint64          `json:"sequence"` // of the event that carries it; 0 for no value
	Blob *Blob           `json:"blob,omitzero"`
	Raw  json.RawMessage `json:"-"`
}

// IsZero reports whether there is no value.
func (v Value) IsZero() bool { return v.Seq == 0 }

// State is the fold of a root run's journal. Its own JSON form is a checkpoint:
// references instead of values. People and programs are shown a Snapshot.
type State struct {
	RunID        string             `json:"run_id"`
	ParentRunID  string             `json:"parent_run_id,omitzero"`
	ParentStepID string             `json:"parent_step_id,omitzero"`
	RootRunID    string             `json:"root_run_id"`
	SessionID    string             `json:"session_id"`
	Definition   DefinitionRef      `json:"definition"`
	Bundle       Value              `json:"definition_bundle"`
	BundleHash   string             `json:"definition_bundle_hash"`
	Args         Value              `json:"validated_args"`
	Budget       Budget             `json:"budget"`
	Tools        map[string]ToolPin `json:"tools,omitzero"`
	Workspace    string             `json:"workspace,omitzero"`
	Status       Status             `json:"status"`
	Steps        map[string]*Step   `json:"steps"`
	Usage        Usage              `json:"usage"`
	Last         uint64             `json:"last_sequence"`
	Output       Value              `json:"output,omitzero"`
	Failure      *Failure           `json:"failure,omitzero"`
	Suspension   SuspensionKind     `json:"suspension,omitzero"`
	Labels       map[string]string  `json:"labels,omitzero"`
	Semantics    int                `json:"semantics"`
	CreatedAt    time.Time          `json:"created_at"`
	UpdatedAt    time.Time          `json:"updated_at"`

	RestartedFrom   string `json:"restarted_from,omitzero"`
	RestartedAtStep string `json:"restarted_at_step,omitzero"`

	// Authority is what the run may do, widened by each start that added to it.
	Authority Authority `json:"authority"`
	// Rerun and StartedSeq are of the latest run_started.
	Rerun      []string `json:"rerun,omitzero"`
	StartedSeq uint64   `json:"started_seq,omitzero"`
	// Imported names who brought the run here from another store; "" if nobody did,
	// or it was taken over since.
	Imported string `json:"imported,omitzero"`
	// TakenOver is the generation of the store in which the run was taken over
	// last.
	TakenOver string `json:"taken_over,omitzero"`
	// CancelRequested names who asked, once someone did.
	CancelRequested string `json:"cancel_requested,omitzero"`
	// CancelSeq is the event by which it was asked for first.
	CancelSeq uint64 `json:"cancel_seq,omitzero"`
	// Expired is set once the wall time was decided to be over.
	Expired *Failure `json:"expired,omitzero"`
	// CleanupFrom is when the time of cleanups began to run: when the run came to
	// be one that can only end, or was continued since. Zero before that.
	CleanupFrom time.Time `json:"cleanup_from,omitzero"`
	// CleanupOver is set once that time was decided to be over.
	CleanupOver *Failure `json:"cleanup_over,omitzero"`

	Decisions map[string]Decision `json:"decisions,omitzero"` // by NodeKey
	Retries   map[string]Retry    `json:"retries,omitzero"`   // by NodeKey
	// LastRetry is the latest retry_reserved of any node.
	LastRetry uint64 `json:"last_retry,omitzero"`

	Clock Clock `json:"clock"`

	// Doubts is how many steps are in doubt.
	Doubts int `json:"doubts,omitzero"`
	// Abandoned is how many steps the run was cancelled with although they were
	// in doubt.
	Abandoned int `json:"abandoned,omitzero"`

	// Progress is the latest event that is more than a coming or going of owners.
	Progress uint64 `json:"progress,omitzero"`
	// PanicAt and Panics: the engine broke that often in a row at that event.
	PanicAt uint64 `json:"panic_at,omitzero"`
	Panics  int    `json:"panics,omitzero"`

	keep    bool       // keep values in memory
	waiting *waitIndex // over Clock.Waits; nil while there never was one
}

// Step is the state of one step instance.
type Step struct {
	ID        string     `json:"id"`
	Status    StepStatus `json:"status"`
	InputHash string     `json:"input_hash,omitzero"`
	Output    Value      `json:"output,omitzero"`
	Failure   *Failure   `json:"failure,omitzero"`
	Attempts  int        `json:"attempts"`
	InDoubt   bool       `json:"in_doubt,omitzero"`
	// Effect is the latest attempt's; empty if the step calls no tool.
	Effect string `json:"effect,omitzero"`
	// Cleanup: the step is part of a cleanup.
	Cleanup    bool   `json:"cleanup,omitzero"`
	ChildRunID string `json:"child_run_id,omitzero"`
	Args       Value  `json:"args,omitzero"` // of a workflow step
	// Workflow is the definition that a workflow step runs.
	Workflow  *DefinitionRef `json:"workflow,omitzero"`
	Deadline  time.Time      `json:"deadline,omitzero"` // of a wait
	Reason    string         `json:"reason,omitzero"`   // why suspended or skipped
	StartedAt time.Time      `json:"started_at,omitzero"`
	EndedAt   time.Time      `json:"ended_at,omitzero"`
	StartSeq  uint64         `json:"start_seq,omitzero"` // of the latest step_started
	LastSeq   uint64         `json:"last_seq,omitzero"`  // of the event that gave the status
	// AdoptedFrom is the run that ran this step, if it was taken over.
	AdoptedFrom string `json:"adopted_from,omitzero"`
	// Reenter: a verdict said that the step is to be entered again.
	Reenter bool `json:"reenter,omitzero"`
}

// StepStatus is a step instance's status.
type StepStatus string

// The statuses of a step instance. Queued is derived, never recorded: it only
// waits for a slot.
const (
	StatusStepQueued    StepStatus = "queued"
	StatusStepRunning   StepStatus = "running"
	StatusStepSuspended StepStatus = "suspended"
	StatusStepSucceeded StepStatus = "succeeded"
	StatusStepFailed    StepStatus = "failed"
	StatusStepCancelled StepStatus = "cancelled"
	StatusStepSkipped   StepStatus = "skipped"
)

// Ended reports whether the status is an end: a retry round may still open a
// step again that ended otherwise than succeeded.
func (s StepStatus) Ended() bool {
	switch s {
	case StatusStepSucceeded, StatusStepFailed, StatusStepCancelled, StatusStepSkipped:
		return true
	}
	return false
}

// Usage is what a run spent.
type Usage struct {
	Steps      int64  `json:"steps"`
	Retries    int64  `json:"retries"`
	Agents     int64  `json:"agents"`
	Tokens     *int64 `json:"tokens"`      // null once a part could not be measured
	CostMicros *int64 `json:"cost_micros"` // the same
}

// Decision is what a node decided.
type Decision struct {
	Seq     uint64   `json:"sequence"`
	Value   Value    `json:"value"`
	Truth   bool     `json:"truth,omitzero"` // of a boolean
	Count   int      `json:"count,omitzero"` // of a map's items
	Failure *Failure `json:"failure,omitzero"`
}

// Retry is the latest round of a retry node.
type Retry struct {
	Round int       `json:"round"`
	Seq   uint64    `json:"sequence"`
	Due   time.Time `json:"due"`
}

// NodeKey names a plan node's instance in Decisions and Retries. A node has no
// space in it, so that the last space parts the two.
func NodeKey(scope, node string) string { return scope + " " + node }
