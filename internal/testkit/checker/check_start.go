package checker

// checkStart examines the intent to enter a step.
func (c *check) checkStart(l *line) {
	lf := c.now.steps[l.StepID]
	c.checkEntry(l, lf)
	c.checkReservation(l)
	p, ok := c.locate(l)
	if !ok {
		return
	}
	c.checkGoesOn(l, p)
	c.checkPinnedTool(l, p)
	c.checkEnabled(l, p)
	c.checkSlots(l, p)
	if p.node.step.Type == "workflow" {
		c.checkChildRun(l, lf)
	}
}

// checkGoesOn: in a run that can only end nothing is worked on but cleanups, and not
// when their time is over. Events say of what is part of a cleanup that it is.
func (c *check) checkGoesOn(l *line, p place) {
	cleanup := p.inCleanup()
	if l.Cleanup != cleanup {
		c.report(RuleCleanup, l, "part of a cleanup: %v, and in the plan: %v", l.Cleanup, cleanup)
	}
	switch {
	case c.now.cleanupOver:
		c.report(RuleTimeOver, l, "%s after the time of cleanups was over", l.Type)
	case cleanup:
	case c.now.cancelled:
		c.report(RuleCancelEnd, l, "%s after cancelling was asked for", l.Type)
	case c.now.expired:
		c.report(RuleTimeOver, l, "%s after the run's time was over", l.Type)
	}
}

// locate finds the step in the pinned plan.
func (c *check) locate(l *line) (place, bool) {
	if c.plan == nil {
		return place{}, false
	}
	p, err := c.plan.locate(l.StepID)
	if err != nil {
		c.report(RulePinStep, l, "%v", err)
	}
	return p, err == nil
}

// checkEntry: a step is entered once, and again only when something says so.
func (c *check) checkEntry(l *line, lf *leaf) {
	before := 0
	if lf != nil {
		before = lf.attempts
	}
	if l.Attempt != before+1 {
		c.report(RuleAttempt, l, "attempt %d follows on %d", l.Attempt, before)
	}
	if lf == nil || c.now.permission(lf, l, c.plan) != entryIllegal {
		return
	}
	round := c.now.reopening(lf)
	switch {
	case lf.inDoubt:
		c.report(RuleDoubtStarted, l, "entered again although it is in doubt")
	case lf.status.open():
		c.report(RuleAgain, l, "entered again although it is %s", lf.status)
	case lf.status == leafSucceeded:
		c.report(RuleFinishedAgain, l, "entered again although it succeeded")
	case round != nil:
		c.report(RuleRetryDue, l, "entered at %s, the round is due at %s", l.At, round.Due)
	default:
		c.report(RuleAgain, l, "entered again although it %s, and no retry round came after that", lf.status)
	}
}

func (c *check) checkReservation(l *line) {
	if c.now.queued == nil {
		return
	}
	if l.Reservation["steps"] != 1 {
		c.report(RuleReservation, l, "it reserves %d steps, not 1", l.Reservation["steps"])
	}
	if c.plan != nil {
		if p, err := c.plan.locate(l.StepID); err == nil && p.node.step.Type == "agent" && l.Reservation["agents"] != 1 {
			c.report(RuleReservation, l, "it reserves %d agents, not 1", l.Reservation["agents"])
		}
	}
	budget := c.now.queued.Budget
	for unit, limit := range map[string]int64{"steps": budget.MaxSteps, "agents": budget.MaxAgents} {
		if after := c.now.spent[unit] + l.Reservation[unit]; l.Reservation[unit] > 0 && after > limit {
			c.report(RuleBudget, l, "%d %s reserved, the budget is %d", after, unit, limit)
		}
	}
}

// checkPinnedTool: a run calls no tool but those that were pinned with it.
func (c *check) checkPinnedTool(l *line, p place) {
	if p.node.step.Type != "tool" {
		return
	}
	if _, pinned := c.now.queued.Tools[p.node.step.Tool]; !pinned {
		c.report(RulePinTool, l, "tool %q is not pinned", p.node.step.Tool)
	}
	if l.Effect == "" {
		c.report(RuleReservation, l, "a tool call without its effect")
	}
}

// checkSlots: calls in flight, and a map's items in work, stay within their limits.
func (c *check) checkSlots(l *line, p place) {
	takes := l.Effect != "" || p.node.step.Type == "agent"
	if limit := c.now.queued.Budget.MaxConcurrency; takes && limit > 0 && int64(c.now.calls) >= limit {
		c.report(RuleSlots, l, "%d calls are in flight already, the limit is %d", c.now.calls, limit)
	}
	for at := &p; at != nil; at = at.outer {
		for n := at.node; n.parent != nil; n = n.parent {
			if m := n.parent; m.Type == "map" && m.Concurrency > 0 {
				c.checkWidth(l, at.at(m), at.index[m.scopes].n)
			}
		}
	}
}

// checkWidth counts the map's items that have an open step.
func (c *check) checkWidth(l *line, m place, item int) {
	busy := map[int]bool{item: true}
	for _, lf := range c.now.open {
		if !lf.known {
			continue
		}
		for at := &lf.place; at != nil; at = at.outer {
			if at.prefix == m.prefix && m.holds(*at) && at.node != m.node {
				busy[at.index[m.node.scopes].n] = true
			}
		}
	}
	if len(busy) > m.node.Concurrency {
		c.report(RuleMapWidth, l, "%d items in work, the map takes %d", len(busy), m.node.Concurrency)
	}
}

// checkChildRun: a nested run has one id for good.
func (c *check) checkChildRun(l *line, lf *leaf) {
	switch {
	case l.ChildRunID == "":
		c.report(RuleChildRun, l, "a workflow step without the id of its run")
	case lf != nil && lf.child != "" && lf.child != l.ChildRunID:
		c.report(RuleChildRun, l, "its run was %s and is %s now", lf.child, l.ChildRunID)
	case l.ChildRunID == c.run:
		c.report(RuleChildRun, l, "its run has the root's id")
	default:
		if other, taken := c.now.children[l.ChildRunID]; taken && other != l.StepID {
			c.report(RuleChildRun, l, "its run's id %s is that of %s", l.ChildRunID, other)
		}
	}
}
