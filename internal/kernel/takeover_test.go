package kernel_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/run"
)

// TestRandomTakeovers takes random ways through random plans, stops anywhere, and
// goes on from a random step in a new run. It shows of each that
//
//   - what is taken over is accepted, and after every event a machine made of the
//     folded state says what the machine says;
//   - a step that was entered can be gone on from, but for some in cleanups;
//   - neither the step itself nor what is in or around it is taken over;
//   - no failure is taken over but those that the plan goes on from: if all else
//     succeeds, and repeats come to their end, the new run does;
//   - in a run that succeeds the step was entered, and nothing taken over was.
func TestRandomTakeovers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := walkerOf(t, drawCase(t))
		w.must(w.begin())
		for range pick(t, "steps", 160) {
			if w.over() {
				break
			}
			w.wander()
		}
		steps := slices.Sorted(maps.Keys(w.state().Steps))
		if len(steps) == 0 {
			t.Skip("nothing was entered")
		}
		at := steps[pick(t, "from", len(steps))]
		taken, err := kernel.TakeOver(w.prog, w.state(), at)
		var no *kernel.FromError
		if errors.As(err, &no) {
			if rec := w.state().Steps[at]; no.Kind != kernel.NotReached || rec.Attempts > 0 && !rec.Cleanup && len(w.state().Retries) == 0 {
				t.Fatalf("step %s was entered, and no run can go on from it: %v\n%s", at, err, w.journal())
			}
			t.Skip("the step was not reached")
		}
		again := &walker{sim: newSim(w.prog), t: t, slots: w.slots, calm: true}
		again.adopt(taken)
		again.bringToEnd()
		again.checkFold()
		again.checkTakeover(taken, w)
	})
}

// adopt begins a run with what is taken over.
func (w *walker) adopt(taken *kernel.Takeover) {
	w.must(w.emit("", &run.Queued{
		RootRunID: "r", SessionID: "local", Budget: run.Budget{WallTimeMS: 3_600_000, MaxConcurrency: 4},
		Args: run.Raw(`{}`), Semantics: run.Semantics, CreatedAt: w.now, RestartedFrom: "old", RestartedAtStep: taken.At,
	}))
	for _, one := range taken.Taken {
		w.must(w.sim.adopt(one))
	}
	w.must(w.emit("", &run.Started{By: "test"}))
}

func (s *sim) adopt(one kernel.Taken) error {
	if one.Step != nil {
		body := &run.StepAdopted{FromRun: "old", Failure: one.Step.Failure, Cancelled: one.Step.Status == run.StatusStepCancelled}
		if one.Step.Status == run.StatusStepSucceeded {
			body.Output = run.Raw(`1`)
		}
		return s.emit(one.Step.ID, body)
	}
	body := &run.NodeAdopted{Node: one.Node, Scope: one.Scope, Round: one.Round}
	if d := one.Decision; d != nil {
		body.Count, body.Failure = d.Count, d.Failure
		if d.Failure == nil {
			body.Value = run.Raw(`false`)
		}
		if d.Truth {
			body.Value = run.Raw(`true`)
		}
	}
	return s.emit("", body)
}

func (w *walker) checkTakeover(taken *kernel.Takeover, old *walker) {
	st := w.state()
	if st.Status == run.StatusFailed {
		w.t.Fatalf("restarted at %s it failed, though everything succeeded: %v\nold:\n%s\nnew:\n%s", taken.At, st.Failure, old.journal(), w.journal())
	}
	rec := st.Steps[taken.At]
	if st.Status == run.StatusSucceeded && (rec == nil || rec.Attempts != 1 || rec.AdoptedFrom != "") {
		w.t.Fatalf("restarted at %s, which is %+v\nold:\n%s\nnew:\n%s", taken.At, rec, old.journal(), w.journal())
	}
	for _, one := range taken.Taken {
		if one.Step == nil {
			continue
		}
		id := one.Step.ID
		if id == taken.At || strings.HasPrefix(taken.At, id+"/") || strings.HasPrefix(id, taken.At+"/") {
			w.t.Fatalf("restarted at %s, and took %s over", taken.At, id)
		}
		if got := st.Steps[id]; one.Step.Status == run.StatusStepSucceeded && got.Attempts > 0 {
			w.t.Fatalf("restarted at %s, and entered %s again\n%s", taken.At, id, w.journal())
		}
	}
}
