package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culm-dev/culm/workflow"
)

// exec interprets a node in a scope.
func (x *interp) exec(t *task, n *workflow.Node, sc *scope, c *cancellation) outcome {
	out := x.execNode(t, n, sc, c)
	if n.ID != "" && n.Type != workflow.StepNode && out.kind == ok {
		x.named[sc.instance(n.ID)] = out.val
	}
	return out
}

func (x *interp) execNode(t *task, n *workflow.Node, sc *scope, c *cancellation) outcome {
	switch n.Type {
	case workflow.StepNode:
		s := sc.act.def.steps[n.Step]
		return policy(s, x.execStep(t, s, sc, c))
	case workflow.SequenceNode:
		return x.execSequence(t, n, sc, c)
	case workflow.ParallelNode:
		return x.execParallel(t, n, sc, c)
	case workflow.ChoiceNode:
		return x.execChoice(t, n, sc, c)
	case workflow.MapNode:
		return x.execMap(t, n, sc, c)
	case workflow.RetryNode:
		return x.execRetry(t, n, sc, c)
	case workflow.RepeatNode:
		return x.execRepeat(t, n, sc, c)
	case workflow.FinallyNode, workflow.OnFailureNode:
		return x.execCleans(t, n, sc, c)
	}
	return outcome{kind: failed, fail: x.failure("invalid_definition", "a node of type %q", n.Type), hard: true}
}

// policy turns a step's failure into what stands around it sees.
func policy(s *workflow.Step, out outcome) outcome {
	if out.kind != failed {
		return out
	}
	switch s.Failure {
	case workflow.ContinueWithError:
		return outcome{val: errorValue(&out.fail.Failure), hard: out.hard, touched: out.touched}
	case workflow.SkipDependents:
		return outcome{val: errorValue(&out.fail.Failure), hard: out.hard, touched: out.touched, skips: true}
	}
	return out
}

func (x *interp) execSequence(t *task, n *workflow.Node, sc *scope, c *cancellation) (out outcome) {
	hard, touched := false, 0
	for i, child := range n.Nodes {
		out = x.exec(t, child, sc, c)
		hard, touched = hard || out.hard, max(touched, out.touched)
		if out.kind != ok {
			break
		}
		if out.skips {
			for _, rest := range n.Nodes[i+1:] {
				x.skip(rest, sc)
			}
			break
		}
	}
	out.skips, out.hard, out.touched = false, hard, touched
	return out
}

// skip records the node's steps as skipped. Steps in a map or repeat of it have no
// instance. What succeeded in an earlier retry round has.
func (x *interp) skip(n *workflow.Node, sc *scope) {
	switch n.Type {
	case workflow.StepNode:
		if l := x.leaf(sc.instance(n.Step)); l.status != Succeeded {
			l.status, l.failure = Skipped, nil
		}
	case workflow.MapNode, workflow.RepeatNode:
	default:
		for _, child := range children(n) {
			x.skip(child, sc)
		}
	}
}

// join is a parallel or map whose branches are under way.
type join struct {
	outcomes []outcome
	live     int
	paused   bool
}

// branch begins one branch; then is called when it ended.
func (x *interp) branch(j *join, owner *task, slot int, body func(*task) outcome, then func(outcome)) {
	j.live++
	x.sched.spawn(func(t *task) {
		out := body(t)
		j.outcomes[slot] = out
		j.live--
		if then != nil {
			then(out)
		}
		if j.paused {
			x.sched.wake(owner)
		}
	})
}

// await pauses until a branch ended.
func (j *join) await(t *task) {
	j.paused = true
	t.pause()
	j.paused = false
}

