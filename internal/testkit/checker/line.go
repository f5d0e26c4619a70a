package checker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// The types of events.
const (
	runQueued        = "run_queued"
	runStarted       = "run_started"
	runSuspended     = "run_suspended"
	runSucceeded     = "run_succeeded"
	runFailed        = "run_failed"
	runCancelled     = "run_cancelled"
	cancelRequested  = "cancel_requested"
	deadlineExtended = "deadline_extended"
	stepStarted      = "step_started"
	stepSuspended    = "step_suspended"
	stepResumed      = "step_resumed"
	stepCompleted    = "step_completed"
	stepFailed       = "step_failed"
	stepCancelled    = "step_cancelled"
	stepSkipped      = "step_skipped"
	stepResolved     = "step_resolved"
	waitSet          = "wait_set"
	decided          = "decided"
	retryReserved    = "retry_reserved"
	stepAdopted      = "step_adopted"
	nodeAdopted      = "node_adopted"
)

// aboutStep says of every event type whether its events name a step.
var aboutStep = map[string]bool{
	runQueued: false, runStarted: false, runSuspended: false, runSucceeded: false, runFailed: false,
	runCancelled: false, cancelRequested: false, deadlineExtended: false, decided: false, retryReserved: false,
	nodeAdopted: false, stepAdopted: true,
	stepStarted: true, stepSuspended: true, stepResumed: true, stepCompleted: true, stepFailed: true,
	stepCancelled: true, stepSkipped: true, stepResolved: true, waitSet: true,
}

// wallTime is the node of the decision that the run's time is over.
const wallTime = "/budgets/wall_time_ms"

// cleanupTime is the node of the decision that the time of cleanups is over.
const cleanupTime = "/budgets/cleanup_ms"

// line is one journal line: what the checker needs of any type of event.
type line struct {
	RunID    string    `json:"run_id"`
	Sequence uint64    `json:"sequence"`
	At       time.Time `json:"at"`
	StepID   string    `json:"step_id"`
	Type     string    `json:"type"`

	// run_queued
	RootRunID  string                     `json:"root_run_id"`
	Definition definitionRef              `json:"definition"`
	Bundle     json.RawMessage            `json:"definition_bundle"`
	BundleBlob *blob                      `json:"definition_bundle_blob"`
	BundleHash string                     `json:"definition_bundle_hash"`
	Budget     limits                     `json:"budget"`
	Tools      map[string]json.RawMessage `json:"tools"`
	CreatedAt  time.Time                  `json:"created_at"`
	// and of a run that takes over what another one did
	RestartedFrom   string `json:"restarted_from"`
	RestartedAtStep string `json:"restarted_at_step"`

	// step_adopted
	FromRun   string `json:"from_run"`
	Cancelled bool   `json:"cancelled"`

	// steps
	Attempt     int              `json:"attempt"`
	Effect      string           `json:"effect"`
	Reservation map[string]int64 `json:"reservation"`
	ChildRunID  string           `json:"child_run_id"`
	InDoubt     bool             `json:"in_doubt"`
	Verdict     string           `json:"verdict"`
	Reason      string           `json:"reason"`
	Cleanup     bool             `json:"cleanup"`
	Panic       string           `json:"panic"`    // of run_suspended: the engine broke
	Imported    string           `json:"imported"` // of run_suspended: brought from another store
	Takeover    string           `json:"takeover"` // of run_started: a copy goes on

	// outcomes
	Output     json.RawMessage `json:"output"`
	OutputBlob *blob           `json:"output_blob"`
	Failure    json.RawMessage `json:"failure"`

	// nodes
	Node      string          `json:"node"`
	Scope     string          `json:"scope"`
	Value     json.RawMessage `json:"value"`
	ValueBlob *blob           `json:"value_blob"`
	Count     int             `json:"count"`
	Round     int             `json:"round"`
	Due       time.Time       `json:"due"`

	// deadline_extended
	Until time.Time `json:"until"`
}

type definitionRef struct {
	ID       string `json:"id"`
	Revision int    `json:"revision"`
}

type blob struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

type limits struct {
	MaxConcurrency int64 `json:"max_concurrency"`
	MaxAgents      int64 `json:"max_agents"`
	MaxSteps       int64 `json:"max_steps"`
	MaxRetries     int64 `json:"max_retries"`
	WallTimeMS     int64 `json:"wall_time_ms"`
	CleanupMS      int64 `json:"cleanup_ms"`
}

// failure is what an event says of why something failed.
type failure struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

func decode(text []byte) (*line, error) {
	if bytes.ContainsAny(text, "\n\r") {
		return nil, errors.New("the line holds a line feed")
	}
	l := new(line)
	if err := json.Unmarshal(text, l); err != nil {
		return nil, fmt.Errorf("the line cannot be read: %w", err)
	}
	step, known := aboutStep[l.Type]
	switch {
	case !known:
		return nil, fmt.Errorf("unknown type of event %q", l.Type)
	case step != (l.StepID != ""):
		return nil, fmt.Errorf("%s names step %q", l.Type, l.StepID)
	case l.At.IsZero():
		return nil, fmt.Errorf("%s has no time", l.Type)
	}
	return l, nil
}

// failed gives the event's failure, or nil if it has none.
func (l *line) failed() *failure {
	if isNull(l.Failure) {
		return nil
	}
	f := new(failure)
	if json.Unmarshal(l.Failure, f) != nil {
		return nil
	}
	return f
}

func (l *line) truth() bool { return string(l.Value) == "true" }

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// parse decodes a value so that numbers keep their digits.
func parse(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}
