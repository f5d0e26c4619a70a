package run

import "time"

// Types of events about the run as a whole.
const (
	TypeQueued           Type = "run_queued"
	TypeStarted          Type = "run_started"
	TypeSuspended        Type = "run_suspended"
	TypeSucceeded        Type = "run_succeeded"
	TypeFailed           Type = "run_failed"
	TypeCancelled        Type = "run_cancelled"
	TypeCancelRequested  Type = "cancel_requested"
	TypeDeadlineExtended Type = "deadline_extended"
)

// Queued is a journal's first event: all that identifies the run.
type Queued struct {
	ParentRunID   string             `json:"parent_run_id,omitzero"`
	ParentStepID  string             `json:"parent_step_id,omitzero"`
	RootRunID     string             `json:"root_run_id"`
	SessionID     string             `json:"session_id"`
	Definition    DefinitionRef      `json:"definition"`
	Bundle        Raw                `json:"definition_bundle,omitzero"`
	BundleBlob    *Blob              `json:"definition_bundle_blob,omitzero"`
	BundleHash    string             `json:"definition_bundle_hash"`
	Args          Raw                `json:"validated_args,omitzero"`
	ArgsBlob      *Blob              `json:"validated_args_blob,omitzero"`
	Budget        Budget             `json:"budget"`
	Authority     Authority          `json:"authority"`
	Tools         map[string]ToolPin `json:"tools,omitzero"`
	Workspace     string             `json:"workspace,omitzero"`
	RestartedFrom string             `json:"restarted_from,omitzero"`
	// RestartedAtStep is the step instance from which RestartedFrom is run again;
	// what comes before it is taken over. Empty if everything is run again.
	RestartedAtStep string            `json:"restarted_at_step,omitzero"`
	Labels          map[string]string `json:"labels,omitzero"`
	Semantics       int               `json:"semantics"`
	CreatedAt       time.Time         `json:"created_at"`
}

// Started: an owner began to work on the run, for the first time or again.
type Started struct {
	By        string    `json:"by"`
	Authority Authority `json:"authority"`
	// Rerun lists the effects whose in-doubt steps the operator lets be entered
	// again by this start.
	Rerun []string `json:"rerun,omitzero"`
	// GrantedMS is the wall time granted by this start, in milliseconds.
	GrantedMS int64 `json:"granted_ms,omitzero"`
	// Takeover is the generation of the store in which a copy of the run goes on
	// from here: someone said that the run goes on nowhere else. "" if this is no
	// copy, or was taken over before.
	Takeover string `json:"takeover,omitzero"`
}

// Suspended: the owner gave the run up, or was found dead.
type Suspended struct {
	Reason SuspensionKind `json:"reason"`
	// Panic is set if the engine itself broke: its message.
	Panic string `json:"panic,omitzero"`
	// Imported names who brought the run here from another store, where it may go
	// on too: it goes on here only when it is taken over.
	Imported string `json:"imported,omitzero"`
}

// SuspensionKind is why a run is suspended.
type SuspensionKind string

// The kinds of suspension, in the order in which the first that applies is told.
const (
	KindRecovery     SuspensionKind = "recovery"
	KindStopped      SuspensionKind = "stopped"
	KindInDoubt      SuspensionKind = "in_doubt"
	KindToolApproval SuspensionKind = "tool_approval"
	KindToolRunning  SuspensionKind = "tool_running"
	KindApproval     SuspensionKind = "approval"
	KindInput        SuspensionKind = "input"
	KindEvent        SuspensionKind = "event"
	KindChildren     SuspensionKind = "children"
	KindSleep        SuspensionKind = "sleep"
)

// Succeeded ends the run.
type Succeeded struct {
	Output     Raw   `json:"output,omitzero"`
	OutputBlob *Blob `json:"output_blob,omitzero"`
}

// Failed ends the run.
type Failed struct {
	Failure Failure `json:"failure"`
}

// CancelledRun ends the run.
type CancelledRun struct{}

// CancelRequested: from here on the run can only end as cancelled.
type CancelRequested struct {
	By     string `json:"by"`
	Reason string `json:"reason,omitzero"`
}

// DeadlineExtended grants time.
type DeadlineExtended struct {
	Until time.Time `json:"until"`
	By    string    `json:"by"`
}

// EventType implements Body.
func (*Queued) EventType() Type           { return TypeQueued }
func (*Started) EventType() Type          { return TypeStarted }
func (*Suspended) EventType() Type        { return TypeSuspended }
func (*Succeeded) EventType() Type        { return TypeSucceeded }
func (*Failed) EventType() Type           { return TypeFailed }
func (*CancelledRun) EventType() Type     { return TypeCancelled }
func (*CancelRequested) EventType() Type  { return TypeCancelRequested }
func (*DeadlineExtended) EventType() Type { return TypeDeadlineExtended }
