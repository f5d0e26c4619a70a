package checker

import "time"

// checkDecided examines what a node decided, or that the run's time is over.
func (c *check) checkDecided(l *line) {
	if l.Node == cleanupTime {
		c.checkCleanupTime(l)
		return
	}
	if l.Node == wallTime {
		if l.At.Before(c.now.deadline) {
			c.report(RuleTimeOver, l, "time was over at %s, which is before %s", l.At.Format(time.RFC3339Nano), c.now.deadline.Format(time.RFC3339Nano))
		}
		return
	}
	if c.plan == nil {
		return
	}
	p, err := c.plan.locateNode(l.Scope, l.Node)
	if err != nil {
		c.report(RulePinStep, l, "%v", err)
		return
	}
	scope := p
	if p.node.Type == "repeat" {
		scope.index = p.index[:len(p.index)-1]
	}
	c.checkGoesOn(l, scope)
	if c.presentView().decisionAt(scope, p.key()) != nil {
		c.report(RuleDecision, l, "%s was decided before", p.key())
	}
	switch p.node.Type {
	case "choice":
		c.checkBoolean(l)
	case "map":
		c.checkItems(l, p)
	case "repeat":
		c.checkBoolean(l)
		if round := p.index[len(p.index)-1].n; round >= p.node.Max {
			c.report(RuleRepeatRound, l, "round %d, the last is %d", round, p.node.Max-1)
		}
	case "retry":
		if l.failed() == nil {
			c.report(RuleDecision, l, "a retry decides nothing but that it cannot go on")
		}
	default:
		c.report(RuleDecision, l, "a %s decides nothing", p.node.Type)
	}
	c.checkTurn(l, p)
}

func (c *check) checkBoolean(l *line) {
	if s := string(l.Value); l.failed() == nil && s != "true" && s != "false" {
		c.report(RuleDecision, l, "the decision is %q, not a boolean", s)
	}
}

// checkTurn: a node decides when its turn has come, from what is durable. The
// last decision may share the commit of what it is made from if nothing starts in it.
func (c *check) checkTurn(l *line, p place) {
	v := c.durableView()
	if !c.starts {
		v = c.presentView()
	}
	if p.node.Type == "repeat" {
		round := p.index[len(p.index)-1].n
		p.index = p.index[:len(p.index)-1]
		if v.eval(p.child(0, round)).kind != isOK {
			c.report(RuleDecision, l, "round %d has not succeeded", round)
		}
	}
	found := len(c.found)
	freed := false
	for at := &p; at != nil; at = at.outer {
		for n := at.node; n.parent != nil; n = n.parent {
			c.checkBefore(l, v, at.at(n.parent), *at, n, freed)
			freed = freed || n.isCleanup()
		}
	}
	for i := range c.found[found:] {
		c.found[found+i].Rule = RuleDecision
	}
}

// checkItems examines a map's decision.
func (c *check) checkItems(l *line, m place) {
	if l.failed() != nil {
		return
	}
	if items := c.durableView().stored(l.Value, l.ValueBlob); items.known {
		if list, ok := items.json.([]any); !ok || len(list) != l.Count {
			c.report(RuleMapCount, l, "%d items recorded, the value is %s", l.Count, show(items))
		}
	}
	left := c.now.queued.Budget.MaxSteps - c.durable.spent["steps"]
	if need := int64(l.Count) * int64(c.plan.leaves(m.node.Body)); need > left {
		c.report(RuleMapFits, l, "%d items need %d steps, %d are left", l.Count, need, left)
	}
}

