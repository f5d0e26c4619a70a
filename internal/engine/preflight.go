package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/culm-dev/culm/internal/expr"
	"github.com/culm-dev/culm/internal/policy"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// toolSchemas tells the compiler what is known of tools here.
func (e *Engine) toolSchemas(name string) (input, output json.RawMessage, ok bool) {
	spec, ok := e.tools.Spec(name)
	return spec.Input, spec.Output, ok
}

// stepCheck finds what is wrong with one step; nil for nothing.
type stepCheck func(w *workflow.Workflow, s *workflow.StepInfo) *Error

// stepsOf visits every step of every definition, in a fixed order.
func stepsOf(prog *workflow.Program, visit stepCheck) *Error {
	for _, ref := range slices.Sorted(maps.Keys(prog.Workflows)) {
		w := prog.Workflows[ref]
		for _, n := range w.Nodes {
			if n.Type != workflow.StepNode {
				continue
			}
			if err := visit(w, n.Step); err != nil {
				return err
			}
		}
	}
	return nil
}

// runnable refuses what this version compiles but cannot run.
func runnable(prog *workflow.Program) *Error { return stepsOf(prog, runnableStep) }

func runnableStep(w *workflow.Workflow, s *workflow.StepInfo) *Error {
	switch s.Def.Type {
	case workflow.ToolStep, workflow.WorkflowStep, workflow.SleepStep:
		return nil
	}
	return refuse(CodeUnsupportedStep, "step %s of %s is of type %s, which this version cannot run yet", s.Def.ID, w.Ref, s.Def.Type).
		with("step", s.Def.ID).with("workflow", w.Ref)
}

// toolsPresent refuses tools that are not registered, or are no longer what a
// run was started with.
func (e *Engine) toolsPresent(prog *workflow.Program) *Error { return stepsOf(prog, e.toolPresent) }

func (e *Engine) toolPresent(w *workflow.Workflow, s *workflow.StepInfo) *Error {
	if s.Def.Type != workflow.ToolStep {
		return nil
	}
	if _, ok := e.tools.Lookup(s.Def.Tool); ok {
		return nil
	}
	err := refuse(CodeToolMissing, "step %s of %s calls the tool %q, and there is no such tool here", s.Def.ID, w.Ref, s.Def.Tool).
		with("step", s.Def.ID).with("workflow", w.Ref).with("tool", s.Def.Tool)
	if near := e.tools.Near(s.Def.Tool); near != "" {
		err.hint("did you mean %q?", near)
	}
	return err
}

// secretsAvailable refuses handles to secrets: nothing resolves them yet.
func secretsAvailable(prog *workflow.Program) *Error { return stepsOf(prog, secretAvailable) }

func secretAvailable(w *workflow.Workflow, s *workflow.StepInfo) *Error {
	if s.Args == nil {
		return nil
	}
	for ref := range s.Args.Refs {
		if ref.Kind == expr.Secret {
			return refuse(CodeSecretUnavailable, "step %s of %s needs the secret %q, and no source of secrets is configured", s.Def.ID, w.Ref, ref.Name).
				with("step", s.Def.ID).with("secret", ref.Name)
		}
	}
	return nil
}

// request is what a step will ask of the policy, as far as that is known before its
// call; ok is false if it calls no tool that there is. depends reports that the
// effect is computed from the call's arguments. A step whose tool may read only is
// let through then, and looked at again when it is called.
func (e *Engine) request(s *workflow.StepInfo) (r policy.Request, depends, ok bool) {
	spec, ok := e.tools.Spec(s.Def.Tool)
	if s.Def.Type != workflow.ToolStep || !ok {
		return r, false, false
	}
	t, _ := e.tools.Lookup(s.Def.Tool)
	_, depends = t.(tool.EffectOf)
	r = policy.Request{Tool: s.Def.Tool, Effect: spec.Effect, Capability: spec.Capability, Declared: s.Def.Capabilities}
	if depends && spec.Capability == tool.CapRead {
		r.Effect = tool.Read
	}
	return r, depends, true
}

