package workflow

import "encoding/json"

// Schema is the only definition schema version there is.
const Schema = 1

// Definition is one workflow document in canonical form: shorthand expanded, no
// defaults added, so that what is absent stays absent in the hash.
type Definition struct {
	Schema       int             `json:"workflow_schema"`
	ID           string          `json:"id"`
	Revision     int             `json:"revision"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	Steps        []*Step         `json:"steps"`
	Plan         *Node           `json:"plan,omitempty"`
	Output       json.RawMessage `json:"output,omitempty"` // template
	Budgets      *Budgets        `json:"budgets,omitempty"`

	// written is the canonical JSON that the definition was read from, where
	// the fields above cannot express it; see Canonical.
	written json.RawMessage
}

// Ref is "<id>@<revision>".
func (d *Definition) Ref() string { return Ref(d.ID, d.Revision) }

// StepType is what kind of work a step is.
type StepType string

// The step types.
const (
	ToolStep     StepType = "tool"
	AgentStep    StepType = "agent"
	WorkflowStep StepType = "workflow"
	ApprovalStep StepType = "approval"
	InputStep    StepType = "input"
	SleepStep    StepType = "sleep"
	EventStep    StepType = "event"
)

// FailurePolicy says what a step's failure means to what stands around it.
type FailurePolicy string

// The failure policies. Absent means FailFast.
const (
	FailFast          FailurePolicy = "fail_fast"
	ContinueWithError FailurePolicy = "continue_with_error"
	SkipDependents    FailurePolicy = "skip_dependents"
)

// Values of Step.OnUnknown. Absent means suspend.
const (
	OnUnknownSuspend = "suspend"
	OnUnknownRerun   = "rerun"
)

// Values of Step.OnTimeout. Absent means reject.
const (
	OnTimeoutReject  = "reject"
	OnTimeoutApprove = "approve"
)

// Step is a named unit of work. Which fields may be set depends on Type.
type Step struct {
	ID           string          `json:"id"`
	Type         StepType        `json:"type"`
	Description  string          `json:"description,omitempty"`
	Failure      FailurePolicy   `json:"failure,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	TimeoutMS    *int64          `json:"timeout_ms,omitempty"` // of an attempt, or of a wait
	OnUnknown    string          `json:"on_unknown,omitempty"`

	Tool         string          `json:"tool,omitempty"`
	Args         json.RawMessage `json:"args,omitempty"` // template; tool and workflow
	Capabilities []string        `json:"capabilities,omitempty"`

	Agent                    string          `json:"agent,omitempty"`
	Prompt                   json.RawMessage `json:"prompt,omitempty"` // template; agent, approval, input
	Model                    string          `json:"model,omitempty"`
	Effort                   string          `json:"effort,omitempty"`
	StructuredOutputAttempts *int            `json:"structured_output_attempts,omitempty"`

	WorkflowID string `json:"workflow_id,omitempty"`
	Revision   int    `json:"revision,omitempty"`

	OnTimeout string `json:"on_timeout,omitempty"` // approval: reject (default) or approve

	DurationMS json.RawMessage `json:"duration_ms,omitempty"` // template; sleep
	Until      json.RawMessage `json:"until,omitempty"`       // template; sleep

	Name string `json:"name,omitempty"` // event
}

// NodeType is what kind of plan node a node is.
type NodeType string

// The node types.
const (
	StepNode     NodeType = "step"
	SequenceNode NodeType = "sequence"
	ParallelNode NodeType = "parallel"
	ChoiceNode   NodeType = "choice"
	MapNode      NodeType = "map"
	RetryNode    NodeType = "retry"
	RepeatNode   NodeType = "repeat"
	// FinallyNode runs its cleanup however its node ended.
	FinallyNode NodeType = "finally"
	// OnFailureNode runs its cleanup if its node did not end with success.
	OnFailureNode NodeType = "on_failure"
)

// Node is a plan node in canonical form. Which fields may be set depends on Type.
type Node struct {
	Type NodeType `json:"type"`
	ID   string   `json:"id,omitempty"`

	Step string `json:"step,omitempty"` // step

	Nodes []*Node `json:"nodes,omitempty"` // sequence, parallel

	Condition json.RawMessage `json:"condition,omitempty"` // choice
	Then      *Node           `json:"then_branch,omitempty"`
	Else      *Node           `json:"else_branch,omitempty"`

	Source      json.RawMessage `json:"source,omitempty"` // map
	Item        string          `json:"item,omitempty"`
	Body        *Node           `json:"body,omitempty"` // map, repeat
	Concurrency *int            `json:"concurrency,omitempty"`
	Tolerate    *int            `json:"tolerate,omitempty"` // map: how many items may fail

	Node        *Node    `json:"node,omitempty"`    // retry, finally, on_failure
	Cleanup     *Node    `json:"cleanup,omitempty"` // finally, on_failure
	MaxAttempts int      `json:"max_attempts,omitempty"`
	DelayMS     *int64   `json:"delay_ms,omitempty"`
	Backoff     *float64 `json:"backoff,omitempty"`
	MaxDelayMS  *int64   `json:"max_delay_ms,omitempty"`

	Until json.RawMessage `json:"until,omitempty"` // repeat
	Max   int             `json:"max,omitempty"`
}

// Budgets bound a run. A nil field is unset: the default or the operator's
// ceiling applies. 0 is a value: none at all.
type Budgets struct {
	MaxConcurrency  *int64 `json:"max_concurrency,omitempty"`
	MaxAgents       *int64 `json:"max_agents,omitempty"`
	MaxSteps        *int64 `json:"max_steps,omitempty"`
	MaxRetries      *int64 `json:"max_retries,omitempty"`
	MaxNestingDepth *int64 `json:"max_nesting_depth,omitempty"`
	WallTimeMS      *int64 `json:"wall_time_ms,omitempty"`
	CleanupMS       *int64 `json:"cleanup_ms,omitempty"`
	MaxTokens       *int64 `json:"max_tokens,omitempty"`
	MaxCostMicros   *int64 `json:"max_cost_micros,omitempty"`
}
