package checker

import "slices"

// open finds the step that an outcome ends. It must have been started, and be
// worked on: a step in doubt ends by a verdict only.
func (c *check) open(l *line) (*leaf, bool) {
	lf := c.now.steps[l.StepID]
	switch {
	case lf == nil || !lf.status.open():
		c.report(RuleNoStart, l, "%s without a start of this attempt", l.Type)
	case lf.inDoubt:
		c.report(RuleDoubtEnd, l, "%s although the step is in doubt", l.Type)
	case l.Attempt != 0 && l.Attempt != lf.attempts:
		c.report(RuleNoStart, l, "%s of attempt %d, started was %d", l.Type, l.Attempt, lf.attempts)
	default:
		return lf, true
	}
	return lf, false
}

func (c *check) checkCompleted(l *line) {
	lf, ok := c.open(l)
	if !ok {
		return
	}
	if lf.status != leafRunning {
		c.report(RuleTransition, l, "completed although it is %s", lf.status)
	}
	if lf.known && lf.place.node.step.Type == "workflow" {
		c.checkNested(l, lf, true)
	}
}

// unentered are the codes with which a step may fail that was never entered: its
// input could not be made, or it was not allowed.
var unentered = []string{
	"unknown_reference", "expression_failed", "invalid_input", "permission_denied", "untrusted_workspace",
	"policy_denied", "secret_unavailable", "budget_exceeded", "dependency_skipped", "tool_missing",
	"invalid_definition",
}

func (c *check) checkFailed(l *line) {
	f := l.failed()
	if f == nil {
		c.report(RuleTransition, l, "step_failed without a failure")
		return
	}
	lf := c.now.steps[l.StepID]
	if lf != nil && lf.status.open() {
		c.checkFailedCall(l, f)
		return
	}
	if !slices.Contains(unentered, f.Code) {
		c.report(RuleNoStart, l, "failed with %s without a start of this attempt", f.Code)
		return
	}
	p, ok := c.locate(l)
	stale := ok && lf != nil && c.presentView().stale(p, lf.ended)
	if lf != nil && !stale && (lf.status == leafSucceeded || c.now.reopening(lf) == nil) {
		c.report(RuleAgain, l, "failed although it %s", lf.status)
	}
	if ok {
		c.checkEnabled(l, p)
	}
}

// checkFailedCall examines the failure of a step that was entered.
func (c *check) checkFailedCall(l *line, f *failure) {
	lf, ok := c.open(l)
	if !ok {
		return
	}
	if lf.effect == "write" && (f.Code == "outcome_unknown" || f.Code == "cancelled") {
		c.report(RuleUnknown, l, "a write without an outcome is in doubt, it has not failed with %s", f.Code)
	}
	if lf.known && lf.place.node.step.Type == "workflow" {
		c.checkNested(l, lf, false)
	}
}

// checkNested compares a workflow step's end with what its inner plan came to.
func (c *check) checkNested(l *line, lf *leaf, ok bool) {
	for _, inner := range c.now.open {
		if inner.known && inner.id != lf.id && lf.place.holds(inner.place) {
			c.report(RuleOpenEnd, l, "%s although %s in it is %s", l.Type, inner.id, inner.status)
		}
	}
	root := lf.place.inner(c.plan)
	c.checkClean(l, root)
	if f := l.failed(); !ok && f != nil && (f.Code == "timed_out" || f.Code == "budget_exceeded") {
		return
	}
	if !ok && c.cutShort(lf.place) && c.presentView().eval(root).kind != isFailed {
		return // a map in it may have failed with the items that it had entered
	}
	c.checkPlanEnd(l, root, ok)
	if ok {
		c.checkAllSkipped(l, root)
	}
}

// checkCancelled: a step is cancelled with the run, or because a sibling branch in
// a parallel around it failed.
func (c *check) checkCancelled(l *line) {
	lf := c.now.steps[l.StepID]
	if lf == nil || !lf.status.open() {
		c.report(RuleNoStart, l, "cancelled without a start of this attempt")
		return
	}
	switch {
	case lf.inDoubt && !l.InDoubt:
		c.report(RuleDoubtEnd, l, "cancelling hides that the step is in doubt")
	case l.InDoubt && !c.now.cancelled:
		c.report(RuleDoubtEnd, l, "a doubt ends by a verdict or by cancelling the run, which nobody asked for")
	}
	if lf.known && !lf.inDoubt && !c.cutShort(lf.place) {
		c.report(RuleCancelCause, l, "no sibling in a parallel around it failed")
	}
}