func (x *interp) execParallel(t *task, n *workflow.Node, sc *scope, outer *cancellation) outcome {
	defer x.fork()()
	j := &join{outcomes: make([]outcome, len(n.Nodes))}
	own := &cancellation{parent: outer}
	ended := func(out outcome) {
		if out.kind != failed || own.called {
			return
		}
		x.noteRace(n, sc.act.def)
		x.sched.cancel(own)
	}
	for i, child := range n.Nodes {
		x.branch(j, t, i, func(t *task) outcome { return x.exec(t, child, sc, own) }, ended)
	}
	for j.live > 0 {
		j.await(t)
	}
	var first *failure
	hard, touched, values := false, 0, make([]any, len(n.Nodes))
	for i, out := range j.outcomes {
		hard, touched, values[i] = hard || out.hard, max(touched, out.touched), out.val
		if out.kind == failed && (first == nil || out.fail.moment < first.moment) {
			named := *out.fail
			named.Message = fmt.Sprintf("branch[%d]: %s", i, named.Message)
			first = &named
		}
	}
	switch {
	case first != nil:
		first.Retryable = !hard
		return outcome{kind: failed, fail: first, hard: hard, touched: touched}
	case slices.ContainsFunc(j.outcomes, func(o outcome) bool { return o.kind == cancelled }):
		return outcome{kind: cancelled, hard: hard, touched: touched}
	}
	return outcome{val: values, hard: hard, touched: touched}
}

// noteRace: a parallel that fails makes the result depend on the order.
func (x *interp) noteRace(n *workflow.Node, d *definition) {
	if len(n.Nodes) < 2 {
		return
	}
	x.race()
	x.slept = x.slept || x.sleeps(d, n)
}

// sleeps reports whether the clock decides when something in the node goes on.
func (x *interp) sleeps(d *definition, n *workflow.Node) bool {
	if n.Type == workflow.StepNode {
		s := d.steps[n.Step]
		if s.Type == workflow.WorkflowStep {
			nested := x.defs[workflow.Ref(s.WorkflowID, s.Revision)]
			return x.sleeps(nested, nested.plan)
		}
		return s.Type == workflow.SleepStep
	}
	if n.DelayMS != nil && *n.DelayMS > 0 {
		return true
	}
	for _, child := range children(n) {
		if x.sleeps(d, child) {
			return true
		}
	}
	return false
}

func (x *interp) execChoice(t *task, n *workflow.Node, sc *scope, c *cancellation) outcome {
	d := x.decide(t, n, sc, sc, c, n.Condition)
	switch {
	case d == nil:
		return outcome{kind: cancelled}
	case d.failure != nil:
		return outcome{kind: failed, fail: d.failure, hard: true, touched: d.moment}
	}
	taken, other := n.Then, n.Else
	if !d.truth {
		taken, other = n.Else, n.Then
	}
	if other != nil {
		x.skip(other, sc)
	}
	if taken == nil {
		return outcome{touched: d.moment}
	}
	out := x.exec(t, taken, sc, c)
	out.touched = max(out.touched, d.moment)
	return out
}

// decide evaluates a condition, source or until once and for all; in is where its
// references are seen from. It gives nil if the scope was cancelled before.
func (x *interp) decide(t *task, n *workflow.Node, sc, in *scope, c *cancellation, template []byte) *decision {
	key := in.key(n)
	if d := x.decided[key]; d != nil && !in.stale(d.moment) {
		return d
	}
	if !x.sched.ask(t, wantTurn, c) {
		return nil
	}
	d := &decision{moment: x.now()}
	x.decided[key] = d
	v, bad := x.eval(template, in, "")
	if bad != nil {
		d.failure = bad
		return d
	}
	switch v := v.(type) {
	case bool:
		d.truth = v
		if n.Type != workflow.MapNode {
			return d
		}
	case []any:
		d.items = v
		if n.Type == workflow.MapNode {
			d.failure = x.fits(n, sc, len(v))
			return d
		}
	}
	d.failure = x.failure("invalid_input", "%s decides on %s", n.Type, text(v))
	return d
}

