package kernel_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// observe tells all that a machine says at a time, with all that templates could
// see from the places where something is to be done.
func observe(m *kernel.Machine, now time.Time) []string {
	var lines []string
	for _, a := range m.Pending(now) {
		lines = append(lines, describe(a)+sight(a))
	}
	slices.Sort(lines)
	for _, id := range m.Aborts() {
		lines = append(lines, "abort "+id)
	}
	for _, st := range m.State().OpenSteps() {
		if m.Dying(st.ID) {
			lines = append(lines, "dying "+st.ID)
		}
	}
	if wake := m.Wake(); !wake.IsZero() {
		lines = append(lines, "wake "+wake.UTC().String())
	}
	if m.Stuck() {
		lines = append(lines, "stuck")
	}
	if end, ok := m.End(); ok {
		lines = append(lines, "end "+describeEnd(end))
	}
	return lines
}

// describe tells an action in a line.
func describe(a kernel.Action) string {
	switch a.Do {
	case kernel.Decide:
		return "decide " + nodeName(a)
	case kernel.Reserve:
		return fmt.Sprintf("reserve %s round %d after %s", nodeName(a), a.Round, a.Delay)
	case kernel.Expire:
		return "expire " + a.StepID
	case kernel.Skip:
		return "skip " + a.StepID + " " + a.Reason
	case kernel.Rerun:
		return "rerun " + a.StepID
	case kernel.Resume:
		return "resume " + a.StepID
	case kernel.Start:
		return "start " + a.StepID
	case kernel.Cancel:
		if a.InDoubt {
			return "cancel " + a.StepID + " in doubt"
		}
		return "cancel " + a.StepID
	case kernel.Finish:
		return "finish " + a.StepID + " " + describeEnd(kernel.End(a.Result))
	}
	return fmt.Sprintf("verb %d", a.Do)
}

// nodeName names a node's instance: its id or place, in its scope.
func nodeName(a kernel.Action) string {
	name := a.Plan.ID
	if name == "" {
		name = a.Node
	}
	act, suffix := "", a.Scope
	if i := strings.LastIndexByte(a.Scope, '/'); i >= 0 {
		act, suffix = a.Scope[:i+1], a.Scope[i+1:]
	}
	return act + name + suffix
}

func describeEnd(e kernel.End) string {
	switch e.Kind {
	case kernel.Succeeded:
		return "succeeded " + place(e.Output)
	case kernel.Cancelled:
		return "cancelled"
	}
	return "failed " + describeFailure(e.Failure)
}

func describeFailure(f *run.Failure) string {
	retryable := ""
	if f.Retryable {
		retryable = "retryable "
	}
	return fmt.Sprintf("%s%s: %s", retryable, f.Code, f.Message)
}

// place tells where a value is.
func place(v kernel.Val) string {
	switch v.Kind {
	case kernel.None:
		return "none"
	case kernel.Null:
		return "null"
	case kernel.Stored:
		return fmt.Sprintf("$%d", v.Value.Seq)
	case kernel.Element:
		return fmt.Sprintf("$%d[%d]", v.Value.Seq, v.Index)
	case kernel.OutcomeValue:
		if v.Failure == nil {
			return string(v.Outcome)
		}
		return fmt.Sprintf("%s %s", v.Outcome, describeFailure(v.Failure))
	case kernel.FailureValue:
		return "{error " + string(v.Failure.Code) + "}"
	}
	parts := make([]string, len(v.List))
	for i, part := range v.List {
		parts[i] = place(part)
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// sight tells all that templates may see from where an action is.
func sight(a kernel.Action) string {
	if a.Do != kernel.Start && a.Do != kernel.Decide {
		return ""
	}
	v := a.View
	text := fmt.Sprintf("; %s, args %s", v.RunID(), place(v.Args()))
	for _, name := range slices.Sorted(maps.Keys(v.Workflow().Named)) {
		if val, ok := v.Step(name); ok {
			text += fmt.Sprintf(", %s %s", name, place(val))
		}
		if val, ok := v.Previous(name); ok {
			text += fmt.Sprintf(", previous %s %s", name, place(val))
		}
	}
	if val, ok := v.Outcome(); ok {
		text += ", outcome " + place(val)
	}
	text += fmt.Sprintf(", keep %d", a.Keep)
	for _, n := range v.Workflow().Nodes {
		if n.Type != workflow.MapNode {
			continue
		}
		if val, ok := v.Item(n.Def.Item); ok {
			text += fmt.Sprintf(", item %s %s", n.Def.Item, place(val))
		}
	}
	return text
}
