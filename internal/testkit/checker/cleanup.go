package checker

import (
	"slices"
	"time"
)

// A cleanup belongs to one end of its node. The checker tells them apart by what
// became of the node's leaves: what a cleanup did before that is of an earlier round of
// a retry around both, and counts no more.

// cleans reports whether the node has a cleanup.
func (n *node) cleans() bool { return n.Type == "finally" || n.Type == "on_failure" }

// isCleanup reports whether the node is the cleanup of its parent.
func (n *node) isCleanup() bool { return n.parent != nil && n.parent.cleans() && n.slot == 1 }

// cleansFor are the instances of finally and on_failure in whose cleanup the place is,
// the nearest first.
func (p place) cleansFor() []place {
	var all []place
	for at := &p; at != nil; at = at.outer {
		for n := at.node; n.parent != nil; n = n.parent {
			if n.isCleanup() {
				all = append(all, at.at(n.parent))
			}
		}
	}
	return all
}

// cleaned are the instances of finally and on_failure in whose node the place is, as
// far as they are within another place.
func (p place) cleaned(within place) []place {
	var all []place
	for at := &p; at != nil; at = at.outer {
		for n := at.node; n.parent != nil; n = n.parent {
			if f := at.at(n.parent); n.parent.cleans() && n.slot == 0 && within.holds(f) {
				all = append(all, f)
			}
		}
	}
	return all
}

func (p place) inCleanup() bool { return len(p.cleansFor()) > 0 }

// stale reports whether an event of something in a cleanup is of an earlier round.
func (v view) stale(p place, sequence uint64) bool {
	all := p.cleansFor()
	return len(all) > 0 && sequence < v.touched(all[0].child(0, 0))
}

// touched is the latest event that says what became of something in a place, as far as
// it counts still; 0 if nothing in it was entered.
func (v view) touched(p place) uint64 {
	var latest uint64
	for _, lf := range v.ends.order {
		if lf.known && lf.status != leafSkipped && p.holds(lf.place) && !v.reopened(lf) {
			latest = max(latest, lf.ended)
		}
	}
	for _, lines := range []map[string]*line{v.decides.decided, v.decides.rounds} {
		for _, d := range lines {
			if at, ok := v.placeOf(d); ok && p.holds(at) && v.counts(at, d) {
				latest = max(latest, d.Sequence)
			}
		}
	}
	return latest
}

// placeOf is the node's instance that an event is about.
func (v view) placeOf(l *line) (place, bool) {
	if v.plan == nil || l.Node == wallTime || l.Node == cleanupTime {
		return place{}, false
	}
	p, err := v.plan.locateNode(l.Scope, l.Node)
	if err == nil && p.node.Type == "repeat" {
		p.index = p.index[:len(p.index)-1]
	}
	return p, err == nil
}

// counts reports whether a node's decision or round was not overtaken by another round.
func (v view) counts(p place, l *line) bool {
	if v.stale(p, l.Sequence) {
		return false
	}
	outer := v.outerRound(p)
	return l.Round == 0 || outer == nil || outer.Sequence < l.Sequence
}

// decision is what the node at a place decided, if that counts still.
func (v view) decision(p place) *line { return v.decisionAt(p, p.key()) }

// roundDecision is what a repeat decided after a round.
func (v view) roundDecision(p place, round int) *line { return v.decisionAt(p, p.round(round).key()) }

func (v view) decisionAt(p place, key string) *line {
	d := v.decides.decided[key]
	if d != nil && v.stale(p, d.Sequence) {
		return nil
	}
	return d
}

// evalCleans tells how a finally or on_failure ended: as its node, once the cleanup has
// ended too. A cleanup that failed makes a success a failure, and hides none.
func (v view) evalCleans(p place) outcome {
	o := v.eval(p.child(0, 0))
	if o.kind == isOpen || v.touched(p.child(0, 0)) == 0 || p.node.Type == "on_failure" && o.kind == isOK {
		return o
	}
	c := v.eval(p.child(1, 0))
	switch {
	case c.kind == isOpen:
		return outcome{}
	case c.kind == isOK:
		return o
	case o.kind == isFailed:
		o.fail = &failed{names: o.fail.names, all: o.fail.all, hard: o.fail.hard}
		return o
	case o.kind == isOK && c.kind == isFailed:
		return outcome{kind: isFailed, fail: &failed{names: c.fail.names, all: c.fail.all, hard: c.fail.hard}}
	}
	return outcome{kind: isCancelled}
}

// unclean finds a finally or on_failure in a place whose node was entered, and whose
// cleanup has not ended though it is to be run.
func (v view) unclean(p place) (place, bool) {
	for _, lf := range v.ends.order {
		if !lf.known || lf.status == leafSkipped || !p.holds(lf.place) {
			continue
		}
		for _, f := range lf.place.cleaned(p) {
			if v.touched(f.child(0, 0)) > 0 && v.owesCleanup(f) {
				return f, true
			}
		}
	}
	return place{}, false
}

func (v view) owesCleanup(f place) bool {
	if f.node.Type == "on_failure" && v.eval(f.child(0, 0)).kind == isOK {
		return false
	}
	c := f.child(1, 0)
	return v.eval(c).kind == isOpen && !v.givenUp(c)
}

// givenUp reports whether the outcome of something in the place was given up.
func (v view) givenUp(p place) bool {
	return slices.ContainsFunc(v.ends.order, func(lf *leaf) bool {
		return lf.givenUp && lf.known && p.holds(lf.place)
	})
}

// checkClean: where a plan is at its end, what was entered was cleaned up after.
func (c *check) checkClean(l *line, p place) {
	if c.now.cleanupOver {
		return
	}
	if f, found := c.presentView().unclean(p); found {
		c.report(RuleCleanup, l, "the cleanup of %s has not ended", f.key())
	}
}

// checkNodeEnded: a cleanup begins after its node has ended, in an earlier commit, and
// only if it was entered.
func (c *check) checkNodeEnded(l *line, v view, f place) {
	node := f.child(0, 0)
	o := v.eval(node)
	_, unclean := v.unclean(node)
	switch {
	case c.presentView().touched(node) == 0:
		c.report(RuleCleanup, l, "%s was never entered", node.key())
	case f.node.Type == "on_failure" && o.kind == isOK:
		c.report(RuleCleanup, l, "%s succeeded", node.key())
	case !v.quiet(node) && c.presentView().quiet(node):
		c.report(RuleBoundary, l, "it shares a commit with the end of %s, which it cleans up after", node.key())
	case !v.quiet(node), unclean:
		c.report(RuleCleanup, l, "%s has not ended", node.key())
	case o.kind == isOpen && !c.cutShort(node):
		c.report(RuleCleanup, l, "%s has not ended, and nothing cancelled it", node.key())
	}
}

// checkCleanupTime: the time of cleanups is over only in a run that can only end, and
// not before it is.
func (c *check) checkCleanupTime(l *line) {
	if !c.now.cancelled && !c.now.expired {
		c.report(RuleTimeOver, l, "the time of cleanups is over in a run that may go on")
	}
	if over := c.now.cleanupFrom.Add(millis(c.now.queued.Budget.CleanupMS)); l.At.Before(over) {
		c.report(RuleTimeOver, l, "the time of cleanups was over at %s, which is before %s", l.At, over)
	}
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
