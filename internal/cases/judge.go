package cases

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/rehearsal"
	"github.com/culm-dev/culm/run"
)

// judge compares what came of a run with what is expected.
func (f *File) judge(c *Case, w *rehearsal.World, v *run.View, err error, r *Result) {
	for _, what := range w.Unscripted() {
		r.add("%s", unscripted(what))
	}
	if c.want.refused != "" {
		judgeRefusal(c.want.refused, v, err, r)
		return
	}
	if err != nil {
		r.add("%v", err)
	}
	if v == nil {
		return
	}
	judgeStatus(c.want, v, r)
	switch {
	case v.Status != c.want.status: // and so there is another output, or none
	case c.want.output != nil:
		judgeOutput(rehearsal.Compare(c.want.output, v.Output), r)
	case c.want.has != nil:
		judgeOutput(rehearsal.Has(c.want.has, v.Output), r)
	}
	for _, step := range slices.Sorted(maps.Keys(c.want.steps)) {
		judgeStep(step, c.want.steps[step], v, r)
	}
	if want := slices.Sorted(slices.Values(c.want.inDoubt)); c.want.inDoubt != nil && !slices.Equal(want, rehearsal.InDoubt(v)) {
		r.add("in_doubt: want %v, got %v", want, rehearsal.InDoubt(v))
	}
	for _, calls := range c.want.calls {
		judgeCalls(calls, w.Calls(), r)
	}
}

func unscripted(what string) string { return what + ": script it under tools, or under steps" }

func judgeRefusal(code string, v *run.View, err error, r *Result) {
	var refused *culm.Error
	switch {
	case v != nil:
		r.add("refused: want %s, and the run was started: it is %s", code, rehearsal.Status(v))
	case !errors.As(err, &refused):
		r.add("refused: want %s, got %v", code, err)
	case refused.Code != code:
		r.add("refused: want %s, got %s: %s", code, refused.Code, refused.Message)
	}
}

func judgeStatus(want want, v *run.View, r *Result) {
	switch {
	case v.Status != want.status:
		text := fmt.Sprintf("status: want %s, got %s", want.status, rehearsal.Status(v))
		if v.Failure != nil {
			text += "\n" + v.Failure.Message
		}
		for _, id := range slices.Sorted(maps.Keys(v.Steps)) {
			if fl := v.Steps[id].Failure; fl != nil {
				text += fmt.Sprintf("\nstep %s: %s", id, fl.Error())
			}
		}
		r.add("%s", text)
	case want.failure == nil:
	case v.Failure == nil:
		r.add("failure: want one, and there is none")
	case want.failure.code != "" && want.failure.code != string(v.Failure.Code):
		r.add("failure.code: want %s, got %s: %s", want.failure.code, v.Failure.Code, v.Failure.Message)
	case !strings.Contains(v.Failure.Message, want.failure.message):
		r.add("failure.message: want %q in it, got %q", want.failure.message, v.Failure.Message)
	}
}

func judgeOutput(differences []string, r *Result) {
	if len(differences) > 0 {
		r.add("output:\n%s", strings.Join(differences, "\n"))
	}
}

// judgeStep compares a step instance, or all instances of a step.
func judgeStep(step string, want run.StepStatus, v *run.View, r *Result) {
	found := false
	for _, id := range slices.Sorted(maps.Keys(v.Steps)) {
		if !rehearsal.Instance(step, id) {
			continue
		}
		found = true
		if got := v.Steps[id].Status; got != want {
			r.add("steps: step %s: want %s, got %s", id, want, got)
		}
	}
	if !found {
		r.add("steps: step %s: want %s, and the run never came to it", step, want)
	}
}

func judgeCalls(want calls, made []rehearsal.Call, r *Result) {
	var got []string
	for _, c := range made {
		if c.Tool == want.tool {
			got = append(got, c.Step)
		}
	}
	switch {
	case want.steps == nil && len(got) != want.count:
		r.add("calls: tool %s: want %d, got %d: %v", want.tool, want.count, len(got), got)
	case want.steps != nil && !slices.EqualFunc(want.steps, got, rehearsal.Instance):
		r.add("calls: tool %s: want them from %v, got %v", want.tool, want.steps, got)
	}
}
