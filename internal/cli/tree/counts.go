package tree

import (
	"fmt"
	"strings"

	"github.com/culm-dev/culm/run"
)

// countedMark is the mark of a step in a map, over all of its instances.
func (m *Model) countedMark(it *Item, t *tally) Mark {
	switch {
	case t.doubts > 0:
		return Doubt
	case t.count[run.StatusStepFailed] > 0 && len(t.open) == 0:
		return Failed
	case t.count[run.StatusStepRunning] > 0:
		return Running
	case t.count[run.StatusStepSuspended] > 0:
		return Waiting
	case t.count[run.StatusStepCancelled] > 0:
		return Cancelled
	}
	over := t.count[run.StatusStepSucceeded] + t.count[run.StatusStepSkipped]
	if expected := m.expected(it); expected > over {
		return Running // between two items
	}
	if t.count[run.StatusStepSucceeded] > 0 {
		return Done
	}
	return Skipped
}

// counts says how many instances of a step in a map stand where.
func (m *Model) counts(it *Item, t *tally) string {
	done := fmt.Sprint(t.count[run.StatusStepSucceeded])
	if total := max(m.expected(it), t.total); total > 0 {
		done += fmt.Sprintf("/%d", total)
	}
	parts := []string{done}
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(t.count[run.StatusStepRunning], "running")
	add(t.count[run.StatusStepFailed], "failed")
	add(t.doubts, "in doubt")
	add(t.count[run.StatusStepSuspended]-t.openDoubts(m), "waiting")
	add(t.count[run.StatusStepSkipped], "skipped")
	add(t.count[run.StatusStepCancelled], "cancelled")
	return strings.Join(parts, "  ")
}

// openDoubts counts the doubts among suspended instances: one that a run was
// cancelled with is cancelled.
func (t *tally) openDoubts(m *Model) int {
	if t.doubts == 0 {
		return 0
	}
	n := 0
	for _, id := range t.open {
		if m.instances[id].doubt {
			n++
		}
	}
	return n
}

// expected is how many items the innermost map around a step has, over all that
// were decided so far; 0 if that is not known, or a loop multiplies it again.
func (m *Model) expected(it *Item) int {
	if len(it.maps) == 0 {
		return 0
	}
	n := m.nodes[it.maps[len(it.maps)-1]]
	if n == nil {
		return 0
	}
	return n.items
}
