package rehearsal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

// Repeated finds the writes that were done more than once for one step instance,
// other than by the tools named; nil if there are none.
func (w *World) Repeated(but ...string) error {
	type doing struct {
		place
		tool string
	}
	done := map[doing]int{}
	var order []doing
	for _, c := range w.Calls() {
		if c.Effect != tool.Write || c.Outcome != Returned || slices.Contains(but, c.Tool) {
			continue
		}
		p := doing{place{c.RunID, c.Step}, c.Tool}
		if done[p]++; done[p] == 2 {
			order = append(order, p)
		}
	}
	var errs []error
	for _, p := range order {
		errs = append(errs, fmt.Errorf("step %s: %s was done %d times, and it writes", p.step, p.tool, done[p]))
	}
	return errors.Join(errs...)
}

// differ compares how a run came to its end with how it does undisturbed.
func (e *Everywhere) differ(got *run.View) error {
	if want, got := Status(e.whole), Status(got); want != got {
		return fmt.Errorf("the run is %s, and undisturbed it is %s", got, want)
	}
	if e.AnyOutput {
		return nil
	}
	if d := Compare(anonymous(e.whole), anonymous(got)); len(d) > 0 {
		return fmt.Errorf("the output is not that of the undisturbed run:\n  %s", strings.Join(d, "\n  "))
	}
	return nil
}

// anonymous is a run's output with its id taken out.
func anonymous(v *run.View) json.RawMessage {
	return bytes.ReplaceAll(v.Output, []byte(v.RunID), []byte("RUN"))
}

// Status is how a run stands, in words: with its failure's code, or what it waits
// for.
func Status(v *run.View) string {
	switch {
	case v.Failure != nil:
		return fmt.Sprintf("%s (%s)", v.Status, v.Failure.Code)
	case len(InDoubt(v)) > 0:
		return fmt.Sprintf("%s, with %s in doubt", v.Status, strings.Join(InDoubt(v), ", "))
	case v.Suspension != nil:
		return fmt.Sprintf("%s (%s)", v.Status, v.Suspension.Kind)
	}
	return string(v.Status)
}

// InDoubt are the steps in doubt, sorted.
func InDoubt(v *run.View) []string {
	var steps []string
	for _, id := range slices.Sorted(maps.Keys(v.Steps)) {
		if v.Steps[id].InDoubt {
			steps = append(steps, id)
		}
	}
	return steps
}
