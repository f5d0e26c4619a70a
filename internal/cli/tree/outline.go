// Package tree shows a run as a tree of its plan: what is done, what goes on,
// what is still to come. It turns events or a snapshot into rows, and rows into
// lines that fit a terminal; it draws nothing itself.
package tree

import (
	"fmt"
	"strings"

	"github.com/culm-dev/culm/workflow"
)

// Item is one line of a plan as people read it: a step, or a node that says how
// often or under which condition what stands below it is run.
type Item struct {
	// Key is a step's instance id without its scopes ("outer/inner"), or a
	// node's place in its definition, behind the path of nested workflows.
	Key    string
	Name   string
	Detail string // the tool, or what kind of thing it is
	Group  bool   // it is a node, not a step
	// Counted items stand in a map, so that there may be many instances.
	Counted bool
	// Loop is the kind of a group that multiplies what is below it.
	Loop     workflow.NodeType
	Children []*Item

	retries []string // keys of the retry nodes around it
	maps    []string // keys of the maps around it, outermost first
}

// Outline gives the items of a program's plan, nested workflows included.
func Outline(p *workflow.Program) *Item {
	root := &Item{Group: true, Name: p.Root.Ref}
	add(root, p.Root.Plan, place{})
	return root
}

// place is where in the whole tree of plans a node stands.
type place struct {
	prefix  string // of nested workflows, "outer/"
	retries []string
	maps    []string
}

func add(parent *Item, n *workflow.PlanNode, at place) {
	switch n.Type {
	case workflow.StepNode:
		addStep(parent, n, at)
	case workflow.SequenceNode:
		addSequence(parent, n, at)
	case workflow.RetryNode:
		at.retries = append(at.retries[:len(at.retries):len(at.retries)], nodeKey(at.prefix, n.Path))
		addAll(parent, n.Children, at)
	case workflow.ParallelNode:
		addAll(group(parent, n, at, "parallel"), n.Children, at)
	case workflow.ChoiceNode:
		addChoice(parent, n, at)
	case workflow.MapNode:
		g := group(parent, n, at, "each "+n.Def.Item)
		at.maps = append(at.maps[:len(at.maps):len(at.maps)], g.Key)
		addAll(g, n.Children, at)
	case workflow.RepeatNode:
		g := group(parent, n, at, fmt.Sprintf("repeat, at most %d times", n.Def.Max))
		addAll(g, n.Children, at)
	case workflow.FinallyNode, workflow.OnFailureNode:
		addCleanup(parent, n, at)
	}
}

// addCleanup shows what is cleaned up after where it would be without that, and
// the cleanup below a line of its own.
func addCleanup(parent *Item, n *workflow.PlanNode, at place) {
	if n.ID != "" {
		parent = group(parent, n, at, "")
	}
	add(parent, n.Children[0], at)
	name := "finally"
	if n.Type == workflow.OnFailureNode {
		name = "on failure"
	}
	cleanup := &Item{Group: true, Name: name}
	parent.Children = append(parent.Children, cleanup)
	add(cleanup, n.Cleanup(), at)
}

// addSequence shows a sequence's own line only if it has a name, since one line
// below the other says as much.
func addSequence(parent *Item, n *workflow.PlanNode, at place) {
	if n.ID != "" && n.Parent != nil {
		parent = group(parent, n, at, "")
	}
	addAll(parent, n.Children, at)
}

func addChoice(parent *Item, n *workflow.PlanNode, at place) {
	add(group(parent, n, at, "if "+reading(n.Def.Condition)), n.Children[0], at)
	if len(n.Children) > 1 {
		otherwise := &Item{Group: true, Name: "else"}
		parent.Children = append(parent.Children, otherwise)
		add(otherwise, n.Children[1], at)
	}
}

func addAll(parent *Item, nodes []*workflow.PlanNode, at place) {
	for _, n := range nodes {
		add(parent, n, at)
	}
}

func group(parent *Item, n *workflow.PlanNode, at place, name string) *Item {
	g := &Item{
		Key: nodeKey(at.prefix, n.Path), Name: name, Group: true, Loop: n.Type,
		Counted: len(at.maps) > 0, retries: at.retries, maps: at.maps,
	}
	if n.ID != "" {
		g.Name = strings.TrimSpace(n.ID + "  " + name)
	}
	parent.Children = append(parent.Children, g)
	return g
}

func addStep(parent *Item, n *workflow.PlanNode, at place) {
	def := n.Step.Def
	it := &Item{
		Key: at.prefix + def.ID, Name: def.ID, Detail: detail(def),
		Counted: len(at.maps) > 0, retries: at.retries, maps: at.maps,
	}
	parent.Children = append(parent.Children, it)
	if n.Step.Nested == nil {
		return
	}
	at.prefix += def.ID + "/"
	add(it, n.Step.Nested.Plan, at)
}

func detail(def *workflow.Step) string {
	switch def.Type {
	case workflow.ToolStep:
		return def.Tool
	case workflow.AgentStep:
		return "agent " + def.Agent
	case workflow.WorkflowStep:
		return workflow.Ref(def.WorkflowID, def.Revision)
	default:
		return string(def.Type)
	}
}

// nodeKey names a plan node over all of its instances.
func nodeKey(prefix, path string) string { return prefix + " " + path }

// staticID is an instance id, or the scope of a node, without its scopes.
func staticID(id string) string {
	if !strings.Contains(id, "@") {
		return id
	}
	parts := strings.Split(id, "/")
	for i, part := range parts {
		parts[i], _, _ = strings.Cut(part, "@")
	}
	return strings.Join(parts, "/")
}

// scopeOf is what tells an instance from the others of its step: "[2]#0".
func scopeOf(id string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(id, "/") {
		_, scope, _ := strings.Cut(part, "@root")
		b.WriteString(scope)
	}
	return b.String()
}
