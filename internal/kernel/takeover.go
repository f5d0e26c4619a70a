package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// Taken is one thing that a new run takes over from the one that it is restarted
// from: the outcome of a step, what a node decided, or a retry's latest round.
type Taken struct {
	// Step is a step that ended, but not as skipped, and Declared its definition.
	Step     *run.Step
	Declared *workflow.StepInfo
	// Node and Scope name a node as events do.
	Node, Scope string
	Decision    *run.Decision
	Round       int // of a retry; 0 for none

	seq uint64 // of the event that gave it
}

// Takeover is what a run does not do again that goes on from a step of another one.
type Takeover struct {
	// At is the full instance id of that step.
	At string
	// Taken is in the order in which it came about. A machine that walks the plan
	// over it in this order comes to the same results.
	Taken []Taken
}

// FromError says why no run can go on from a step.
type FromError struct {
	Kind    FromKind
	Step    string // as it was named
	Message string
	// Steps are, by the kind: names that there are, the instances that may be
	// meant, or what has not finished.
	Steps []string
}

// FromKind is the kind of a FromError.
type FromKind int

// The kinds of FromError.
const (
	NoSuchStep FromKind = iota
	AmbiguousStep
	NotReached
)

func (e *FromError) Error() string { return e.Message }

// TakeOver finds what a new run of the same program takes over from an old one, so
// that it goes on from the given step. Of every node before that step, and of every
// node beside it that finished well, it is all that there is: the outcomes of its
// steps, failures that the plan went on from among them, what it decided, and the
// rounds of retries that gave up. Of a node beside it that did not finish well it
// is what did, so that the rest is done again. The step itself, what follows it and
// the workflow steps around it are never among it. The error is a [FromError].
//
// The old state is not changed.
func TakeOver(prog *workflow.Program, old *run.State, step string) (*Takeover, error) {
	at, err := findStep(prog, old, step)
	if err != nil {
		return nil, err
	}
	m := New(prog)
	m.st, m.ended = old, make(map[string]result)
	m.begin()
	t := &taker{m: m, name: at.String()}
	act := &activation{wf: prog.Root, runID: old.RunID}
	if err := t.plan(act, at, 0); err != nil {
		return nil, err
	}
	t.drop()
	slices.SortFunc(t.taken, func(a, b Taken) int { return cmp.Compare(a.seq, b.seq) })
	return &Takeover{At: t.name, Taken: t.taken}, nil
}

// taker collects along the way to a step. reopen is, as in a frame, the sequence
// before which ends do not count any more.
type taker struct {
	m     *Machine // walked over the old state, with the ends of its nodes
	name  string
	taken []Taken

	// What is taken behind kept is of a cleanup, of which nothing counts before since.
	kept  int
	since uint64
}

func (t *taker) notReached(steps []string, format string, args ...any) error {
	return &FromError{Kind: NotReached, Step: t.name, Steps: steps, Message: fmt.Sprintf(format, args...)}
}

// plan goes through the plan of one activation, to the rest of the way.
func (t *taker) plan(act *activation, rest target, reopen uint64) error {
	here := rest[0]
	way := append(here.way(), here.node)
	sc := act.rootScope()
	for i, node := range way[:len(way)-1] {
		var err error
		if sc, reopen, err = t.pass(node, way[i+1].Slot, here, sc, reopen); err != nil {
			return err
		}
	}
	if len(rest) == 1 {
		return nil
	}
	id := sc.instance(here.node.ID)
	if rec := t.m.st.Steps[id]; rec != nil && rec.AdoptedFrom != "" {
		return t.notReached([]string{id}, "step %s was taken over as a whole from run %s: what is inside it is recorded there", id, rec.AdoptedFrom)
	}
	return t.plan(t.nested(here.node, sc, reopen), rest[1:], reopen)
}

// nested walks the inner plan of a workflow step, also of one that ended.
func (t *taker) nested(node *workflow.PlanNode, sc *scope, reopen uint64) *activation {
	id := sc.instance(node.ID)
	act := &activation{wf: node.Step.Nested, path: id + "/"}
	t.walk(&frame{node: node, scope: sc, id: id, reopen: reopen}, act.wf.Plan, act.rootScope())
	return act
}

// retried goes into a retry, also into one that gave up for want of budget. What
// ended before the sequence that it gives does not count inside.
func (t *taker) retried(node *workflow.PlanNode, sc *scope, reopen uint64) uint64 {
	key := run.NodeKey(sc.name(), node.Path)
	reopen = max(reopen, t.m.st.Retries[key].Seq)
	if _, gaveUp := t.m.st.Decisions[key]; gaveUp {
		t.walk(&frame{node: node, scope: sc, reopen: reopen}, node.Children[0], sc)
	}
	return reopen
}

// walk walks what the old run's plan does not lead into any more, so that it is
// known how the nodes there ended.
func (t *taker) walk(around *frame, node *workflow.PlanNode, sc *scope) {
	around.done = true // it is not to be moved on
	t.m.enter(around, 0, node, sc)
}

// pass goes through one node to the child that the way leads through, and takes
// what is before and beside that.
func (t *taker) pass(node *workflow.PlanNode, slot int, here waypoint, sc *scope, reopen uint64) (*scope, uint64, error) {
	switch node.Type {
	case workflow.SequenceNode:
		return sc, reopen, t.before(node, slot, sc, reopen)
	case workflow.ParallelNode:
		for i, child := range node.Children {
			if i != slot {
				t.take(child, sc, reopen)
			}
		}
	case workflow.ChoiceNode:
		return sc, reopen, t.passChoice(node, slot, sc)
	case workflow.MapNode:
		index := here.index[node.ScopeDepth]
		return sc.within(node, index), reopen, t.passMap(node, index, sc, reopen)
	case workflow.RepeatNode:
		round := here.index[node.ScopeDepth]
		return sc.within(node, round), reopen, t.passRepeat(node, round, sc, reopen)
	case workflow.RetryNode:
		return sc, t.retried(node, sc, reopen), nil
	case workflow.FinallyNode, workflow.OnFailureNode:
		return sc, reopen, t.passCleanup(node, slot, sc, reopen)
	}
	return sc, reopen, nil
}