// fits checks that a map's items do not need more steps than are left.
func (x *interp) fits(n *workflow.Node, sc *scope, items int) *failure {
	left := x.opts.Limits.MaxSteps - x.steps
	need := int64(items) * x.leavesOf(sc.act.def, n.Body)
	x.mostNeeded = max(x.mostNeeded, need)
	if need > left {
		x.race()
		return x.failure("budget_exceeded", "%d steps needed, %d left", need, left)
	}
	return nil
}

func (x *interp) execMap(t *task, n *workflow.Node, sc *scope, c *cancellation) outcome {
	d := x.decide(t, n, sc, sc, c, n.Source)
	switch {
	case d == nil:
		return outcome{kind: cancelled}
	case d.failure != nil:
		return outcome{kind: failed, fail: d.failure, hard: true, touched: d.moment}
	}
	defer x.fork()()
	width := len(d.items)
	if n.Concurrency != nil {
		width = *n.Concurrency
	}
	j := &join{outcomes: make([]outcome, len(d.items))}
	for i := 0; i < len(d.items) || j.live > 0; {
		if i < len(d.items) && j.live < width {
			item := sc.within(n, i, d.items)
			x.branch(j, t, i, func(t *task) outcome { return x.exec(t, n.Body, item, c) }, nil)
			i++
			continue
		}
		j.await(t)
	}
	tolerated := 0
	if n.Tolerate != nil {
		tolerated = *n.Tolerate
	}
	out := gather(j.outcomes, tolerated)
	out.touched = max(out.touched, d.moment)
	return out
}

// gather makes a map's outcome of its items': all failures are told. So many of them
// are tolerated, and are then the items' values.
func gather(outcomes []outcome, tolerated int) outcome {
	failures := 0
	for _, out := range outcomes {
		if out.kind == failed {
			failures++
		}
	}
	if failures <= tolerated {
		outcomes = slices.Clone(outcomes)
		for i, out := range outcomes {
			if out.kind == failed {
				outcomes[i] = outcome{val: errorValue(&out.fail.Failure), hard: out.hard, touched: out.touched}
			}
		}
	}
	all := outcome{kind: ok}
	values := make([]any, len(outcomes))
	var messages []string
	for i, out := range outcomes {
		all.hard, all.touched, values[i] = all.hard || out.hard, max(all.touched, out.touched), out.val
		switch out.kind {
		case cancelled:
			if all.kind == ok {
				all.kind = cancelled
			}
		case failed:
			messages = append(messages, fmt.Sprintf("item[%d]: %s: %s", i, out.fail.Code, out.fail.Message))
			if all.fail == nil {
				all.fail = &failure{Failure{Code: out.fail.Code}, out.fail.moment}
			}
			all.kind, all.fail.moment = failed, min(all.fail.moment, out.fail.moment)
		}
	}
	switch all.kind {
	case failed:
		all.fail.Message, all.fail.Retryable = strings.Join(messages, "; "), !all.hard
	case ok:
		all.val = values
	}
	return all
}

func (x *interp) execRepeat(t *task, n *workflow.Node, sc *scope, c *cancellation) outcome {
	hard, touched := false, 0
	for i := 0; ; i++ {
		round := sc.within(n, i, nil)
		out := x.exec(t, n.Body, round, c)
		hard, touched = hard || out.hard, max(touched, out.touched)
		out.skips, out.hard, out.touched = false, hard, touched
		if out.kind != ok {
			return out
		}
		d := x.decide(t, n, sc, round, c, n.Until)
		if d == nil {
			return outcome{kind: cancelled, hard: hard, touched: touched}
		}
		touched = max(touched, d.moment)
		out.touched = touched
		switch {
		case d.failure != nil:
			return outcome{kind: failed, fail: d.failure, hard: true, touched: touched}
		case d.truth:
			return out
		case i+1 >= n.Max:
			spent := x.failure("repeat_exhausted", "until was not true after %d rounds", n.Max)
			return outcome{kind: failed, fail: spent, hard: true, touched: touched}
		}
	}
}
