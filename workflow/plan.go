package workflow

import (
	"fmt"
	"slices"

	"github.com/culm-dev/culm/internal/expr"
)

// plan builds the compiled plan and checks which steps it runs.
func (k *checker) plan() {
	root := k.def.Plan
	if root == nil {
		root = inOrder(k.def)
	}
	b := &planBuilder{checker: k, meant: map[string]bool{}}
	k.wf.Plan = b.build(root, "/plan", nil, 0)
	b.unused()
}

// inOrder is the plan of a definition without one: its steps as they are written.
func inOrder(def *Definition) *Node {
	n := &Node{Type: SequenceNode}
	seen := map[string]bool{"": true} // ids that are wrong are reported as such
	for _, s := range def.Steps {
		if seen[s.ID] {
			continue
		}
		seen[s.ID] = true
		n.Nodes = append(n.Nodes, &Node{Type: StepNode, Step: s.ID})
	}
	return n
}

type planBuilder struct {
	*checker
	meant map[string]bool // steps that were probably meant by an unknown name
	items []string        // of the enclosing maps, outermost first
}

// build compiles a node and all below it; nil for one that could not be read.
func (b *planBuilder) build(n *Node, path string, parent *PlanNode, slot int) *PlanNode {
	if n == nil || n.Type == "" {
		return nil
	}
	p := &PlanNode{Index: len(b.wf.Nodes), Path: path, Type: n.Type, ID: n.ID, Parent: parent, Slot: slot, Def: n}
	b.wf.Nodes = append(b.wf.Nodes, p)
	if parent != nil {
		p.ScopeDepth = parent.ScopeDepth
		if parent.scopes() {
			p.ScopeDepth++
		}
	}
	if n.ID != "" {
		b.named(p, n.ID, b.src.place(path+"/id"))
	}
	switch n.Type {
	case StepNode:
		b.stepNode(p)
	case MapNode:
		b.mapItem(p)
		b.items = append(b.items, n.Item)
		b.children(p)
		b.items = b.items[:len(b.items)-1]
	default:
		b.children(p)
	}
	p.Expr = b.condition(p)
	p.Leaves = b.leaves(p)
	return p
}

// scopes reports whether what is below the node runs in a scope of its own.
func (p *PlanNode) scopes() bool { return p.Type == MapNode || p.Type == RepeatNode }

// Cleans reports whether the node has a cleanup: it is a finally or on_failure.
func (p *PlanNode) Cleans() bool { return p.Type == FinallyNode || p.Type == OnFailureNode }

// Cleanup is the cleanup of a finally or on_failure.
func (p *PlanNode) Cleanup() *PlanNode { return p.Children[len(p.Children)-1] }

// cleansFor is the nearest node around p, or around what encloses it, in whose
// cleanup p is; nil if there is none in this definition.
func (p *PlanNode) cleansFor() *PlanNode {
	for ; p != nil && p.Parent != nil; p = p.Parent {
		if p.inCleanupOf(p.Parent) {
			return p.Parent
		}
	}
	return nil
}

// inCleanupOf reports whether p is the cleanup of its parent.
func (p *PlanNode) inCleanupOf(parent *PlanNode) bool {
	return parent.Cleans() && p.Path == parent.Path+"/cleanup"
}

// children builds what is below a node.
func (b *planBuilder) children(p *PlanNode) {
	n := p.Def
	add := func(child *Node, path string) {
		if c := b.build(child, path, p, len(p.Children)); c != nil {
			p.Children = append(p.Children, c)
		}
	}
	for i, child := range n.Nodes {
		add(child, fmt.Sprintf("%s/nodes/%d", p.Path, i))
	}
	add(n.Then, p.Path+"/then_branch")
	add(n.Else, p.Path+"/else_branch")
	add(n.Body, p.Path+"/body")
	add(n.Node, p.Path+"/node")
	add(n.Cleanup, p.Path+"/cleanup")
}

// condition parses the template that a node decides by.
func (b *planBuilder) condition(p *PlanNode) *expr.Template {
	switch p.Type {
	case ChoiceNode:
		return b.template(p.Def.Condition, p.Path+"/condition")
	case MapNode:
		return b.template(p.Def.Source, p.Path+"/source")
	case RepeatNode:
		return b.template(p.Def.Until, p.Path+"/until")
	}
	return nil
}

// stepNode links a node to the step that it runs.
func (b *planBuilder) stepNode(p *PlanNode) {
	name := p.Def.Step
	p.ID = name
	if name == "" {
		return // reported when it was read
	}
	where := b.src.place(p.Path + "/step")
	index, ok := b.steps[name]
	if !ok {
		if !b.src.lost.names {
			e := b.report.at(where, UnknownStep, "there is no step %q", name)
			e.Expected, e.Near = "the id of a step", near(name, b.stepIDs())
			b.meant[e.Near] = true
		}
		return
	}
	p.Step = b.infos[index]
	if first := b.placed[index]; first != nil {
		b.report.at(where, StepReused, "the plan runs step %q already, on line %d", name, b.src.place(first.Path).at.line).
			Hint = "write another step, or put this one into a map or repeat"
		return
	}
	b.placed[index] = p
	b.wf.Named[name] = p
}

// named enters a node's id into the names that references may use.
func (b *planBuilder) named(p *PlanNode, id string, where *value) {
	if index, ok := b.steps[id]; ok {
		b.report.at(where, DuplicateID, "%q is the id of a step, on line %d", id, b.src.place(fmt.Sprintf("/steps/%d/id", index)).at.line)
		return
	}
	if other := b.wf.Named[id]; other != nil {
		b.report.at(where, DuplicateID, "%q is the id of another node, on line %d", id, b.src.place(other.Path+"/id").at.line)
		return
	}
	b.wf.Named[id] = p
}

// mapItem checks that the item's name does not hide one of an enclosing map.
func (b *planBuilder) mapItem(p *PlanNode) {
	if p.Def.Item != "" && slices.Contains(b.items, p.Def.Item) {
		b.report.at(b.src.place(p.Path+"/item"), DuplicateID, "an enclosing map's item is called %q too", p.Def.Item)
	}
}

// unused reports the steps that the plan does not run.
func (b *planBuilder) unused() {
	if b.src.lost.names || b.src.lost.nodes {
		return
	}
	for i, s := range b.def.Steps {
		if b.placed[i] != nil || b.meant[s.ID] || b.steps[s.ID] != i {
			continue
		}
		b.report.at(b.src.place(fmt.Sprintf("/steps/%d/id", i)), StepUnused, "the plan does not run step %q", s.ID).
			Expected = "every step in the plan exactly once"
	}
}

// leaves counts the steps that one pass through a node can enter at most.
func (b *planBuilder) leaves(p *PlanNode) int {
	n := 0
	if p.Type == StepNode {
		n = 1
		if p.Step != nil && p.Step.Nested != nil && p.Step.Nested.Plan != nil {
			n += p.Step.Nested.Plan.Leaves
		}
	}
	for _, child := range p.Children {
		if p.Type == ChoiceNode {
			n = max(n, child.Leaves)
		} else {
			n += child.Leaves
		}
		n = min(n, MaxLeaves)
	}
	return min(n, MaxLeaves)
}

func (k *checker) stepIDs() []string {
	ids := make([]string, 0, len(k.def.Steps))
	for _, s := range k.def.Steps {
		ids = append(ids, s.ID)
	}
	return ids
}