// cutShort reports whether what is under way at the place may be cancelled: with
// the run, or because its scope failed. A cleanup is cut short only from within,
// because the outcome of something in it was given up, or when its time is over.
func (c *check) cutShort(p place) bool {
	if p.inCleanup() {
		return c.now.cleanupOver || c.scopeFailed(p) || c.presentView().givenUp(p)
	}
	return c.now.cancelled || c.now.expired || c.scopeFailed(p)
}

// scopeFailed reports whether a parallel around the step failed in another
// branch, or a workflow step around it may have run out of its time.
func (c *check) scopeFailed(p place) bool {
	v := c.presentView()
	for at := &p; at != nil; at = at.outer {
		if at != &p && at.node.step.TimeoutMS != nil {
			return true
		}
		for n := at.node; n.parent != nil; n = n.parent {
			if n.isCleanup() {
				return false
			}
			if n.parent.Type == "parallel" && v.branchFailed(at.at(n.parent), n.slot) >= 0 {
				return true
			}
		}
	}
	return false
}

func (c *check) checkSuspended(l *line) {
	lf := c.now.steps[l.StepID]
	switch {
	case lf == nil || lf.status != leafRunning:
		c.report(RuleTransition, l, "suspended although it is not running")
	case l.InDoubt && lf.effect == "":
		c.report(RuleTransition, l, "in doubt although it calls no tool")
	}
}

func (c *check) checkResumed(l *line) {
	lf := c.now.steps[l.StepID]
	switch {
	case lf == nil || lf.status != leafSuspended:
		c.report(RuleTransition, l, "resumed although it is not suspended")
	case lf.inDoubt:
		c.report(RuleDoubtEnd, l, "resumed although it is in doubt")
	}
}

func (c *check) checkResolved(l *line) {
	if lf := c.now.steps[l.StepID]; lf == nil || !lf.inDoubt {
		c.report(RuleTransition, l, "a verdict on a step that is not in doubt")
	}
	switch l.Verdict {
	case "succeeded", "rerun":
	case "failed":
		if l.failed() == nil {
			c.report(RuleTransition, l, "a verdict of failed without a failure")
		}
	default:
		c.report(RuleTransition, l, "unknown verdict %q", l.Verdict)
	}
}

// checkRecovery examines a commit that marks the work of a dead owner: exactly
// the steps that were running, in the order in which they were entered, then the
// run, and nothing else. A living owner whose engine broke records what its calls
// came to as well.
func (c *check) checkRecovery() {
	last := c.commit[len(c.commit)-1]
	i := slices.IndexFunc(c.commit, func(l *line) bool { return l.Type == runSuspended && l.Reason == "recovery" && l.Panic == "" })
	if i < 0 {
		return
	}
	if c.commit[i] != last {
		c.report(RuleRecovery, c.commit[i], "run_suspended is not the last of its commit")
		return
	}
	var running []*leaf
	for _, lf := range c.durable.open {
		if lf.status == leafRunning {
			running = append(running, lf)
		}
	}
	slices.SortFunc(running, func(a, b *leaf) int { return int(a.started) - int(b.started) })
	marks := c.commit[:i]
	for n, l := range marks {
		switch {
		case l.Type != stepSuspended:
			c.report(RuleRecovery, l, "recovering appends %s: it dispatches nothing and ends nothing", l.Type)
		case n >= len(running) || l.StepID != running[n].id:
			c.report(RuleRecovery, l, "not the next step that was running")
		case l.InDoubt != (running[n].effect != ""):
			c.report(RuleRecovery, l, "in doubt: %v, and the effect of its call is %q", l.InDoubt, running[n].effect)
		}
	}
	if len(marks) < len(running) {
		c.report(RuleRecovery, last, "%d steps were running, %d are marked", len(running), len(marks))
	}
}
