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
)

// Val says where a value is, without holding it: the engine reads it from the
// journal when a template asks for it.
type Val struct {
	Kind    ValKind
	Value   run.Value // Stored, Element
	Index   int       // Element
	List    []Val
	Failure *run.Failure
}

func (v Val) isNone() bool { return v.Kind == None }

// View is what templates at one place of the plan may refer to.
type View struct {
	m     *Machine
	scope *scope
}

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

func (s *scope) at(depth int) *scope {
	for s != nil && s.depth > depth {
		s = s.parent
	}
	return s
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
	case rec.Status == run.StatusStepFailed:
		return Val{Kind: FailureValue, Failure: rec.Failure}, true
	}
	return Val{}, false
}
