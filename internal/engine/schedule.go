package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/expr"
	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/internal/policy"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// settle records the ends that follow from ends already in the batch or journal:
// of workflow steps whose plan is done, of sleeps that are over, of what was
// cancelled while nothing ran.
func (o *owner) settle(ctx context.Context) error {
	for {
		acts := o.m.Due(o.e.now())
		if len(acts) == 0 {
			return nil
		}
		if _, err := o.do(ctx, acts[0]); err != nil {
			return err
		}
	}
}

// startHarmless lets starts share the commit of the outcomes that enabled them
// where every one of them is of a step that its author declared harmless to repeat.
func (o *owner) startHarmless(ctx context.Context) error {
	if len(o.batch.lines) == 0 || o.asked() != haltNo {
		return nil
	}
	acts, err := o.next()
	if err != nil {
		return err
	}
	for _, a := range acts {
		harmless := a.Do == kernel.Start && a.Step.Def.Type == workflow.ToolStep && a.Step.Def.OnUnknown == workflow.OnUnknownRerun
		if !harmless {
			return nil
		}
	}
	if len(acts) == 0 {
		return nil
	}
	o.batch.gated = true
	_, err = o.doAll(ctx, acts)
	return err
}

// startNext puts everything that may be entered or decided now into the batch.
func (o *owner) startNext(ctx context.Context) (progress bool, err error) {
	if o.asked() != haltNo {
		return false, nil
	}
	for {
		acts, err := o.next()
		if len(acts) == 0 || err != nil {
			return progress, err
		}
		o.batch.gated = true
		progress = true
		ended, err := o.doAll(ctx, acts)
		if err != nil || ended {
			return progress, err
		}
	}
}

// next is what may be done now. It withholds the entering again of a call that was
// given up and may still be at work: even what is harmless to repeat is not to be
// done twice at once.
func (o *owner) next() ([]kernel.Action, error) {
	acts := o.m.Next(o.e.now(), o.freeSlots())
	o.withheld = false
	may := acts[:0]
	for _, a := range acts {
		running := false
		if a.Do == kernel.Rerun {
			var err error
			if running, err = o.e.stillRunning(o.id, a.StepID); err != nil {
				return nil, err
			}
		}
		if running {
			o.withheld = true
			continue
		}
		may = append(may, a)
	}
	return may, nil
}

// doAll does actions until one of them changes what the others rest on. ended
// reports that a step ended: what that enables belongs to another commit.
func (o *owner) doAll(ctx context.Context, acts []kernel.Action) (ended bool, err error) {
	for _, a := range acts {
		last := o.state().Last
		ended, err := o.do(ctx, a)
		if err != nil || ended {
			return ended, err
		}
		if a.Do == kernel.Decide || a.Do == kernel.Reserve || a.Do == kernel.Expire || o.state().Last == last {
			return false, nil
		}
	}
	return false, nil
}

func (o *owner) freeSlots() int {
	return int(o.state().Budget.MaxConcurrency) - len(o.calls) - len(o.batch.starts)
}

// do records one action.
func (o *owner) do(ctx context.Context, a kernel.Action) (ended bool, err error) {
	switch a.Do {
	case kernel.Decide:
		return false, o.decide(ctx, a)
	case kernel.Reserve:
		return false, o.reserve(a)
	case kernel.Skip:
		return false, o.emit(a.StepID, &run.StepSkipped{Reason: a.Reason})
	case kernel.Rerun:
		by := "operator"
		if a.Step.Def.OnUnknown == workflow.OnUnknownRerun {
			by = "definition"
		}
		return false, o.emit(a.StepID, &run.StepResolved{Verdict: run.VerdictRerun, By: by})
	case kernel.Expire:
		return false, o.emit("", &run.Decided{Node: a.Node, Scope: a.Scope, Failure: kernel.TimedOut(a.Step), Cleanup: a.Cleanup})
	case kernel.Resume:
		return false, o.emit(a.StepID, &run.StepResumed{})
	case kernel.Cancel:
		return true, o.emit(a.StepID, &run.StepCancelled{InDoubt: a.InDoubt})
	case kernel.Finish:
		body, err := o.finished(ctx, a)
		if err != nil {
			return false, err
		}
		return true, o.emit(a.StepID, body)
	case kernel.Start:
		return o.start(ctx, a)
	}
	return false, fmt.Errorf("do action %d: unknown", a.Do)
}

