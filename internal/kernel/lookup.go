package kernel

import (
	"strings"

	"github.com/culm-dev/culm/workflow"
)

// Step is the definition of an open step instance; nil if none is open.
func (m *Machine) Step(instance string) *workflow.StepInfo {
	if f := m.leaves[instance]; f != nil {
		return f.node.Step
	}
	return nil
}

// ViewOf is what the templates of an open step instance may refer to.
func (m *Machine) ViewOf(instance string) (View, bool) {
	f := m.leaves[instance]
	if f == nil {
		return View{}, false
	}
	return f.view(m), true
}

// Declared is the definition of any step instance, open or not; nil if the
// program has no such step.
func (m *Machine) Declared(instance string) *workflow.StepInfo {
	w := m.prog.Root
	parts := strings.Split(instance, "/")
	for i, part := range parts {
		id, _, _ := strings.Cut(part, "@")
		node := w.Named[id]
		if node == nil || node.Step == nil {
			return nil
		}
		if i == len(parts)-1 {
			return node.Step
		}
		if w = node.Step.Nested; w == nil {
			return nil
		}
	}
	return nil
}
