package kernel_test

import (
	"strings"
	"testing"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// An event that says of a step that it is part of a cleanup, or is not, is refused if
// the plan says otherwise: the fold, which knows no plan, lets cleanups do more.
func TestEventsSayWhatIsCleanup(t *testing.T) {
	t.Parallel()
	entered := func(cleanup bool) *run.StepStarted {
		return &run.StepStarted{Attempt: 1, InputHash: "h", Effect: "read", Reservation: run.Amounts{"steps": 1}, Cleanup: cleanup}
	}
	for _, cleanup := range []bool{false, true} {
		def := definition(2)
		def.Plan = &workflow.Node{Type: workflow.FinallyNode, Node: step(def.Steps[0]), Cleanup: step(def.Steps[1])}
		b := newBench(t, def)
		if err := b.emit("s0", entered(cleanup)); (err != nil) != cleanup {
			t.Errorf("s0 as a cleanup (%v): %v", cleanup, err)
		}
		if cleanup {
			continue
		}
		b.must(b.emit("s0", &run.StepCompleted{Output: run.Raw("1")}))
		if err := b.emit("s1", entered(false)); err == nil || !strings.Contains(err.Error(), "does not expect") {
			t.Errorf("s1 not as a cleanup: %v", err)
		}
	}
}

// TestCostOfCleanups: that of an event does not grow with how many cleanups there were.
func TestCostOfCleanups(t *testing.T) {
	def := definition(2)
	def.Plan = mapped(&workflow.Node{Type: workflow.FinallyNode, Node: step(def.Steps[0]), Cleanup: step(def.Steps[1])})
	width := 8
	def.Plan.Concurrency = &width
	b := newBench(t, def)
	b.decide(3_000)
	constant(t, b, (*bench).work)
}

// TestCostOfManyCleanupsAtOnce: nor with how many go on.
func TestCostOfManyCleanupsAtOnce(t *testing.T) {
	def := definition(2)
	def.Plan = mapped(&workflow.Node{Type: workflow.FinallyNode, Node: step(def.Steps[0]), Cleanup: step(def.Steps[1])})
	b := newBench(t, def)
	b.decide(6_000)
	constant(t, b, (*bench).work)
}