// passCleanup goes into the node that is cleaned up after, whose cleanup will be a new
// one; or into the cleanup, if what that was for finished well.
func (t *taker) passCleanup(node *workflow.PlanNode, slot int, sc *scope, reopen uint64) error {
	if slot == nodeSlot {
		return nil
	}
	done := node.Children[nodeSlot]
	if _, well := t.end(done, sc); !well || node.Type == workflow.OnFailureNode {
		return t.notReached(firstStep(done, sc), "step %s cleans up after what did not finish, and that is to be done first", t.name)
	}
	t.all(done, sc, reopen)
	t.drop()
	end := t.m.ended[run.NodeKey(sc.name(), done.Path)]
	t.kept, t.since = len(t.taken), end.touched
	return nil
}

// drop drops what was taken of the cleanup that the way leads into, and is of an earlier
// round of it.
func (t *taker) drop() {
	current := slices.DeleteFunc(t.taken[t.kept:], func(one Taken) bool { return one.seq < t.since })
	t.taken = t.taken[:t.kept+len(current)]
}

// firstStep names the step that is the first of a node, if there is one.
func firstStep(node *workflow.PlanNode, sc *scope) []string {
	for node.Type != workflow.StepNode {
		if node.Type == workflow.MapNode || node.Type == workflow.RepeatNode {
			return nil
		}
		node = node.Children[0]
	}
	return []string{sc.instance(node.ID)}
}

// before takes what is before a child of a sequence: all of it must be done.
func (t *taker) before(node *workflow.PlanNode, slot int, sc *scope, reopen uint64) error {
	for _, child := range node.Children[:slot] {
		end, well := t.end(child, sc)
		switch open := t.unfinished(child, sc); {
		case !well:
			return t.notReached(open, "step %s comes after %s, which has not finished", t.name, strings.Join(open, ", "))
		case end.skipRest:
			return t.notReached([]string{title(child, sc)}, "step %s was skipped, because of how %s failed", t.name, title(child, sc))
		}
		t.all(child, sc, reopen)
	}
	return nil
}

func (t *taker) passChoice(node *workflow.PlanNode, slot int, sc *scope) error {
	d, decided := t.decision(node, sc)
	switch {
	case !decided:
		return t.notReached(nil, "step %s is in a branch of the choice at %s, which was not decided", t.name, node.Path)
	case d.Truth != (slot == 0):
		return t.notReached(nil, "step %s is in the branch that the choice at %s did not take", t.name, node.Path)
	}
	t.decided(node, sc, d)
	return nil
}

func (t *taker) passMap(node *workflow.PlanNode, index int, sc *scope, reopen uint64) error {
	d, decided := t.decision(node, sc)
	switch {
	case !decided:
		return t.notReached(nil, "step %s is in the map at %s, whose items were not decided", t.name, node.Path)
	case index >= d.Count:
		return t.notReached(nil, "there is no step %s: the map at %s has %d items", t.name, node.Path, d.Count)
	}
	t.decided(node, sc, d)
	for i := range d.Count {
		if i != index {
			t.take(node.Children[0], sc.within(node, i), reopen)
		}
	}
	return nil
}

func (t *taker) passRepeat(node *workflow.PlanNode, round int, sc *scope, reopen uint64) error {
	if round >= node.Def.Max {
		return t.notReached(nil, "there is no step %s: the repeat at %s has at most %d rounds", t.name, node.Path, node.Def.Max)
	}
	body := node.Children[0]
	for i := range round {
		at := sc.within(node, i)
		d, decided := t.decision(node, at)
		_, well := t.end(body, at)
		switch open := t.unfinished(body, at); {
		case !well:
			return t.notReached(open, "step %s comes after %s, which has not finished", t.name, strings.Join(open, ", "))
		case !decided || d.Truth:
			return t.notReached(nil, "there is no step %s: the repeat at %s did not come to round %d", t.name, node.Path, round)
		}
		t.all(body, at, reopen)
		t.decided(node, at, d)
	}
	return nil
}

// end is how a node ended in the old run, and whether it ended well: as something
// that the plan goes on from.
func (t *taker) end(node *workflow.PlanNode, sc *scope) (end result, well bool) {
	end, ended := t.m.ended[run.NodeKey(sc.name(), node.Path)]
	return end, ended && end.kind == resOK
}

// decision is what a node decided, unless that was that it fails.
func (t *taker) decision(node *workflow.PlanNode, sc *scope) (run.Decision, bool) {
	d, ok := t.m.st.Decisions[run.NodeKey(sc.name(), node.Path)]
	return d, ok && d.Failure == nil
}

func (t *taker) decided(node *workflow.PlanNode, sc *scope, d run.Decision) {
	t.taken = append(t.taken, Taken{Node: node.Path, Scope: sc.name(), Decision: &d, seq: d.Seq})
}

// unfinished names some of what has not ended well in a node.
func (t *taker) unfinished(node *workflow.PlanNode, sc *scope) []string {
	const some = 3
	var open []string
	var look func(*workflow.PlanNode, *scope)
	look = func(n *workflow.PlanNode, sc *scope) {
		if _, well := t.end(n, sc); well || len(open) == some {
			return
		}
		before := len(open)
		t.below(n, sc, look)
		if len(open) == before {
			open = append(open, title(n, sc))
		}
	}
	look(node, sc)
	return open
}
