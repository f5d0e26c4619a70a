package checker

// checkAdopted examines one thing that is taken over from another run: only at the
// very beginning, and once.
func (c *check) checkAdopted(l *line) {
	q := c.now.queued
	if c.now.status != queued || q.RestartedFrom == "" || q.RestartedAtStep == "" {
		c.report(RuleAdopted, l, "%s in a run that takes nothing over, or does not do so any more", l.Type)
	}
	if c.plan == nil {
		return
	}
	if l.Type == nodeAdopted {
		c.checkNodeAdopted(l)
		return
	}
	p, ok := c.locate(l)
	if !ok {
		return
	}
	if c.now.steps[l.StepID] != nil {
		c.report(RuleAdopted, l, "taken over twice")
	}
	if l.FromRun == "" {
		c.report(RuleAdopted, l, "taken over from no run")
	}
	at, err := c.plan.locate(q.RestartedAtStep)
	if err != nil {
		c.report(RulePinStep, l, "the step to go on from: %v", err)
		return
	}
	if p.holds(at) || p.encloses(at) || at.encloses(p) {
		c.report(RuleAdopted, l, "it is %s, which is to be run again, or lies in it or around it", q.RestartedAtStep)
	}
}

func (c *check) checkNodeAdopted(l *line) {
	p, err := c.plan.locateNode(l.Scope, l.Node)
	if err != nil {
		c.report(RulePinStep, l, "%v", err)
		return
	}
	if isRetry := p.node.Type == "retry"; l.Round > 0 && !isRetry {
		c.report(RuleAdopted, l, "a round of a %s", p.node.Type)
	}
	if l.Round == 0 && c.now.decided[p.key()] != nil {
		c.report(RuleDecision, l, "%s was decided before", p.key())
	}
}

// encloses reports whether q is inside the nested run of p's workflow step.
func (p place) encloses(q place) bool {
	for at := q.outer; at != nil; at = at.outer {
		if at.id() == p.id() {
			return true
		}
	}
	return false
}

// checkTakeover examines all that was taken over, once it is complete: a step ends
// only after what stands before it in the plan, so that nothing behind the step to go
// on from can be among it.
func (c *check) checkTakeover(l *line) {
	if c.now.status != queued || c.plan == nil {
		return
	}
	v := c.presentView()
	for _, lf := range c.now.order {
		if !lf.known {
			continue
		}
		where := &line{Sequence: l.Sequence, StepID: lf.id}
		for at := &lf.place; at != nil; at = at.outer {
			for n := at.node; n.parent != nil; n = n.parent {
				if n.parent.Type != "parallel" { // a failure in it may be one that the plan went on from
					c.checkBefore(where, v, at.at(n.parent), *at, n, false)
				}
			}
		}
	}
}
