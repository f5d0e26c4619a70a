package kernel

import (
	"strings"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// ValKind is what a Val is.
type ValKind int

// The kinds of values. None is no value at all, which is not null.
const (
	None         ValKind = iota
	Null                 // null
	Stored               // what an event carries
	Element              // one element of the array that an event carries
	List                 // an array of values
	FailureValue         // {"error": failure}
	OutcomeValue         // {"status": .., "failure": ..}
)

// Val says where a value is, without holding it: the engine reads it from the
// journal when a template asks for it.
type Val struct {
	Kind    ValKind
	Value   run.Value // Stored, Element
	Index   int       // Element
	List    []Val
	Failure *run.Failure // FailureValue; OutcomeValue if that is a failure
	Outcome Outcome      // OutcomeValue
}

// Outcome is how a node ended, as its cleanup sees it.
type Outcome string

// The outcomes of nodes.
const (
	NodeSucceeded Outcome = "succeeded"
	NodeFailed    Outcome = "failed"
	NodeCancelled Outcome = "cancelled"
)

func (v Val) isNone() bool { return v.Kind == None }

// View is what templates at one place of the plan may refer to.
type View struct {
	m      *Machine
	scope  *scope
	cleans *frame // in whose cleanup the place is
}

func (f *frame) view(m *Machine) View { return View{m: m, scope: f.scope, cleans: f.cleans} }

// Args are the arguments of the run, or of the nested run that the place is in.
func (v View) Args() Val { return v.scope.act.args }

// RunID is the id of that run.
func (v View) RunID() string { return v.scope.act.runID }

// Workflow is the definition that the place is in.
func (v View) Workflow() *workflow.Workflow { return v.scope.act.wf }

// Step is the output of a step or node, in the nearest enclosing scope.
func (v View) Step(name string) (Val, bool) {
	node := v.scope.act.wf.Named[name]
	if node == nil {
		return Val{}, false
	}
	s := v.scope.at(node.ScopeDepth)
	if s == nil {
		return Val{}, false
	}
	return v.m.output(s, node, s.suffix, name)
}

// Previous is the same in the preceding round of the nearest enclosing repeat.
func (v View) Previous(name string) (Val, bool) {
	node := v.scope.act.wf.Named[name]
	if node == nil {
		return Val{}, false
	}
	s := v.scope.at(node.ScopeDepth)
	round := s
	for round != nil && (round.node == nil || round.node.Type != workflow.RepeatNode) {
		round = round.parent
	}
	if round == nil || round.index == 0 {
		return Val{}, false
	}
	before := round.parent.within(round.node, round.index-1).suffix
	suffix := before + strings.TrimPrefix(s.suffix, round.suffix)
	if node.Type != workflow.StepNode && s != round {
		return Val{}, false // a node's output inside a map of the round before is not kept
	}
	return v.m.output(round.prev, node, suffix, name)
}

// Item is the current item of the enclosing map that names it so.
func (v View) Item(name string) (Val, bool) {
	for s := v.scope; s != nil; s = s.parent {
		if s.node != nil && s.node.Type == workflow.MapNode && s.node.Def.Item == name {
			return Val{Kind: Element, Value: s.items, Index: s.index}, true
		}
	}
	return Val{}, false
}

// Outcome is how the node ended that the nearest cleanup around the place is for.
func (v View) Outcome() (Val, bool) {
	if v.cleans == nil {
		return Val{}, false
	}
	switch r := v.cleans.ended; r.kind {
	case resOK:
		return Val{Kind: OutcomeValue, Outcome: NodeSucceeded}, true
	case resFailed:
		return Val{Kind: OutcomeValue, Outcome: NodeFailed, Failure: r.fail.Failure}, true
	}
	return Val{Kind: OutcomeValue, Outcome: NodeCancelled}, true
}

func (s *scope) at(depth int) *scope {
	for s != nil && s.depth > depth {
		s = s.parent
	}
	return s
}

// goesOn reports whether what follows sees the failure of a step as its output. It
// does not see that of others; a cleanup, which comes after all the same, has nothing
// to see there.
func goesOn(p workflow.FailurePolicy) bool {
	return p == workflow.ContinueWithError || p == workflow.SkipDependents
}

// output is a finished step's or node's output in a scope.
func (m *Machine) output(s *scope, node *workflow.PlanNode, suffix, name string) (Val, bool) {
	if s == nil {
		return Val{}, false
	}
	if node.Type != workflow.StepNode {
		val, ok := s.named[name]
		return val, ok
	}
	rec := m.st.Steps[s.act.path+name+suffix]
	switch {
	case rec == nil:
		return Val{}, false
	case rec.Status == run.StatusStepSucceeded:
		return Val{Kind: Stored, Value: rec.Output}, true
	case rec.Status == run.StatusStepFailed && goesOn(node.Step.Def.Failure):
		return Val{Kind: FailureValue, Failure: rec.Failure}, true
	}
	return Val{}, false
}
