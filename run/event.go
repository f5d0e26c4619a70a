package run

import (
	"encoding/json"
	"time"

	"github.com/culm-dev/culm/workflow"
)

// Semantics is how runs started by this version are interpreted. A run keeps the
// number it started with for ever.
const Semantics = 1

// Event is one fact in a run's journal.
type Event struct {
	Header
	Body Body
}

// Header is what every event has.
type Header struct {
	RunID    string    `json:"run_id"`   // the root run's
	Sequence uint64    `json:"sequence"` // from 1, gap-free
	At       time.Time `json:"at"`
	StepID   string    `json:"step_id,omitzero"` // full step instance id
	Type     Type      `json:"type"`
}

// Type is an event's type.
type Type string

// Body is an event's payload: one of the types below. Its fields stand flat
// beside the header's in the journal line.
type Body interface{ EventType() Type }

// Blob refers to a value that is kept beside the journal because of its size.
type Blob struct {
	SHA256 string `json:"sha256"` // of the value's canonical JSON, hex
	Size   int64  `json:"size"`   // bytes
}

// InlineLimit is the size in bytes up to which values stand in the journal
// itself; larger ones are blobs.
const InlineLimit = 4 << 10

// Failure says why a step or run failed.
type Failure struct {
	Code      Code   `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
	// EffectDone: the call completed, and only its output was rejected.
	EffectDone bool `json:"effect_done,omitzero"`
}

func (f *Failure) Error() string { return string(f.Code) + ": " + f.Message }

// Code is a failure's stable code.
type Code string

// The failure codes.
const (
	InvalidDefinition  Code = "invalid_definition"
	InvalidInput       Code = "invalid_input"
	InvalidOutput      Code = "invalid_output"
	UnknownReference   Code = "unknown_reference"
	ExpressionFailed   Code = "expression_failed"
	PermissionDenied   Code = "permission_denied"
	UntrustedWorkspace Code = "untrusted_workspace"
	BudgetExceeded     Code = "budget_exceeded"
	RetryExhausted     Code = "retry_exhausted"
	RepeatExhausted    Code = "repeat_exhausted"
	ExecutionFailed    Code = "execution_failed"
	OutcomeUnknown     Code = "outcome_unknown"
	Rejected           Code = "rejected"
	TimedOut           Code = "timed_out"
	Cancelled          Code = "cancelled"
	RecoverySuspended  Code = "recovery_suspended"
	SuspendedCode      Code = "suspended"
	DependencySkipped  Code = "dependency_skipped"
	Storage            Code = "storage"
	Internal           Code = "internal"
)

// Authority is what a run may do. It is the operator's, and journaled.
type Authority struct {
	Trusted bool     `json:"trusted"`
	Allow   []string `json:"allow,omitempty"` // capabilities, sorted
}

// Budget is what a run may spend: every limit resolved when it starts.
type Budget = workflow.Limits

// DefinitionRef names a definition.
type DefinitionRef struct {
	ID       string `json:"id"`
	Revision int    `json:"revision"`
}

// ToolPin is what was pinned of a tool when the run started.
type ToolPin struct {
	Effect string `json:"effect"` // as declared: the worst case
	Hash   string `json:"hash"`   // over name, effect, capability and schemas
}

// Amounts are spends or reservations by unit: steps, retries, agents, tokens, cost_micros.
type Amounts map[string]int64

// Raw is a JSON value.
type Raw = json.RawMessage
