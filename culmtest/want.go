package culmtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culm-dev/culm/internal/rehearsal"
	"github.com/culm-dev/culm/run"
)

// WantStatus fails the test unless the run has that status.
func (e *Env) WantStatus(v *run.View, want run.Status) {
	e.t.Helper()
	if v.Status != want {
		e.t.Errorf("run %s is %s, want %s%s", v.Definition.ID, rehearsal.Status(v), want, e.story(v))
	}
}

// WantOutput fails the test unless the run succeeded with that output: any value
// that marshals to JSON.
func (e *Env) WantOutput(v *run.View, want any) {
	e.t.Helper()
	if v.Status != run.StatusSucceeded {
		e.WantStatus(v, run.StatusSucceeded)
		return
	}
	if d := rehearsal.Compare(e.json(want), v.Output); len(d) > 0 {
		e.t.Errorf("output of run %s:\n  %s", v.Definition.ID, strings.Join(d, "\n  "))
	}
}

// WantFailure fails the test unless the run failed with that code.
func (e *Env) WantFailure(v *run.View, code run.Code) {
	e.t.Helper()
	if v.Status != run.StatusFailed || v.Failure == nil || v.Failure.Code != code {
		e.t.Errorf("run %s is %s, want failed (%s)%s", v.Definition.ID, rehearsal.Status(v), code, e.story(v))
	}
}

// WantStep fails the test unless the step instance has that status.
func (e *Env) WantStep(v *run.View, step string, want run.StepStatus) {
	e.t.Helper()
	switch s := v.Steps[step]; {
	case s == nil:
		e.t.Errorf("step %s was not entered, want it %s%s", step, want, e.story(v))
	case s.Status != want:
		e.t.Errorf("step %s is %s, want %s%s", step, s.Status, want, e.story(v))
	}
}

// WantInDoubt fails the test unless just these step instances are in doubt, in any
// order.
func (e *Env) WantInDoubt(v *run.View, steps ...string) {
	e.t.Helper()
	want := slices.Sorted(slices.Values(steps))
	if got := rehearsal.InDoubt(v); !slices.Equal(got, want) {
		e.t.Errorf("in doubt are %v, want %v%s", got, want, e.story(v))
	}
}

// WantCalls fails the test unless the tool was called that often, by all
// processes together.
func (e *Env) WantCalls(tool string, n int) {
	e.t.Helper()
	if got := e.Calls(tool); len(got) != n {
		e.t.Errorf("tool %s was called %d times, want %d:%s", tool, len(got), n, listed(got))
	}
}

// WantOrder fails the test unless the calls of all tools were those of these step
// instances, in that order.
func (e *Env) WantOrder(steps ...string) {
	e.t.Helper()
	var got []string
	for _, c := range e.Calls() {
		got = append(got, c.Step)
	}
	if !slices.Equal(got, steps) {
		e.t.Errorf("called were the steps %v, want %v", got, steps)
	}
}

// WantOnce fails the test unless each of the tools was called, and did what it does
// once for each step instance that called it: calls that did nothing do not count.
func (e *Env) WantOnce(tools ...string) {
	e.t.Helper()
	for _, tool := range tools {
		calls := e.Calls(tool)
		if len(calls) == 0 {
			e.t.Errorf("tool %s was not called, want it done once", tool)
		}
		done := map[[2]string]int{} // by run and step
		var places [][2]string
		for _, c := range calls {
			place := [2]string{c.RunID, c.Step}
			if _, seen := done[place]; !seen {
				places = append(places, place)
			}
			if done[place] += 0; c.Outcome == Returned {
				done[place]++
			}
		}
		for _, place := range places {
			if n := done[place]; n != 1 {
				e.t.Errorf("tool %s was done %d times for step %s, want once:%s", tool, n, place[1], listed(calls))
			}
		}
	}
}

// WantArgs fails the test unless the latest call of the step instance had these
// arguments: any value that marshals to JSON.
func (e *Env) WantArgs(step string, want any) {
	e.t.Helper()
	for _, c := range slices.Backward(e.Calls()) {
		if c.Step != step {
			continue
		}
		if d := rehearsal.Compare(e.json(want), c.Args); len(d) > 0 {
			e.t.Errorf("arguments of step %s:\n  %s", step, strings.Join(d, "\n  "))
		}
		return
	}
	e.t.Errorf("step %s called no tool, want it to have been called with arguments", step)
}

func listed(calls []Call) string {
	var b strings.Builder
	for _, c := range calls {
		fmt.Fprintf(&b, "\n  step %s, attempt %d, process %d: %s", c.Step, c.Attempt, c.Process, c.Outcome)
	}
	return b.String()
}

// story is what happened to a run, for a test that fails.
func (e *Env) story(v *run.View) string {
	e.t.Helper()
	var b strings.Builder
	if v.Failure != nil {
		fmt.Fprintf(&b, "\n  failure: %s", v.Failure.Message)
	}
	b.WriteString("\n  its journal:")
	for _, ev := range e.Events(v.RunID) {
		fmt.Fprintf(&b, "\n    %3d %s %s", ev.Sequence, ev.Type, ev.StepID)
		if f, ok := ev.Body.(*run.StepFailed); ok {
			fmt.Fprintf(&b, ": %s", f.Failure.Error())
		}
	}
	return b.String()
}
