package run

import "time"

// Types of events about one step instance.
const (
	TypeStepStarted   Type = "step_started"
	TypeStepSuspended Type = "step_suspended"
	TypeStepResumed   Type = "step_resumed"
	TypeStepCompleted Type = "step_completed"
	TypeStepFailed    Type = "step_failed"
	TypeStepCancelled Type = "step_cancelled"
	TypeStepSkipped   Type = "step_skipped"
	TypeStepResolved  Type = "step_resolved"
	TypeWaitSet       Type = "wait_set"
)

// StepStarted is the durable intent of one attempt, with its reservation.
type StepStarted struct {
	Attempt   int    `json:"attempt"` // from 1, cumulative
	InputHash string `json:"input_hash"`
	// Effect is the effect of this call; empty for steps that call no tool.
	Effect      string  `json:"effect,omitzero"`
	Reservation Amounts `json:"reservation"`
	// Cleanup: the step is part of a cleanup, which runs also in a run that can
	// only end, and again after each round of a retry around it.
	Cleanup bool `json:"cleanup,omitzero"`
	// The rest is set on workflow steps: the nested run's identity, minted at
	// the first start and kept, its definition and its validated arguments.
	ChildRunID string         `json:"child_run_id,omitzero"`
	Workflow   *DefinitionRef `json:"workflow,omitzero"`
	Args       Raw            `json:"args,omitzero"`
	ArgsBlob   *Blob          `json:"args_blob,omitzero"`
}

// WaitSet is the durable deadline of a waiting step.
type WaitSet struct {
	Deadline time.Time `json:"deadline"`
}

// StepSuspended: the step is open, and nobody is working on it.
type StepSuspended struct {
	Reason string `json:"reason"` // a failure code or suspension kind
	// InDoubt: a tool call began, and nobody knows whether it happened.
	InDoubt bool   `json:"in_doubt,omitzero"`
	Message string `json:"message,omitzero"`
}

// StepResumed: the step is being worked on again, within the same attempt.
type StepResumed struct{}

// StepCompleted is a step's durable outcome.
type StepCompleted struct {
	Output     Raw   `json:"output,omitzero"`
	OutputBlob *Blob `json:"output_blob,omitzero"`
}

// StepFailed is a definite failure. Without a start before it, the step was
// never entered (its input could not be made, or it was not allowed).
type StepFailed struct {
	Failure Failure `json:"failure"`
	// Cleanup is set if the step was never entered, and is part of a cleanup.
	Cleanup bool `json:"cleanup,omitzero"`
	// Evidence is the output that was rejected, if EffectDone.
	Evidence     Raw   `json:"evidence,omitzero"`
	EvidenceBlob *Blob `json:"evidence_blob,omitzero"`
}

// StepCancelled: the call returned, or its grace ended, after its scope was cancelled.
type StepCancelled struct {
	// InDoubt: the run was cancelled by someone although this call's outcome is unknown.
	InDoubt bool `json:"in_doubt,omitzero"`
}

// StepSkipped: the step will not be entered.
type StepSkipped struct {
	Reason string `json:"reason"` // not_taken, or dependency_skipped
}

// Reasons of StepSkipped.
const (
	SkipNotTaken   = "not_taken"
	SkipDependency = string(DependencySkipped)
)

// Verdict is what someone decided on a step in doubt.
type Verdict string

// The verdicts.
const (
	VerdictSucceeded Verdict = "succeeded" // it happened; here is its output
	VerdictFailed    Verdict = "failed"    // it did not happen, and the step failed
	VerdictRerun     Verdict = "rerun"     // enter it again
)

// StepResolved ends a doubt.
type StepResolved struct {
	Verdict    Verdict  `json:"verdict"`
	By         string   `json:"by"`
	Output     Raw      `json:"output,omitzero"`
	OutputBlob *Blob    `json:"output_blob,omitzero"`
	Failure    *Failure `json:"failure,omitzero"`
}

// EventType implements Body.
func (*StepStarted) EventType() Type   { return TypeStepStarted }
func (*WaitSet) EventType() Type       { return TypeWaitSet }
func (*StepSuspended) EventType() Type { return TypeStepSuspended }
func (*StepResumed) EventType() Type   { return TypeStepResumed }
func (*StepCompleted) EventType() Type { return TypeStepCompleted }
func (*StepFailed) EventType() Type    { return TypeStepFailed }
func (*StepCancelled) EventType() Type { return TypeStepCancelled }
func (*StepSkipped) EventType() Type   { return TypeStepSkipped }
func (*StepResolved) EventType() Type  { return TypeStepResolved }
