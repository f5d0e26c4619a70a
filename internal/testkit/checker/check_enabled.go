package checker

// checkEnabled examines whether the plan lets this step be entered: everything
// that stands before it ended in an earlier commit, and everything around it was
// decided its way.
func (c *check) checkEnabled(l *line, p place) {
	v := c.durableView()
	if p.node.step.OnUnknown == "rerun" {
		v = c.presentView()
	}
	freed := false
	for at := &p; at != nil; at = at.outer {
		for n := at.node; n.parent != nil; n = n.parent {
			c.checkBefore(l, v, at.at(n.parent), *at, n, freed)
			freed = freed || n.isCleanup()
		}
		if at.outer != nil {
			c.checkNesting(l, at.outer)
		}
	}
	c.checkReferences(l, v, p)
}

// checkBefore examines one node around the step: child is the way to the step. It is
// freed if that goes through a cleanup, which no failure around it keeps from running.
func (c *check) checkBefore(l *line, v view, around, step place, child *node, freed bool) {
	switch around.node.Type {
	case "sequence":
		for slot := range child.slot {
			if !c.checkEndedBefore(l, v, around.child(slot, 0)) {
				return
			}
		}
	case "parallel":
		if slot := v.branchFailed(around, child.slot); slot >= 0 && !freed {
			c.report(RuleAfterFailure, l, "branch[%d] of %s failed before", slot, around.key())
		}
	case "choice":
		d := c.presentView().decision(around)
		if d == nil || d.failed() != nil || branchOf(d) != child.slot {
			c.report(RuleBranch, l, "%s was not decided this way", around.key())
		}
	case "map":
		d := c.presentView().decision(around)
		if item := step.index[around.node.scopes].n; d == nil || d.failed() != nil || item >= d.Count {
			c.report(RuleMapItem, l, "%s was not decided to have item %d", around.key(), item)
		}
	case "repeat":
		c.checkRound(l, v, around, step.index[around.node.scopes].n)
	case "finally", "on_failure":
		if child.isCleanup() {
			c.checkNodeEnded(l, v, around)
		}
	}
}

// checkEndedBefore: a sequence's earlier node succeeded, in an earlier commit.
func (c *check) checkEndedBefore(l *line, v view, before place) bool {
	if v.ends == c.durable && c.waived[before.key()] {
		return true
	}
	o := v.eval(before)
	switch {
	case o.kind == isOK && !o.skips:
		if v.ends == c.durable {
			c.waived[before.key()] = true // asked for every step that follows: remember
		}
		return true
	case o.kind == isOK:
		c.report(RuleEnabled, l, "%s skips what follows it", before.key())
	case c.presentView().eval(before).kind == isOK:
		c.report(RuleBoundary, l, "it shares a commit with the end of %s, which enables it", before.key())
	default:
		c.report(RuleEnabled, l, "%s has not succeeded before", before.key())
	}
	return false
}

// checkRound: a repeat's round follows the one before, whose until was false.
func (c *check) checkRound(l *line, v view, repeat place, round int) {
	if round >= repeat.node.Max {
		c.report(RuleRepeatRound, l, "round %d, the last is %d", round, repeat.node.Max-1)
	}
	if round == 0 || !c.checkEndedBody(l, v, repeat.child(0, round-1)) {
		return
	}
	d := c.presentView().roundDecision(repeat, round-1)
	if d == nil || d.failed() != nil || d.truth() {
		c.report(RuleRepeatRound, l, "until was not decided to be false after round %d", round-1)
	}
}

// checkEndedBody is checkEndedBefore for a body, whose skips end with it.
func (c *check) checkEndedBody(l *line, v view, body place) bool {
	if v.eval(body).kind == isOK {
		return true
	}
	return c.checkEndedBefore(l, v, body)
}

// checkNesting: an inner step is entered only while its workflow step is open.
func (c *check) checkNesting(l *line, outer *place) {
	if lf := c.now.steps[outer.id()]; lf == nil || lf.started == 0 || !lf.status.open() {
		c.report(RuleEnabled, l, "the workflow step %s around it is not open", outer.id())
	}
}

// cleansAfter reports whether the place is in a cleanup for a node that another is in.
func (p place) cleansAfter(other place) bool {
	for _, f := range p.cleansFor() {
		if f.prefix == other.prefix && f.child(0, 0).holds(other) {
			return true
		}
	}
	return false
}

// checkReferences: what the step's templates refer to has ended.
func (c *check) checkReferences(l *line, v view, p place) {
	for name := range p.node.step.references() {
		n := p.def.byStep[name]
		if n == nil {
			n = p.def.byID[name]
		}
		if n == nil || n.scopes > len(p.index) {
			c.report(RuleReference, l, "it refers to %q, which it cannot see", name)
			continue
		}
		before := p.at(n)
		if p.cleansAfter(before) {
			continue // it may have ended in any way, or never been entered
		}
		if v.eval(before).kind == isOpen {
			c.report(RuleReference, l, "it refers to %s, which has not ended in an earlier commit", before.key())
		}
	}
}
