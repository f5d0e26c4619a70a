package kernel

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// target is a step instance, as the way to it: the workflow steps that nest it,
// outermost first, and the step itself.
type target []waypoint

// waypoint is one step instance in its activation.
type waypoint struct {
	node  *workflow.PlanNode
	index []int // item or round of each map and repeat around it, outermost first
}

// findStep reads the name of a step instance: its id, x@root[2]#0 or x:2:0, and
// the same of each workflow step around it, parted by slashes. The scopes of a
// step may be left out if only one instance of it is recorded.
func findStep(prog *workflow.Program, st *run.State, name string) (target, error) {
	segments := strings.Split(name, "/")
	t, whole, err := readTarget(prog, name, segments)
	if err != nil || whole {
		return t, err
	}
	var found []string
	for id := range st.Steps {
		if parts := strings.Split(id, "/"); len(parts) >= len(segments) && t.matches(parts[:len(segments)]) {
			found = append(found, strings.Join(parts[:len(segments)], "/"))
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	switch len(found) {
	case 0:
		return nil, &FromError{Kind: NoSuchStep, Step: name,
			Message: fmt.Sprintf("step %s is inside a map or repeat, and no instance of it is recorded: name one, as %s", name, t.example())}
	case 1:
		t, _, err = readTarget(prog, found[0], strings.Split(found[0], "/"))
		return t, err
	}
	return nil, &FromError{Kind: AmbiguousStep, Step: name, Steps: found,
		Message: fmt.Sprintf("there are %d instances of step %s", len(found), name)}
}

// readTarget reads a name along the program. whole reports that it leaves nothing
// out.
func readTarget(prog *workflow.Program, name string, segments []string) (t target, whole bool, err error) {
	wf, whole := prog.Root, true
	for i, segment := range segments {
		if wf == nil {
			return nil, false, &FromError{Kind: NoSuchStep, Step: name,
				Message: fmt.Sprintf("step %s runs no workflow, so nothing is inside it", strings.Join(segments[:i], "/"))}
		}
		id, index, ok := cutInstance(segment)
		node := wf.Named[id]
		switch {
		case node == nil || node.Step == nil:
			return nil, false, &FromError{Kind: NoSuchStep, Step: name, Steps: slices.Sorted(maps.Keys(wf.Named)),
				Message: fmt.Sprintf("%s has no step %q", wf.Ref, id)}
		case !ok || len(index) != 0 && len(index) != node.ScopeDepth:
			return nil, false, &FromError{Kind: NoSuchStep, Step: name,
				Message: fmt.Sprintf("step %s stands in %d maps and repeats, and %q does not name one of each", id, node.ScopeDepth, segment)}
		}
		whole = whole && len(index) == node.ScopeDepth
		t = append(t, waypoint{node, index})
		wf = node.Step.Nested
	}
	return t, whole, nil
}

// cutInstance parts a segment: "x@root[2]#0" and "x:2:0" are x in 2, 0.
func cutInstance(segment string) (id string, index []int, ok bool) {
	at := strings.IndexAny(segment, "@:")
	if at < 0 {
		return segment, nil, true
	}
	id, rest := segment[:at], strings.TrimPrefix(segment[at:], "@root")
	for _, digits := range strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune("[]#:", r) }) {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 0 {
			return id, nil, false
		}
		index = append(index, n)
	}
	return id, index, len(index) > 0
}

// matches reports whether a recorded instance is one that the target may mean.
func (t target) matches(parts []string) bool {
	for i, part := range parts {
		id, index, _ := cutInstance(part)
		if id != t[i].node.ID || len(t[i].index) > 0 && !slices.Equal(index, t[i].index) {
			return false
		}
	}
	return true
}

// example is the target with the first of all that is left out.
func (t target) example() string {
	for i := range t {
		if len(t[i].index) == 0 {
			t[i].index = make([]int, t[i].node.ScopeDepth)
		}
	}
	return t.String()
}

// String is the full instance id.
func (t target) String() string {
	id, path := "", ""
	for _, w := range t {
		sc := (&activation{path: path}).rootScope()
		for _, n := range w.way() {
			if n.Type == workflow.MapNode || n.Type == workflow.RepeatNode {
				sc = sc.within(n, w.index[n.ScopeDepth])
			}
		}
		id = sc.instance(w.node.ID)
		path = id + "/"
	}
	return id
}

// way are the nodes around the step in its definition, outermost first.
func (w waypoint) way() []*workflow.PlanNode {
	var way []*workflow.PlanNode
	for n := w.node.Parent; n != nil; n = n.Parent {
		way = append(way, n)
	}
	slices.Reverse(way)
	return way
}