// permitted refuses what the authority does not allow, before anything is done.
func (e *Engine) permitted(prog *workflow.Program, a run.Authority) *Error {
	return stepsOf(prog, e.permittedStep(a))
}

func (e *Engine) permittedStep(a run.Authority) stepCheck {
	return func(w *workflow.Workflow, s *workflow.StepInfo) *Error {
		r, _, ok := e.request(s)
		if !ok {
			return nil
		}
		denial := policy.Check(a, r)
		if denial == nil {
			return nil
		}
		err := refuse(CodePolicyDenied, "step %s of %s: %s", s.Def.ID, w.Ref, denial.Message).
			with("step", s.Def.ID).with("workflow", w.Ref).with("tool", s.Def.Tool).
			with("reason", string(denial.Code)).with("trust", denial.Trust)
		if len(denial.Missing) > 0 {
			err.with("capabilities", denial.Missing)
		}
		return err.hint("%s", denial.Hint())
	}
}

// needs gives the authority that would allow everything in the program.
func (e *Engine) needs(prog *workflow.Program) (trust bool, allow []string) {
	_ = stepsOf(prog, func(_ *workflow.Workflow, s *workflow.StepInfo) *Error {
		spec, ok := e.tools.Spec(s.Def.Tool)
		if s.Def.Type != workflow.ToolStep || !ok {
			return nil
		}
		if d := policy.Check(run.Authority{}, policy.Request{Tool: s.Def.Tool, Effect: spec.Effect, Capability: spec.Capability, Declared: s.Def.Capabilities}); d != nil {
			trust = true
			allow = append(allow, d.Missing...)
		}
		return nil
	})
	slices.Sort(allow)
	return trust, slices.Compact(allow)
}

// pins records what the run's tools are.
func (e *Engine) pins(prog *workflow.Program) map[string]run.ToolPin {
	pins := make(map[string]run.ToolPin)
	_ = stepsOf(prog, func(_ *workflow.Workflow, s *workflow.StepInfo) *Error {
		if spec, ok := e.tools.Spec(s.Def.Tool); ok && s.Def.Type == workflow.ToolStep {
			pins[s.Def.Tool] = run.ToolPin{Effect: string(spec.Effect), Hash: e.tools.Hash(s.Def.Tool)}
		}
		return nil
	})
	return pins
}

// budget resolves what the run may spend.
func (e *Engine) budget(prog *workflow.Program, caller *workflow.Budgets) (run.Budget, *Error) {
	limits, err := workflow.Effective(prog.Root.Def.Budgets, e.cfg.Ceilings, caller)
	if err != nil {
		return run.Budget{}, &Error{Code: CodeCeilingExceeded, Message: err.Error(), cause: err,
			Hint: "ask for less, or raise ceilings in culm.yaml"}
	}
	if int64(prog.Depth) > limits.MaxNestingDepth {
		return run.Budget{}, refuse(string(run.BudgetExceeded), "workflows nest %d levels deep, and max_nesting_depth is %d", prog.Depth, limits.MaxNestingDepth)
	}
	return limits, nil
}

// withinCeilings refuses a budget that the operator's ceilings no longer allow.
func (e *Engine) withinCeilings(b run.Budget) *Error {
	asked := &workflow.Budgets{
		MaxConcurrency: &b.MaxConcurrency, MaxAgents: &b.MaxAgents, MaxSteps: &b.MaxSteps, MaxRetries: &b.MaxRetries,
		MaxNestingDepth: &b.MaxNestingDepth, WallTimeMS: &b.WallTimeMS, MaxTokens: b.MaxTokens, MaxCostMicros: b.MaxCostMicros,
	}
	if b.CleanupMS > 0 { // a run that was started before there was any has none
		asked.CleanupMS = &b.CleanupMS
	}
	if _, err := workflow.Effective(asked, e.cfg.Ceilings, nil); err != nil {
		return &Error{Code: CodeCeilingExceeded, Message: fmt.Sprintf("the run's budget is above today's ceilings: %v", err), cause: err,
			Hint: "raise ceilings in culm.yaml"}
	}
	return nil
}
