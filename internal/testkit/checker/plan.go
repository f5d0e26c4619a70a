package checker

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// plan is the pinned bundle.
type plan struct {
	root *definition
	all  map[string]*definition // by "<id>@<revision>"
}

type definition struct {
	ID       string           `json:"id"`
	Revision int              `json:"revision"`
	Steps    []*step          `json:"steps"`
	Plan     *node            `json:"plan"`
	Output   json.RawMessage  `json:"output"`
	nodes    map[string]*node // by path
	byStep   map[string]*node // step nodes, by step
	byID     map[string]*node // other nodes with an id
	leaves   int              // counted by plan.leaves; 0 before
}

type step struct {
	ID         string          `json:"id"`
	Type       string          `json:"type"`
	Failure    string          `json:"failure"`
	OnUnknown  string          `json:"on_unknown"`
	TimeoutMS  *int64          `json:"timeout_ms"`
	Tool       string          `json:"tool"`
	Args       json.RawMessage `json:"args"`
	Prompt     json.RawMessage `json:"prompt"`
	DurationMS json.RawMessage `json:"duration_ms"`
	Until      json.RawMessage `json:"until"`
	WorkflowID string          `json:"workflow_id"`
	Revision   int             `json:"revision"`
}

type node struct {
	Type        string  `json:"type"`
	ID          string  `json:"id"`
	Step        string  `json:"step"`
	Nodes       []*node `json:"nodes"`
	Then        *node   `json:"then_branch"`
	Else        *node   `json:"else_branch"`
	Body        *node   `json:"body"`
	Node        *node   `json:"node"`
	Cleanup     *node   `json:"cleanup"`
	Tolerate    int     `json:"tolerate"`
	Concurrency int     `json:"concurrency"`
	MaxAttempts int     `json:"max_attempts"`
	Max         int     `json:"max"`

	path     string
	parent   *node
	slot     int
	children []*node
	step     *step // of a step node
	scopes   int   // how many map and repeat bodies enclose it
}

// readPlan reads a bundle and links its definitions.
func readPlan(raw []byte) (*plan, error) {
	var b struct {
		RootID       string                 `json:"root_id"`
		RootRevision int                    `json:"root_revision"`
		Definitions  map[string]*definition `json:"definitions"`
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return nil, fmt.Errorf("the pinned definitions cannot be read: %w", err)
	}
	p := &plan{all: b.Definitions, root: b.Definitions[ref(b.RootID, b.RootRevision)]}
	if p.root == nil {
		return nil, fmt.Errorf("the pin lacks its root %s", ref(b.RootID, b.RootRevision))
	}
	for name, d := range b.Definitions {
		if d == nil || name != ref(d.ID, d.Revision) {
			return nil, fmt.Errorf("the pin has another definition under %s", name)
		}
		if err := d.link(); err != nil {
			return nil, fmt.Errorf("definition %s: %w", name, err)
		}
	}
	for name, d := range p.all {
		for _, s := range d.Steps {
			if s.Type == "workflow" && p.all[ref(s.WorkflowID, s.Revision)] == nil {
				return nil, fmt.Errorf("the pin lacks %s, which step %s of %s runs", ref(s.WorkflowID, s.Revision), s.ID, name)
			}
		}
	}
	return p, nil
}

func ref(id string, revision int) string { return id + "@" + strconv.Itoa(revision) }

// link gives every node its place. A definition without a plan runs its steps in
// the order in which they are written.
func (d *definition) link() error {
	if d.Plan == nil {
		d.Plan = &node{Type: "sequence"}
		for _, s := range d.Steps {
			d.Plan.Nodes = append(d.Plan.Nodes, &node{Type: "step", Step: s.ID})
		}
	}
	d.nodes, d.byStep, d.byID = make(map[string]*node), make(map[string]*node), make(map[string]*node)
	steps := make(map[string]*step)
	for _, s := range d.Steps {
		steps[s.ID] = s
	}
	return d.place(d.Plan, nil, 0, "/plan", steps)
}

func (d *definition) place(n, parent *node, slot int, path string, steps map[string]*step) error {
	n.path, n.parent, n.slot = path, parent, slot
	if parent != nil {
		n.scopes = parent.scopes
		if parent.opensScope() {
			n.scopes++
		}
	}
	d.nodes[path] = n
	if n.Type == "step" {
		n.step = steps[n.Step]
		if n.step == nil {
			return fmt.Errorf("%s: no step %q", path, n.Step)
		}
		d.byStep[n.Step] = n
		return nil
	}
	if n.ID != "" {
		d.byID[n.ID] = n
	}
	for _, child := range n.parts() {
		if err := d.place(child.node, n, len(n.children), path+child.at, steps); err != nil {
			return err
		}
		n.children = append(n.children, child.node)
	}
	if len(n.children) == 0 {
		return fmt.Errorf("%s: a %s without nodes", path, n.Type)
	}
	return nil
}

type part struct {
	node *node
	at   string
}

// parts are the node's children and where they stand in it.
func (n *node) parts() []part {
	var parts []part
	for i, child := range n.Nodes {
		parts = append(parts, part{child, "/nodes/" + strconv.Itoa(i)})
	}
	for _, p := range []part{{n.Then, "/then_branch"}, {n.Else, "/else_branch"}, {n.Body, "/body"}, {n.Node, "/node"}, {n.Cleanup, "/cleanup"}} {
		if p.node != nil {
			parts = append(parts, p)
		}
	}
	return parts
}

func (n *node) opensScope() bool { return n.Type == "map" || n.Type == "repeat" }

// within reports whether the node is outer or stands in it.
func (n *node) within(outer *node) bool {
	for ; n != nil; n = n.parent {
		if n == outer {
			return true
		}
	}
	return false
}

// nested is the definition that a workflow step runs.
func (p *plan) nested(s *step) *definition { return p.all[ref(s.WorkflowID, s.Revision)] }

// leaves is how many steps one pass through the node can enter at most, as a map
// reckons it before its first item: the larger branch of a choice, a body once, a
// workflow step with its own leaves.
func (p *plan) leaves(n *node) int {
	sum, most := 0, 0
	for _, child := range n.children {
		k := p.leaves(child)
		sum, most = sum+k, max(most, k)
	}
	switch {
	case n.Type == "choice":
		return most
	case n.Type != "step":
		return sum
	case n.step.Type != "workflow":
		return 1
	}
	d := p.nested(n.step)
	if d.leaves == 0 {
		d.leaves = 1 // ends the count in a bundle that nests itself
		d.leaves = p.leaves(d.Plan)
	}
	return 1 + d.leaves
}