// decide evaluates a choice's condition, a map's source or a repeat's until.
func (o *owner) decide(ctx context.Context, a kernel.Action) error {
	d := &run.Decided{Node: a.Node, Scope: a.Scope, Cleanup: a.Cleanup}
	v, fl, err := o.eval(a.Expr, o.env(ctx, a.View, "", 0))
	if err != nil {
		return err
	}
	if fl == nil {
		fl = o.checkDecision(a, v, d)
	}
	if fl != nil {
		d.Failure = fl
		return o.emit("", d)
	}
	raw, err := canon.Encode(v)
	if err != nil {
		return err
	}
	d.Value, d.ValueBlob = o.hold(v, raw)
	return o.emit("", d)
}

func (o *owner) checkDecision(a kernel.Action, v any, d *run.Decided) *run.Failure {
	if a.Plan.Type != workflow.MapNode {
		if _, ok := v.(bool); !ok {
			return &run.Failure{Code: run.InvalidInput, Message: fmt.Sprintf("%s: expected a boolean, got %s", a.Node, kindOf(v))}
		}
		return nil
	}
	items, ok := v.([]any)
	if !ok {
		return &run.Failure{Code: run.InvalidInput, Message: fmt.Sprintf("%s: expected an array to map over, got %s", a.Node, kindOf(v))}
	}
	st := o.state()
	need, left := int64(len(items))*int64(a.Plan.Children[0].Leaves), st.Budget.MaxSteps-st.Usage.Steps-a.Keep
	if need > left {
		return &run.Failure{Code: run.BudgetExceeded, Message: fmt.Sprintf(
			"%s: %d items need up to %d steps, and %d of max_steps %d are left", a.Node, len(items), need, left, st.Budget.MaxSteps)}
	}
	d.Count = len(items)
	return nil
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

// eval evaluates a template. What is wrong with the template is a failure of the
// step; what is wrong with the store is an error.
func (o *owner) eval(t *expr.Template, env *env) (any, *run.Failure, error) {
	v, err := t.Eval(env)
	var bad *expr.Error
	switch {
	case err == nil:
		return v, nil, nil
	case errors.As(err, &bad):
		return nil, &run.Failure{Code: run.Code(bad.Code), Message: bad.Error()}, nil
	}
	return nil, nil, err
}

// start enters a leaf. ended reports that it failed before it was entered.
func (o *owner) start(ctx context.Context, a kernel.Action) (ended bool, err error) {
	attempt := 1
	if rec := o.state().Steps[a.StepID]; rec != nil {
		attempt = rec.Attempts + 1
	}
	fl, err := o.enter(ctx, a, attempt)
	if err != nil {
		return false, err
	}
	if fl != nil {
		return true, o.emit(a.StepID, &run.StepFailed{Failure: *fl, Cleanup: a.Cleanup})
	}
	return false, nil
}

func (o *owner) enter(ctx context.Context, a kernel.Action, attempt int) (*run.Failure, error) {
	st := o.state()
	if st.Usage.Steps+a.Keep >= st.Budget.MaxSteps {
		return overSteps(st, a.Keep), nil
	}
	env := o.env(ctx, a.View, a.StepID, attempt)
	switch a.Step.Def.Type {
	case workflow.ToolStep:
		return o.enterTool(a, env)
	case workflow.SleepStep:
		return o.enterSleep(a, env)
	case workflow.WorkflowStep:
		return o.enterWorkflow(a, env)
	}
	return &run.Failure{Code: run.InvalidDefinition, Message: fmt.Sprintf("steps of type %s cannot be run yet", a.Step.Def.Type)}, nil
}

func (o *owner) enterTool(a kernel.Action, env *env) (*run.Failure, error) {
	args, fl, err := o.input(a.Step, env)
	if fl != nil || err != nil {
		return fl, err
	}
	paths, err := o.readPaths(env.ctx)
	if err != nil {
		return nil, err
	}
	name := a.Step.Def.Tool
	t, ok := o.e.tools.Lookup(name)
	if !ok {
		return &run.Failure{Code: run.ExecutionFailed, Message: "there is no tool " + name}, nil
	}
	if err := o.e.tools.CheckInput(name, args); err != nil {
		return &run.Failure{Code: run.InvalidInput, Message: fmt.Sprintf("arguments of tool %s: %v", name, err)}, nil
	}
	spec, _ := o.e.tools.Spec(name)
	effect := tool.EffectOfCall(t, args)
	st := o.state()
	if denial := policy.Check(st.Authority, policy.Request{
		Tool: name, Effect: effect, Capability: spec.Capability, Declared: a.Step.Def.Capabilities,
	}); denial != nil {
		return &run.Failure{Code: denial.Code, Message: denial.Message}, nil
	}
	err = o.emit(a.StepID, &run.StepStarted{
		Attempt: env.attempt, InputHash: canon.Hash(args), Effect: string(effect),
		Reservation: run.Amounts{"steps": 1}, Cleanup: a.Cleanup,
	})
	if err != nil {
		return nil, err
	}
	c := o.newCall(a, env, t, effect, args)
	if effect == tool.Read {
		c.req.ReadPaths = paths
	}
	o.batch.starts = append(o.batch.starts, c)
	return nil, nil
}

func (o *owner) newCall(a kernel.Action, env *env, t tool.Tool, effect tool.Effect, args run.Raw) *call {
	c := &call{o: o, step: a.Step, tool: t, effect: effect}
	if ms := a.Step.Def.TimeoutMS; ms != nil {
		c.timeout = time.Duration(*ms) * time.Millisecond
	}
	c.req = tool.Call{
		RunID: o.id, StepID: a.StepID, Attempt: env.attempt,
		IdempotencyKey: idempotencyKey(o.id, a.StepID),
		Workspace:      o.state().Workspace,
		LockPath:       o.e.lockPath(o.id, a.StepID),
		Args:           args,
	}
	if c.live = o.e.newLiveOutput(o.id, a.StepID, env.attempt); c.live != nil {
		c.req.Progress, c.req.Live = c.live.progress, c.live.writer
	}
	return c
}

// input gives a step's arguments: canonical JSON.
func (o *owner) input(step *workflow.StepInfo, env *env) (run.Raw, *run.Failure, error) {
	if step.Args == nil {
		return run.Raw("{}"), nil, nil
	}
	v, fl, err := o.eval(step.Args, env)
	if fl != nil || err != nil {
		return nil, fl, err
	}
	raw, err := canon.Encode(v)
	if err != nil {
		return nil, nil, err
	}
	if len(raw) > maxArgs {
		return nil, &run.Failure{Code: run.InvalidInput, Message: fmt.Sprintf("the arguments have %d bytes; at most %d are passed", len(raw), maxArgs)}, nil
	}
	return raw, nil, nil
}

func (o *owner) enterWorkflow(a kernel.Action, env *env) (*run.Failure, error) {
	raw, fl, err := o.input(a.Step, env)
	if fl != nil || err != nil {
		return fl, err
	}
	v, err := canon.Decode(raw)
	if err != nil {
		return nil, err
	}
	nested := a.Step.Nested
	if err := nested.Input.Validate(v); err != nil {
		return &run.Failure{Code: run.InvalidInput, Message: fmt.Sprintf("arguments of workflow %s: %v", nested.Ref, err)}, nil
	}
	body := &run.StepStarted{
		Attempt: env.attempt, InputHash: canon.Hash(raw), Reservation: run.Amounts{"steps": 1}, Cleanup: a.Cleanup,
		Workflow: &run.DefinitionRef{ID: nested.Def.ID, Revision: nested.Def.Revision},
	}
	if body.ChildRunID, err = o.childRunID(a.StepID); err != nil {
		return nil, err
	}
	body.Args, body.ArgsBlob = o.hold(v, raw)
	return nil, o.emit(a.StepID, body)
}

// childRunID is the nested run's id: minted at the first start, kept by others.
func (o *owner) childRunID(stepID string) (string, error) {
	if rec := o.state().Steps[stepID]; rec != nil && rec.ChildRunID != "" {
		return rec.ChildRunID, nil
	}
	id, err := newRunID()
	if err != nil {
		return "", err
	}
	o.batch.extra.Keys = append(o.batch.extra.Keys, store.KeyRecord{Scope: nestedScope, Key: id, Stream: o.id, At: o.e.now()})
	return id, nil
}

func newRunID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("make run id: %w", err)
	}
	return id.String(), nil
}
