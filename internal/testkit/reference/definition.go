package reference

import (
	"encoding/json"
	"fmt"

	"github.com/culm-dev/culm/internal/schema"
	"github.com/culm-dev/culm/workflow"
)

// definition is a definition with its schemas compiled.
type definition struct {
	*workflow.Definition
	plan   *workflow.Node
	steps  map[string]*workflow.Step
	depths map[string]int // of each step and named node: the scopes around it
	input  *schema.Schema
	output *schema.Schema            // nil if none is declared
	of     map[string]*schema.Schema // steps' output schemas
}

func readDefinitions(b *workflow.Bundle) (map[string]*definition, error) {
	defs := make(map[string]*definition, len(b.Definitions))
	for ref, d := range b.Definitions {
		def, err := readDefinition(d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ref, err)
		}
		defs[ref] = def
	}
	return defs, nil
}

func readDefinition(d *workflow.Definition) (*definition, error) {
	def := &definition{
		Definition: d, plan: d.Plan, input: schema.Default(),
		steps: make(map[string]*workflow.Step), depths: make(map[string]int), of: make(map[string]*schema.Schema),
	}
	var err error
	for _, s := range d.Steps {
		def.steps[s.ID] = s
		if def.of[s.ID], err = compile(s.OutputSchema); err != nil {
			return nil, fmt.Errorf("step %s: %w", s.ID, err)
		}
	}
	if def.output, err = compile(d.OutputSchema); err != nil {
		return nil, err
	}
	if d.InputSchema != nil {
		if def.input, err = compile(d.InputSchema); err != nil {
			return nil, err
		}
	}
	if def.plan == nil {
		def.plan = &workflow.Node{Type: workflow.SequenceNode}
		for _, s := range d.Steps {
			def.plan.Nodes = append(def.plan.Nodes, &workflow.Node{Type: workflow.StepNode, Step: s.ID})
		}
	}
	def.measure(def.plan, 0)
	return def, nil
}

func compile(raw json.RawMessage) (*schema.Schema, error) {
	if raw == nil {
		return nil, nil
	}
	s, problems := schema.Compile(raw)
	if len(problems) > 0 {
		return nil, fmt.Errorf("schema %s: %s", problems[0].At, problems[0].Message)
	}
	return s, nil
}

// measure notes how many scopes are around each name.
func (d *definition) measure(n *workflow.Node, depth int) {
	if n.Type == workflow.StepNode {
		d.depths[n.Step] = depth
		return
	}
	if n.ID != "" {
		d.depths[n.ID] = depth
	}
	if n.Type == workflow.MapNode || n.Type == workflow.RepeatNode {
		depth++
	}
	for _, child := range children(n) {
		d.measure(child, depth)
	}
}

// children are a node's parts in their order.
func children(n *workflow.Node) []*workflow.Node {
	parts := n.Nodes
	for _, p := range []*workflow.Node{n.Then, n.Else, n.Body, n.Node, n.Cleanup} {
		if p != nil {
			parts = append(parts[:len(parts):len(parts)], p)
		}
	}
	return parts
}

// leavesOf is how many steps one pass through the node can enter at most.
func (x *interp) leavesOf(d *definition, n *workflow.Node) int64 {
	if n.Type == workflow.StepNode {
		s := d.steps[n.Step]
		if s.Type != workflow.WorkflowStep {
			return 1
		}
		nested := x.defs[workflow.Ref(s.WorkflowID, s.Revision)]
		return 1 + x.leavesOf(nested, nested.plan)
	}
	var sum, most int64
	for _, child := range children(n) {
		k := x.leavesOf(d, child)
		sum, most = sum+k, max(most, k)
	}
	if n.Type == workflow.ChoiceNode {
		return most
	}
	return sum
}

// scope is a plan's root, a map's item or a repeat's round.
type scope struct {
	act    *activation
	parent *scope // nil at the root
	node   *workflow.Node
	index  int
	items  []any // of a map
	depth  int
	cleans *cleaned // in whose cleanup the scope is; nil outside of cleanups
}

// activation is one run of a definition: the root's, or a workflow step's.
type activation struct {
	def    *definition
	prefix string // "" or "<instance of the workflow step>/"
	args   any
}

func (sc *scope) within(n *workflow.Node, index int, items []any) *scope {
	return &scope{act: sc.act, parent: sc, node: n, index: index, items: items, depth: sc.depth + 1, cleans: sc.cleans}
}

// suffix is the scope in instance ids: "", or such as "@root[2]#0".
func (sc *scope) suffix() string {
	if sc.parent == nil {
		return ""
	}
	before := sc.parent.suffix()
	if before == "" {
		before = "@root"
	}
	if sc.node.Type == workflow.MapNode {
		return fmt.Sprintf("%s[%d]", before, sc.index)
	}
	return fmt.Sprintf("%s#%d", before, sc.index)
}

// instance names a step, or anything else, in this scope.
func (sc *scope) instance(name string) string { return sc.act.prefix + name + sc.suffix() }

// key names a node's instance.
func (sc *scope) key(n *workflow.Node) string { return fmt.Sprintf("%s %p", sc.instance(""), n) }

// at is the scope around this one that has the depth.
func (sc *scope) at(depth int) *scope {
	for sc != nil && sc.depth > depth {
		sc = sc.parent
	}
	return sc
}
