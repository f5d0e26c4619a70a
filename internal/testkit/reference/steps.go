package reference

import (
	"encoding/json"
	"time"

	"github.com/culm-dev/culm/internal/schema"
	"github.com/culm-dev/culm/workflow"
)

func (x *interp) leaf(id string) *leaf {
	if x.leaves[id] == nil {
		x.leaves[id] = &leaf{}
	}
	return x.leaves[id]
}

// execStep enters a step, unless it succeeded already.
func (x *interp) execStep(t *task, s *workflow.Step, sc *scope, c *cancellation) outcome {
	l := x.leaf(sc.instance(s.ID))
	if l.status == Succeeded && !sc.stale(l.moment) {
		return outcome{val: l.output, touched: l.moment}
	}
	w := wantTurn
	if s.Type == workflow.ToolStep {
		w = wantCall
	}
	if !x.sched.ask(t, w, c) {
		return outcome{kind: cancelled}
	}
	if x.steps >= x.opts.Limits.MaxSteps {
		x.race()
		return x.fail(l, x.failure("budget_exceeded", "no steps left"))
	}
	switch s.Type {
	case workflow.ToolStep:
		return x.execTool(t, s, sc, c, l)
	case workflow.WorkflowStep:
		return x.execWorkflow(t, s, sc, c, l)
	case workflow.SleepStep:
		return x.execSleep(t, s, sc, c, l)
	}
	return x.fail(l, x.failure("invalid_definition", "steps of type %s are not interpreted", s.Type))
}

func (x *interp) succeed(l *leaf, v any) outcome {
	*l = leaf{status: Succeeded, output: v, failures: l.failures, moment: x.now()}
	return outcome{val: v, touched: l.moment}
}

func (x *interp) fail(l *leaf, f *failure) outcome {
	x.sched.settle = true
	*l = leaf{status: Failed, failure: &f.Failure, failures: l.failures, moment: x.now()}
	return outcome{kind: failed, fail: f, hard: !f.Retryable, touched: l.moment}
}

func (x *interp) cancel(l *leaf) outcome {
	*l = leaf{status: Cancelled, failures: l.failures, moment: x.now()}
	return outcome{kind: cancelled, touched: l.moment}
}

// args evaluates a step's arguments; absent ones are {}.
func (x *interp) args(s *workflow.Step, sc *scope) (any, *failure) {
	v, bad := x.eval(s.Args, sc, sc.instance(s.ID))
	if v == nil && bad == nil && (s.Args == nil || string(s.Args) == "null") {
		v = map[string]any{}
	}
	return v, bad
}

func (x *interp) execTool(t *task, s *workflow.Step, sc *scope, c *cancellation, l *leaf) outcome {
	args, bad := x.args(s, sc)
	if bad != nil {
		return x.fail(l, bad)
	}
	x.steps++
	if x.opts.Pick != nil && !x.sched.ask(t, wantReturn, c) {
		return x.cancel(l)
	}
	x.sched.settle = true
	out, failed := x.opts.Tool(Call{Step: sc.instance(s.ID), Tool: s.Tool, Args: args, Failures: l.failures})
	if failed != nil {
		l.failures++
		return x.fail(l, &failure{*failed, x.now()})
	}
	if bad := x.validate(sc.act.def.of[s.ID], out); bad != nil {
		return x.fail(l, bad)
	}
	return x.succeed(l, out)
}

// validate checks an output against a schema. What is wrong with it was done all
// the same.
func (x *interp) validate(s *schema.Schema, v any) *failure {
	if s == nil {
		return nil
	}
	err := s.Validate(v)
	if err == nil {
		return nil
	}
	bad := x.failure("invalid_output", "%v", err)
	bad.EffectDone = true
	return bad
}

func (x *interp) execWorkflow(t *task, s *workflow.Step, sc *scope, c *cancellation, l *leaf) outcome {
	args, bad := x.args(s, sc)
	if bad != nil {
		return x.fail(l, bad)
	}
	def := x.defs[workflow.Ref(s.WorkflowID, s.Revision)]
	if err := def.input.Validate(args); err != nil {
		return x.fail(l, x.failure("invalid_input", "%v", err))
	}
	x.steps++
	inner := &scope{act: &activation{def: def, prefix: sc.instance(s.ID) + "/", args: args}, cleans: sc.cleans}
	out := x.exec(t, def.plan, inner, c)
	x.sched.ask(t, wantEnd, c)
	switch out.kind {
	case cancelled:
		return x.cancel(l)
	case failed: // its leaves are those of the retry around it, if there is one
		whole := *out.fail
		whole.Retryable = !out.hard
		return x.fail(l, &whole)
	}
	v, f := x.result(inner, out.val, def.output, sc.act.def.of[s.ID])
	if f != nil {
		return x.fail(l, &failure{*f, x.now()})
	}
	return x.succeed(l, v)
}

// result makes a run's or nested run's output: its template's value, or else its
// plan's, as far as the schemas accept it.
func (x *interp) result(sc *scope, v any, schemas ...*schema.Schema) (any, *Failure) {
	if t := sc.act.def.Output; t != nil {
		var bad *failure
		if v, bad = x.eval(t, sc, ""); bad != nil {
			bad.EffectDone = true
			return nil, &bad.Failure
		}
	}
	for _, s := range schemas {
		if bad := x.validate(s, v); bad != nil {
			return nil, &bad.Failure
		}
	}
	return v, nil
}

// execSleep takes no time.
func (x *interp) execSleep(t *task, s *workflow.Step, sc *scope, c *cancellation, l *leaf) outcome {
	template := s.DurationMS
	if template == nil {
		template = s.Until
	}
	v, bad := x.eval(template, sc, sc.instance(s.ID))
	if bad == nil && !validSleep(s, v) {
		bad = x.failure("invalid_input", "no time to sleep: %s", text(v))
	}
	if bad != nil {
		return x.fail(l, bad)
	}
	x.steps++
	if !x.sched.ask(t, wantFinish, c) {
		return x.cancel(l)
	}
	return x.succeed(l, nil)
}

func validSleep(s *workflow.Step, v any) bool {
	if s.DurationMS == nil {
		text, _ := v.(string)
		_, err := time.Parse(time.RFC3339, text)
		return err == nil
	}
	n, _ := v.(json.Number)
	ms, err := n.Float64()
	return err == nil && ms >= 0
}
