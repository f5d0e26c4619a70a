package cases

import (
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// want reads what is expected. Without a status it is the one that the rest
// implies, and succeeded if that is none.
func (d *decoder) want(v workflow.Value) want {
	w := want{status: run.StatusSucceeded}
	if !v.Present() {
		return w
	}
	if !v.Fields("expect", nil, []string{"refused", "status", "failure", "output", "output_has", "steps", "in_doubt", "calls"}) {
		return w
	}
	w.failure = d.wantFailure(v.Get("failure"))
	if doubt := v.Get("in_doubt"); doubt.Present() {
		w.inDoubt = append([]string{}, doubt.Texts()...)
		for _, item := range doubt.Items() {
			if item.IsString() {
				d.checkStep(item.Text(), item.Refuse)
			}
		}
	}
	switch status := v.Get("status"); {
	case status.Present():
		w.status = run.Status(status.OneOf("status of a run that rests", string(run.StatusSucceeded), string(run.StatusFailed),
			string(run.StatusCancelled), string(run.StatusSuspended)))
	case w.failure != nil:
		w.status = run.StatusFailed
	case len(w.inDoubt) > 0:
		w.status = run.StatusSuspended
	}
	w.output, w.has = v.Get("output").JSON(), v.Get("output_has").JSON()
	if w.output != nil && w.has != nil {
		v.Get("output_has").Refuse(workflow.ConflictingFields, "output says it all: output_has cannot stand beside it")
	}
	w.steps = d.wantSteps(v.Get("steps"))
	w.calls = d.wantCalls(v.Get("calls"))
	if refused := v.Get("refused"); refused.Present() {
		w.refused = refused.Text()
		if len(v.Members()) > 1 {
			refused.Refuse(workflow.ConflictingFields, "a start that is refused makes no run: nothing else can be expected")
		}
	}
	return w
}

// wantFailure is a code, or an object.
func (d *decoder) wantFailure(v workflow.Value) *failure {
	switch {
	case !v.Present():
		return nil
	case v.IsString():
		return &failure{code: v.Text()}
	}
	f := &failure{}
	if v.Fields("a failure", nil, []string{"code", "message"}) {
		if code := v.Get("code"); code.Present() {
			f.code = code.Text()
		}
		if message := v.Get("message"); message.Present() {
			f.message = message.Text()
		}
	}
	return f
}

func (d *decoder) wantSteps(v workflow.Value) map[string]run.StepStatus {
	if !v.Present() {
		return nil
	}
	steps := map[string]run.StepStatus{}
	for _, m := range v.Members() {
		d.checkStep(m.Name, func(code workflow.Code, format string, args ...any) *workflow.Error {
			return v.RefuseName(m.Name, code, format, args...)
		})
		steps[m.Name] = run.StepStatus(m.OneOf("status of a step", string(run.StatusStepSucceeded), string(run.StatusStepFailed),
			string(run.StatusStepCancelled), string(run.StatusStepSkipped), string(run.StatusStepSuspended), string(run.StatusStepRunning)))
	}
	return steps
}

// wantCalls is, by tool, a number or the steps that call it, in order.
func (d *decoder) wantCalls(v workflow.Value) []calls {
	if !v.Present() {
		return nil
	}
	var list []calls
	for _, m := range v.Members() {
		d.checkTool(m.Name, func(code workflow.Code, format string, args ...any) *workflow.Error {
			return v.RefuseName(m.Name, code, format, args...)
		})
		c := calls{tool: m.Name}
		if m.IsList() {
			c.steps = append([]string{}, m.Texts()...)
			for _, item := range m.Items() {
				if item.IsString() {
					d.checkStep(item.Text(), item.Refuse)
				}
			}
		} else {
			c.count = int(m.Whole(0, 1<<30))
		}
		list = append(list, c)
	}
	return list
}
