package workflow

import (
	"cmp"
	"slices"

	"github.com/culm-dev/culm/internal/schema"
)

// when is at which moment of its node a template is evaluated.
type when int

const (
	before when = iota // before anything below the node has run
	after              // when the body has run: a repeat's until
)

// site is where a template stands.
type site struct {
	node *PlanNode // nil for the workflow's output, evaluated after the plan
	when when
	at   string // canonical pointer
	// handles: secret handles are allowed here.
	handles bool
	// attempt: the template belongs to an attempt of a step.
	attempt bool
}

// verdict is what a reference to a node amounts to: "" if it is in order. inner
// tells that the reference is skipped with the node if that fails under
// skip_dependents, so that it never sees the failure.
type verdict struct {
	code  Code
	inner bool
}

// visible judges a reference from a site to a node: what it names must be
// finished, in every execution, before the template is evaluated, in a scope
// that encloses the site or is its own.
func visible(from site, to *PlanNode) verdict {
	if from.node == nil {
		return verdict{code: reachable(to, rootOf(to))}
	}
	if encloses(to, from.node) {
		return verdict{code: CycleReference}
	}
	if encloses(from.node, to) {
		if from.when == before {
			return verdict{code: ForwardReference}
		}
		return verdict{code: reachable(to, from.node.Children[0])}
	}
	common, own, other := meet(from.node, to)
	switch {
	case common.Type == ParallelNode:
		return verdict{code: SiblingReference}
	case common.Type == ChoiceNode:
		return verdict{code: BranchReference}
	case common.Cleans() && other.Slot < own.Slot: // whatever it came to
		return verdict{code: cmp.Or(scopeOnly(reachable(to, other)), MaybeMissing)}
	case other.Slot > own.Slot:
		return verdict{code: ForwardReference}
	}
	return verdict{code: reachable(to, other), inner: passesSkips(to, other)}
}

// reachable judges a finished node as seen from outside top, which encloses it
// or is it: whether it has certainly run, and in no scope of its own.
func reachable(n, top *PlanNode) Code {
	var code Code
	for ; n != top; n = n.Parent {
		switch {
		case n.Parent.scopes():
			return ScopeReference
		case n.Parent.Type == ChoiceNode, n.Parent.Type == SequenceNode && skippable(n),
			n.Parent.Type == OnFailureNode && n.inCleanupOf(n.Parent):
			code = MaybeMissing
		}
	}
	return code
}

// scopeOnly is the code if it is that no place outside can refer to it, else "".
func scopeOnly(code Code) Code {
	if code == MaybeMissing {
		return ""
	}
	return code
}

// skippable reports whether a node of a sequence is skipped when an earlier one
// fails under skip_dependents.
func skippable(n *PlanNode) bool {
	for _, earlier := range n.Parent.Children[:n.Slot] {
		if skips(earlier) {
			return true
		}
	}
	return false
}

// skips reports whether a failure in a node of a sequence skips the rest of that
// sequence: a step under skip_dependents, also as the branch of a choice or the
// node of a retry. In any other node it concerns only what is inside.
func skips(n *PlanNode) bool {
	switch n.Type {
	case StepNode:
		return n.Step != nil && n.Step.Def.Failure == SkipDependents
	case ChoiceNode, RetryNode:
		return slices.ContainsFunc(n.Children, skips)
	case FinallyNode, OnFailureNode: // a cleanup skips nothing outside of it
		return slices.ContainsFunc(n.Children[:min(1, len(n.Children))], skips)
	}
	return false
}

// passesSkips reports whether a failure of n under skip_dependents concerns the
// sequence that top is a node of.
func passesSkips(n, top *PlanNode) bool {
	for ; n != top; n = n.Parent {
		switch {
		case n.Parent.Type == ChoiceNode, n.Parent.Type == RetryNode:
		case n.Parent.Cleans() && !n.inCleanupOf(n.Parent):
		default:
			return false
		}
	}
	return true
}

// encloses reports whether outer is n or above it.
func encloses(outer, n *PlanNode) bool {
	for ; n != nil; n = n.Parent {
		if n == outer {
			return true
		}
	}
	return false
}

// meet finds the lowest node above both a and b, and its children that lead to
// them. Neither may enclose the other.
func meet(a, b *PlanNode) (common, toA, toB *PlanNode) {
	for toA = a; toA.Parent != nil; toA = toA.Parent {
		for toB = b; toB.Parent != nil; toB = toB.Parent {
			if toA.Parent == toB.Parent {
				return toA.Parent, toA, toB
			}
		}
	}
	return rootOf(a), toA, b
}

func rootOf(n *PlanNode) *PlanNode {
	for n.Parent != nil {
		n = n.Parent
	}
	return n
}

// view is a node's output as seen from some place; see [verdict] for inner.
type view struct {
	node  *PlanNode
	inner bool
}

// out is what is known of a node's output; nil if nothing is.
func (k *checker) out(n *PlanNode, inner bool) *schema.Schema {
	at := view{n, inner}
	if s, ok := k.outs[at]; ok {
		return s
	}
	s := k.derive(n, inner)
	k.outs[at] = s
	return s
}

func (k *checker) derive(n *PlanNode, inner bool) *schema.Schema {
	switch n.Type {
	case StepNode:
		return k.stepOut(n, inner)
	case SequenceNode:
		return k.sequenceOut(n)
	case ParallelNode:
		outs := make([]*schema.Schema, len(n.Children))
		for i, child := range n.Children {
			outs[i] = k.out(child, false)
		}
		return schema.Tuple(outs...)
	case ChoiceNode:
		var outs []*schema.Schema
		for _, child := range n.Children {
			outs = append(outs, k.out(child, inner))
		}
		if n.Def.Else == nil {
			outs = append(outs, schema.Null())
		}
		return schema.AnyOf(outs...)
	}
	if len(n.Children) == 0 {
		return nil // could not be read
	}
	if n.Type == MapNode {
		return k.mapOut(n)
	}
	return k.out(n.Children[0], inner && (n.Type == RetryNode || n.Cleans()))
}

// mapOut is an array of the body's outputs; where items may fail, or of failures.
func (k *checker) mapOut(n *PlanNode) *schema.Schema {
	item := k.out(n.Children[0], false)
	if n.Def.Tolerate != nil && *n.Def.Tolerate > 0 {
		item = schema.ErrorUnion(item)
	}
	return schema.ArrayOf(item)
}

func (k *checker) stepOut(n *PlanNode, inner bool) *schema.Schema {
	if n.Step == nil {
		return nil
	}
	s := k.yields[k.steps[n.Step.Def.ID]]
	switch n.Step.Def.Failure {
	case ContinueWithError:
		return schema.ErrorUnion(s)
	case SkipDependents:
		if !inner {
			return schema.ErrorUnion(s)
		}
	}
	return s
}

// sequenceOut is the last node's output, or the error of one that skipped the rest.
func (k *checker) sequenceOut(n *PlanNode) *schema.Schema {
	if len(n.Children) == 0 {
		return nil
	}
	last := n.Children[len(n.Children)-1]
	for _, child := range n.Children {
		if skips(child) {
			return schema.ErrorUnion(k.out(last, true))
		}
	}
	return k.out(last, false)
}
