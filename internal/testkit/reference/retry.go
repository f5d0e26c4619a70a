package reference

import (
	"fmt"

	"github.com/culm-dev/culm/workflow"
)

// execRetry enters its node again as long as that may help. Leaves that succeeded
// give their recorded outputs, so that only the others are entered.
func (x *interp) execRetry(t *task, n *workflow.Node, sc *scope, c *cancellation) outcome {
	if d := x.decided[sc.key(n)]; d != nil && !sc.stale(d.moment) { // no round could be had, once before
		return x.giveUp(n, sc, d.failure, true, d.moment)
	}
	touched := 0
	for attempt := 1; ; attempt++ {
		out := x.execOnce(t, n.Node, sc, c)
		touched = max(touched, out.touched)
		out.touched = touched
		switch {
		case out.kind != failed:
			return out
		case out.hard:
			return x.giveUp(n, sc, out.fail, true, touched)
		case attempt >= n.MaxAttempts:
			spent := &failure{Failure{
				Code: "retry_exhausted", Retryable: true,
				Message: fmt.Sprintf("failed in %d of %d attempts; the last time: %s: %s", attempt, attempt, out.fail.Code, out.fail.Message),
			}, out.fail.moment}
			return x.giveUp(n, sc, spent, false, touched)
		case !x.sched.ask(t, wantTurn, c):
			return outcome{kind: cancelled, touched: touched}
		}
		if x.retries >= x.opts.Limits.MaxRetries {
			x.race()
			spent := x.failure("budget_exceeded", "no retries left")
			d := &decision{failure: spent, moment: x.now()}
			x.decided[sc.key(n)] = d
			return x.giveUp(n, sc, spent, true, d.moment)
		}
		x.retries++
		touched = x.now()
		x.forget(n, sc)
	}
}

// execOnce is exec, but for the policy of a step directly inside a retry: that
// waits until the retry gave up.
func (x *interp) execOnce(t *task, n *workflow.Node, sc *scope, c *cancellation) outcome {
	if n.Type == workflow.StepNode {
		return x.execStep(t, sc.act.def.steps[n.Step], sc, c)
	}
	return x.exec(t, n, sc, c)
}

func (x *interp) giveUp(n *workflow.Node, sc *scope, f *failure, hard bool, touched int) outcome {
	out := outcome{kind: failed, fail: f, hard: hard, touched: touched}
	if n.Node.Type == workflow.StepNode {
		return policy(sc.act.def.steps[n.Node.Step], out)
	}
	return out
}

// forget drops the outputs of the nodes in a retry that is entered again. What is in a
// map or repeat of it has scopes of its own.
func (x *interp) forget(n *workflow.Node, sc *scope) {
	if n.Type != workflow.StepNode {
		delete(x.named, sc.instance(n.ID))
	}
	if n.Type == workflow.MapNode || n.Type == workflow.RepeatNode {
		return
	}
	for _, child := range children(n) {
		x.forget(child, sc)
	}
}
