package workflow

import (
	"encoding/json"

	"github.com/culm-dev/culm/internal/expr"
	"github.com/culm-dev/culm/internal/schema"
)

// Bundle is a root definition and every definition it reaches, pinned at one
// moment. Its hash is SHA-256 over its canonical JSON.
type Bundle struct {
	PublicationRevision int                    `json:"publication_revision"`
	RootID              string                 `json:"root_id"`
	RootRevision        int                    `json:"root_revision"`
	Definitions         map[string]*Definition `json:"definitions"` // by Ref

	written json.RawMessage    // canonical bytes that it was parsed from
	sources map[string]*Source // by Ref
}

// Program is a compiled bundle: everything checked, parsed and linked, ready to
// be walked. It is immutable and safe for concurrent use.
type Program struct {
	Bundle *Bundle
	Hash   string // of the bundle, hex SHA-256
	Root   *Workflow
	// Workflows holds every definition of the bundle, by Ref.
	Workflows map[string]*Workflow
	// Depth is how many levels of workflow steps nest below the root; 0 for none.
	Depth int
}

// Workflow is one compiled definition.
type Workflow struct {
	Def    *Definition
	Ref    string
	Input  *schema.Schema // never nil
	Output *schema.Schema // nil if none is declared
	// Plan is the root of the compiled plan.
	Plan *PlanNode
	// Nodes are all plan nodes in pre-order; Nodes[n.Index] == n.
	Nodes []*PlanNode
	// Named finds what a reference of kind step may name: the plan node of a
	// step, or a plan node with an id.
	Named map[string]*PlanNode
	// Result is the output template; nil means the plan's own output.
	Result *expr.Template
	// Produces is what is known of the workflow's output: Output if it is
	// declared, else what the result template or the plan gives; nil if nothing
	// is known.
	Produces *schema.Schema
}

// PlanNode is one node of a compiled plan.
type PlanNode struct {
	Index int
	// Path is the node's place in the canonical definition (RFC 6901), such as
	// "/plan/nodes/0"; a plan that was left out is "/plan" all the same.
	Path   string
	Type   NodeType
	ID     string // "" if the node has none; for a step node the step's id
	Parent *PlanNode
	// Slot is the position among the parent's children.
	Slot int
	// Children: the nodes of a sequence or parallel; then and, if there is one,
	// else of a choice; the body of a map or repeat; the node of a retry; the node
	// and the cleanup of a finally or on_failure.
	Children []*PlanNode
	// ScopeDepth is how many map and repeat bodies of this definition enclose
	// the node (the node itself not counted).
	ScopeDepth int
	// Leaves is how many steps one pass through the node can enter at most: the
	// larger branch of a choice, a map's or repeat's body once, a nested
	// workflow's own leaves and its step. It is at most [MaxLeaves].
	Leaves int
	// Step is set on step nodes.
	Step *StepInfo
	// Expr is a choice's condition, a map's source or a repeat's until.
	Expr *expr.Template
	// Def is the definition's node. For a plan that was left out it is synthetic.
	Def *Node
}

// MaxLeaves is where [PlanNode.Leaves] stops counting.
const MaxLeaves = 1 << 30

// StepInfo is a compiled step.
type StepInfo struct {
	Def *Step
	// Args, Prompt, DurationMS and Until are the step's templates, nil if absent.
	// Args that are null are absent too: both mean an empty object.
	Args, Prompt, DurationMS, Until *expr.Template
	// Output is the step's declared output schema, nil if none.
	Output *schema.Schema
	// Nested is the workflow that a workflow step runs.
	Nested *Workflow
}

// ToolSchemas tells the compiler what is known of tools: their input and output
// schemas. ok is false for a tool that nobody knows here, which is not an error
// at compile time: an unknown tool is refused when a run starts.
type ToolSchemas func(name string) (input, output json.RawMessage, ok bool)
