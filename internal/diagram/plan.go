// Package diagram shows the plan of a workflow: as text for a terminal, as
// Mermaid, and as SVG.
//
// [Of] turns a compiled program into blocks, which is all that the three ways of
// drawing know: a kind of node that is new needs a line there. What they give
// depends on the program, the options and nothing else.
package diagram

import (
	"strings"

	"github.com/culm-dev/culm/workflow"
)

// Plan is what is drawn.
type Plan struct {
	Ref         string // id@revision
	Description string
	Budgets     string // in words; may be empty
	Root        *Block
}

// Kind says how a block is drawn.
type Kind int

const (
	// Step is a box.
	Step Kind = iota
	// Sequence is its parts from top to bottom.
	Sequence
	// Parallel is its parts side by side.
	Parallel
	// Choice is a question and its branches: then, and, if there is one, else.
	Choice
	// Frame is a frame with a caption: around what is done several times, or
	// under some condition, or what stands in a nested workflow. Parts after the
	// first have labels of their own.
	Frame
)

// Block is a node of a plan as it is drawn.
type Block struct {
	Kind Kind
	// Key is the id of a step behind those of the workflow steps that nest it,
	// such as "outer/inner"; "" for other nodes.
	Key   string
	Name  string // of the step, or the node's id; "" if it has none
	Type  workflow.StepType
	Text  string   // what a step calls, what a frame does, what a choice asks
	Notes []string // what else is to be known of a step
	State State
	Parts []Part
	// Inline: a tree may show the parts in place of the block itself.
	Inline bool
}

// Part is a block inside another one.
type Part struct {
	Label string // "then", "else", and the like; "" for most
	Block *Block
	// Skipped: what follows may also come without this part.
	Skipped bool
}

// Options say how much is drawn.
type Options struct {
	// Depth is how many levels of nested workflows are opened; below that they
	// are steps. Negative opens all.
	Depth int
}

// Of gives the blocks of a program.
func Of(p *workflow.Program, limits workflow.Limits, opts Options) *Plan {
	return &Plan{
		Ref: p.Root.Ref, Description: p.Root.Def.Description, Budgets: budgetWords(limits),
		Root: block(p.Root.Plan, place{depth: opts.Depth}),
	}
}

// place is where in the whole tree of plans a node stands.
type place struct {
	prefix string // of nested workflows, "outer/"
	depth  int    // how many more levels are opened
}

func block(n *workflow.PlanNode, at place) *Block {
	b := &Block{Kind: Frame, Name: n.ID, Text: nodeWords(n)}
	switch n.Type {
	case workflow.StepNode:
		return step(n, at)
	case workflow.SequenceNode:
		b.Kind = Sequence
	case workflow.ParallelNode:
		b.Kind = Parallel
	case workflow.ChoiceNode:
		b.Kind = Choice
	}
	b.Inline = n.Cleans()
	labels := partLabels(n.Type)
	for i, child := range n.Children {
		part := Part{Block: block(child, at), Skipped: n.Type == workflow.OnFailureNode && i > 0}
		if i < len(labels) {
			part.Label = labels[i]
		}
		b.Parts = append(b.Parts, part)
	}
	if b.Kind == Sequence && b.Name != "" {
		return &Block{Kind: Frame, Name: b.Name, Parts: []Part{{Block: &Block{Kind: Sequence, Parts: b.Parts}}}}
	}
	return b
}

// partLabels are the labels of a node's children.
func partLabels(t workflow.NodeType) []string {
	switch t {
	case workflow.ChoiceNode:
		return []string{"then", "else"}
	case workflow.FinallyNode:
		return []string{"", "finally"}
	case workflow.OnFailureNode:
		return []string{"", "on failure"}
	}
	return nil
}

func step(n *workflow.PlanNode, at place) *Block {
	def := n.Step.Def
	b := &Block{Kind: Step, Key: at.prefix + def.ID, Name: def.ID, Type: def.Type, Text: stepWords(def), Notes: stepNotes(def)}
	if n.Step.Nested == nil || at.depth == 0 {
		return b
	}
	b.Kind = Frame
	at.prefix, at.depth = b.Key+"/", at.depth-1
	b.Parts = []Part{{Block: block(n.Step.Nested.Plan, at)}}
	return b
}

// flat are the parts of a block that stand one below the other, with those of
// sequences in it.
func flat(b *Block) []Part {
	if b.Kind != Sequence && !b.Inline {
		return []Part{{Block: b}}
	}
	var list []Part
	for _, p := range b.Parts {
		if p.Label != "" {
			list = append(list, p)
			continue
		}
		list = append(list, flat(p.Block)...)
	}
	return list
}

// title is a block's name and text on one line.
func (b *Block) title() string {
	return strings.TrimPrefix(b.Name+": "+b.Text, ": ")
}
