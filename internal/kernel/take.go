package kernel

import (
	"slices"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// take takes what there is to take of a node beside the way.
func (t *taker) take(node *workflow.PlanNode, sc *scope, reopen uint64) {
	if _, well := t.end(node, sc); well {
		t.all(node, sc, reopen)
		return
	}
	t.part(node, sc, reopen)
}

// all takes a node as it is.
func (t *taker) all(node *workflow.PlanNode, sc *scope, reopen uint64) {
	switch node.Type {
	case workflow.StepNode:
		t.step(node, sc, reopen)
		return
	case workflow.RetryNode:
		reopen = t.allRounds(node, sc, reopen)
	case workflow.ChoiceNode, workflow.MapNode:
		if d, ok := t.m.st.Decisions[run.NodeKey(sc.name(), node.Path)]; ok {
			t.decided(node, sc, d)
		}
	case workflow.FinallyNode, workflow.OnFailureNode:
		t.all(node.Children[nodeSlot], sc, reopen)
		t.cleanup(node, sc, func(c *workflow.PlanNode) { t.all(c, sc, reopen) })
		return
	}
	t.below(node, sc, func(child *workflow.PlanNode, in *scope) { t.all(child, in, reopen) })
	if node.Type != workflow.RepeatNode {
		return
	}
	for i := range t.rounds(node, sc) {
		at := sc.within(node, i)
		if d, ok := t.m.st.Decisions[run.NodeKey(at.name(), node.Path)]; ok {
			t.decided(node, at, d)
		}
	}
}

// allRounds takes what a retry needs to come to its end again: nothing if its node
// succeeded.
func (t *taker) allRounds(node *workflow.PlanNode, sc *scope, reopen uint64) uint64 {
	key := run.NodeKey(sc.name(), node.Path)
	r := t.m.st.Retries[key]
	if end := t.m.ended[run.NodeKey(sc.name(), node.Children[0].Path)]; r.Seq > reopen && end.kind == resFailed {
		t.taken = append(t.taken, Taken{Node: node.Path, Scope: sc.name(), Round: r.Round, seq: r.Seq})
	}
	if d, ok := t.m.st.Decisions[key]; ok {
		t.decided(node, sc, d)
	}
	return max(reopen, r.Seq)
}

// step takes the outcome of a step. A workflow step is one outcome: what is inside
// it stays behind.
func (t *taker) step(node *workflow.PlanNode, sc *scope, reopen uint64) {
	rec := t.m.st.Steps[sc.instance(node.ID)]
	if rec == nil {
		return
	}
	switch rec.Status {
	case run.StatusStepSucceeded:
	case run.StatusStepFailed, run.StatusStepCancelled:
		if rec.LastSeq < reopen {
			return // a round came after it, which did not enter it again
		}
	default:
		return // open; or skipped, which follows from what was decided
	}
	t.taken = append(t.taken, Taken{Step: rec, Declared: node.Step, seq: rec.LastSeq})
}

// part takes what finished well in a node that did not.
func (t *taker) part(node *workflow.PlanNode, sc *scope, reopen uint64) {
	switch node.Type {
	case workflow.StepNode:
		if node.Step.Nested != nil && t.m.st.Steps[sc.instance(node.ID)] != nil {
			act := t.nested(node, sc, reopen)
			t.take(act.wf.Plan, act.rootScope(), reopen)
		}
		return
	case workflow.RetryNode:
		reopen = t.retried(node, sc, reopen)
	case workflow.ChoiceNode, workflow.MapNode:
		if d, ok := t.decision(node, sc); ok {
			t.decided(node, sc, d)
		}
	case workflow.SequenceNode:
		t.partSequence(node, sc, reopen)
		return
	case workflow.FinallyNode, workflow.OnFailureNode:
		t.take(node.Children[nodeSlot], sc, reopen)
		if _, well := t.end(node.Children[nodeSlot], sc); well { // else it is gone on with, and cleaned up after anew
			t.cleanup(node, sc, func(c *workflow.PlanNode) { t.take(c, sc, reopen) })
		}
		return
	case workflow.RepeatNode:
		t.partRepeat(node, sc, reopen)
		return
	}
	t.below(node, sc, func(child *workflow.PlanNode, in *scope) { t.take(child, in, reopen) })
}

// cleanup takes what counts of a cleanup: what came after the end of what it is for, and
// not after earlier rounds of that.
func (t *taker) cleanup(node *workflow.PlanNode, sc *scope, take func(*workflow.PlanNode)) {
	end := t.m.ended[run.NodeKey(sc.name(), node.Children[nodeSlot].Path)]
	before := len(t.taken)
	take(node.Cleanup())
	current := slices.DeleteFunc(t.taken[before:], func(one Taken) bool { return one.seq < end.touched })
	t.taken = t.taken[:before+len(current)]
}

// partSequence takes a sequence up to the first of its nodes that did not finish well.
func (t *taker) partSequence(node *workflow.PlanNode, sc *scope, reopen uint64) {
	for _, child := range node.Children {
		t.take(child, sc, reopen)
		if _, well := t.end(child, sc); !well {
			return
		}
	}
}

// partRepeat takes the rounds that a repeat left behind. One that went through all
// that it may begins anew: over the same rounds it could only fail again.
func (t *taker) partRepeat(node *workflow.PlanNode, sc *scope, reopen uint64) {
	rounds := t.rounds(node, sc)
	if _, last := t.decision(node, sc.within(node, node.Def.Max-1)); last {
		return
	}
	for i := range rounds {
		at := sc.within(node, i)
		t.take(node.Children[0], at, reopen)
		if d, ok := t.decision(node, at); ok {
			t.decided(node, at, d)
		}
	}
}

// rounds is how many rounds of a repeat were entered.
func (t *taker) rounds(node *workflow.PlanNode, sc *scope) int {
	for i := range node.Def.Max {
		if d, ok := t.decision(node, sc.within(node, i)); !ok || d.Truth {
			return i + 1
		}
	}
	return node.Def.Max
}

// below visits what is directly below a node, as far as the old run got there.
func (t *taker) below(node *workflow.PlanNode, sc *scope, visit func(*workflow.PlanNode, *scope)) {
	switch node.Type {
	case workflow.MapNode:
		d, _ := t.decision(node, sc)
		for i := range d.Count {
			visit(node.Children[0], sc.within(node, i))
		}
	case workflow.RepeatNode:
		for i := range t.rounds(node, sc) {
			visit(node.Children[0], sc.within(node, i))
		}
	case workflow.ChoiceNode:
		d, ok := t.decision(node, sc)
		for slot, child := range node.Children {
			if ok && d.Truth == (slot == 0) {
				visit(child, sc)
			}
		}
	default:
		for _, child := range node.Children {
			visit(child, sc)
		}
	}
}

// title names a node for people: a step by its instance, others by id or place.
func title(node *workflow.PlanNode, sc *scope) string {
	if node.ID != "" {
		return sc.instance(node.ID)
	}
	return "the " + string(node.Type) + " at " + node.Path
}
