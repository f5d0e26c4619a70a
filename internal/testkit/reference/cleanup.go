package reference

import "github.com/culm-dev/culm/workflow"

// cleaned is what a cleanup is for: how its node ended.
type cleaned struct {
	out outcome
}

// execCleans interprets a finally or on_failure: its node, and then its cleanup, which
// nothing around it cancels. What was never entered is not cleaned up after.
func (x *interp) execCleans(t *task, n *workflow.Node, sc *scope, c *cancellation) outcome {
	out := x.exec(t, n.Node, sc, c)
	if out.touched == 0 || n.Type == workflow.OnFailureNode && out.kind == ok {
		return out
	}
	within := *sc
	within.cleans = &cleaned{out}
	clean := x.exec(t, n.Cleanup, &within, &cancellation{})
	out.hard, out.touched = out.hard || clean.hard, max(out.touched, clean.touched)
	switch {
	case clean.kind == ok:
	case out.kind == failed:
		named := *out.fail
		named.Message += "; " + clean.fail.Message
		named.Retryable = named.Retryable && !clean.hard
		out.fail = &named
	case out.kind == ok:
		out = outcome{kind: failed, fail: clean.fail, hard: out.hard, touched: out.touched}
	}
	return out
}

// stale reports whether what became of something in a cleanup is from before the node
// last ended: of an earlier round of a retry around both.
func (sc *scope) stale(moment int) bool {
	return sc.cleans != nil && moment < sc.cleans.out.touched
}

// outcome is what a cleanup reads of how the node ended.
func (sc *scope) outcome() (any, bool) {
	if sc.cleans == nil {
		return nil, false
	}
	switch out := sc.cleans.out; out.kind {
	case failed:
		return map[string]any{"status": "failed", "failure": errorValue(&out.fail.Failure).(map[string]any)["error"]}, true
	case cancelled:
		return map[string]any{"status": "cancelled"}, true
	}
	return map[string]any{"status": "succeeded"}, true
}