// checkRetry examines the reservation of a retry round.
func (c *check) checkRetry(l *line) {
	clear(c.waived)
	if l.Reservation["retries"] != 1 {
		c.report(RuleRetryRound, l, "it reserves %d retries, not 1", l.Reservation["retries"])
	}
	if limit, after := c.now.queued.Budget.MaxRetries, c.now.retries+1; after > limit {
		c.report(RuleBudget, l, "%d retries reserved, the budget is %d", after, limit)
	}
	if c.plan == nil {
		return
	}
	p, err := c.plan.locateNode(l.Scope, l.Node)
	if err != nil || p.node.Type != "retry" {
		c.report(RulePinStep, l, "no retry node: %v", err)
		return
	}
	if (c.now.cancelled || c.now.expired) && !p.inCleanup() {
		c.report(RuleRetryFailed, l, "a retry round in a run that can only end")
	}
	v := c.durableView()
	if !c.starts {
		v = c.presentView()
	}
	if before := v.round(p); l.Round != before+1 {
		c.report(RuleRetryRound, l, "round %d follows on %d", l.Round, before)
	}
	if l.Round >= p.node.MaxAttempts {
		c.report(RuleRetryMax, l, "round %d of a node with %d attempts", l.Round, p.node.MaxAttempts)
	}
	o := v.eval(p.child(0, 0))
	switch {
	case o.kind != isFailed:
		c.report(RuleRetryFailed, l, "the node in it has not failed")
	case o.fail.hard || !v.retryable(p):
		c.report(RuleRetryRetryable, l, "something in it failed in a way that must not be retried")
	}
}

// checkSkipped: a step is skipped because a choice went the other way, or because
// a skip_dependents step before it failed.
func (c *check) checkSkipped(l *line) {
	if lf := c.now.steps[l.StepID]; lf != nil && (lf.status.open() || lf.status == leafSucceeded) {
		c.report(RuleSkipCause, l, "skipped although it is %s", lf.status)
	}
	p, ok := c.locate(l)
	if !ok {
		return
	}
	caused := false
	switch l.Reason {
	case "not_taken":
		caused = c.notTaken(p)
	case "dependency_skipped":
		caused = c.dependencySkipped(p)
	}
	if !caused {
		c.report(RuleSkipCause, l, "nothing in the plan skips it (%s)", l.Reason)
	}
}

func (c *check) notTaken(p place) bool {
	for n := p.node; n.parent != nil; n = n.parent {
		if n.parent.Type != "choice" {
			continue
		}
		d := c.presentView().decision(p.at(n.parent))
		if d != nil && d.failed() == nil && branchOf(d) != n.slot {
			return true
		}
	}
	return false
}

func (c *check) dependencySkipped(p place) bool {
	v := c.presentView()
	for n := p.node; n.parent != nil; n = n.parent {
		if n.parent.Type != "sequence" {
			continue
		}
		for slot := range n.slot {
			if o := v.eval(p.at(n.parent).child(slot, 0)); o.kind == isOK && o.skips {
				return true
			}
		}
	}
	return false
}

// checkAllSkipped: where a plan is at its end, every step that its decisions and
// policies left out is recorded as skipped. Steps in a map or repeat that was left
// out have no instance, hence no record.
func (c *check) checkAllSkipped(l *line, p place) {
	v := c.presentView()
	switch p.node.Type {
	case "step":
	case "sequence":
		for slot := range p.node.children {
			child := p.child(slot, 0)
			c.checkAllSkipped(l, child)
			o := v.eval(child)
			if o.kind == isOK && o.skips {
				for rest := slot + 1; rest < len(p.node.children); rest++ {
					c.checkLeftOut(l, p.child(rest, 0))
				}
				return
			}
			if o.kind != isOK {
				return
			}
		}
	case "choice":
		d := v.decision(p)
		if d == nil || d.failed() != nil {
			return
		}
		for slot := range p.node.children {
			if slot == branchOf(d) {
				c.checkAllSkipped(l, p.child(slot, 0))
			} else {
				c.checkLeftOut(l, p.child(slot, 0))
			}
		}
	case "map":
		if d := v.decision(p); d != nil && d.failed() == nil {
			for i := range d.Count {
				c.checkAllSkipped(l, p.child(0, i))
			}
		}
	case "repeat":
		for i := 0; v.roundDecision(p, i) != nil; i++ {
			c.checkAllSkipped(l, p.child(0, i))
		}
	default:
		for slot := range p.node.children {
			c.checkAllSkipped(l, p.child(slot, 0))
		}
	}
}

func (c *check) checkLeftOut(l *line, p place) {
	switch p.node.Type {
	case "step":
		lf := c.now.steps[p.id()]
		if lf == nil || lf.status != leafSkipped && lf.status != leafSucceeded {
			c.report(RuleSkipped, &line{Sequence: l.Sequence, StepID: p.id()}, "left out, and not recorded as skipped")
		}
	case "map", "repeat":
	default:
		for slot := range p.node.children {
			c.checkLeftOut(l, p.child(slot, 0))
		}
	}
}
