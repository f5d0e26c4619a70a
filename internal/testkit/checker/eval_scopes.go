package checker

import "fmt"

func (v view) evalParallel(p place) outcome {
	values := make([]value, len(p.node.children))
	var fail *failed
	var others []string // branches that the failure cut short
	worst := isOK
	for slot := range p.node.children {
		o := v.eval(p.child(slot, 0))
		values[slot] = o.value
		name := fmt.Sprintf("branch[%d]", slot)
		switch o.kind {
		case isFailed:
			if fail == nil {
				fail = &failed{}
			}
			fail.hard = fail.hard || o.fail.hard
			fail.names = append(fail.names, name)
		case isOpen:
			worst = isOpen
			others = append(others, name)
		case isCancelled:
			if worst == isOK {
				worst = isCancelled
			}
			others = append(others, name)
		}
	}
	switch {
	case fail == nil:
		return outcome{kind: worst, value: list(values)}
	case !v.quiet(p):
		return outcome{}
	}
	if _, unclean := v.unclean(p); unclean && !v.decides.cleanupOver {
		return outcome{}
	}
	// A map that was cut short may have an item that failed before anything else.
	fail.names = append(fail.names, others...)
	return outcome{kind: isFailed, fail: fail}
}

// branchFailed is the slot of a branch of the parallel that failed, though its
// siblings may not have ended; -1 if none did.
func (v view) branchFailed(p place, except int) int {
	if v.ends.setbacks == 0 && v.decides.setbacks == 0 {
		return -1
	}
	for slot := range p.node.children {
		if slot != except && v.eval(p.child(slot, 0)).kind == isFailed {
			return slot
		}
	}
	return -1
}

// quiet reports whether nothing in the node is open.
func (v view) quiet(p place) bool {
	for _, lf := range v.ends.open {
		if lf.known && p.holds(lf.place) {
			return false
		}
	}
	return true
}

func (v view) evalMap(p place) outcome {
	d := v.decision(p)
	switch {
	case d == nil:
		return outcome{}
	case d.failed() != nil:
		return outcome{kind: isFailed, fail: &failed{raw: d.Failure}}
	}
	values := make([]value, d.Count)
	var fail *failed
	failures := 0
	worst := isOK
	for i := range d.Count {
		o := v.eval(p.child(0, i))
		values[i] = o.value
		switch o.kind {
		case isOpen:
			return outcome{}
		case isCancelled:
			worst = isCancelled
		case isFailed:
			failures++
			values[i] = errorValue(o.fail)
			if fail == nil {
				fail = &failed{}
			}
			fail.hard, fail.all = fail.hard || o.fail.hard, true
			fail.names = append(fail.names, fmt.Sprintf("item[%d]", i))
		}
	}
	if failures > p.node.Tolerate {
		return outcome{kind: isFailed, fail: fail}
	}
	return outcome{kind: worst, value: list(values)}
}

func (v view) evalRetry(p place) outcome {
	o := v.eval(p.child(0, 0))
	if o.kind != isFailed {
		return o
	}
	d := v.decision(p) // recorded when no round could be had
	switch {
	case d != nil && d.failed() != nil:
		o.fail = &failed{raw: d.Failure}
	case o.fail.hard || !v.retryable(p):
	case v.round(p)+1 < p.node.MaxAttempts:
		return outcome{} // another round is due
	default:
		o.fail = &failed{names: o.fail.names, all: o.fail.all} // retry_exhausted
	}
	if child := p.node.children[0]; child.Type == "step" {
		return policy(child.step, o)
	}
	return o
}

// round is how many rounds were reserved for a retry node since the latest round
// of a retry around it, which begins its count anew.
func (v view) round(p place) int {
	own := v.decides.rounds[p.key()]
	if own == nil || v.stale(p, own.Sequence) {
		return 0
	}
	outer := v.outerRound(p)
	if outer != nil && outer.Sequence > own.Sequence {
		return 0
	}
	return own.Round
}

// outerRound is the latest round of the retries around a node.
func (v view) outerRound(p place) *line {
	var latest *line
	from := p.node.parent
	for at := &p; at != nil; at = at.outer {
		if at != &p {
			from = at.node
		}
		for n := from; n != nil; n = n.parent {
			if n.Type != "retry" {
				continue
			}
			if r := v.decides.rounds[at.at(n).key()]; r != nil && (latest == nil || r.Sequence > latest.Sequence) {
				latest = r
			}
		}
	}
	return latest
}

// retryable reports whether every leaf in the node that did not succeed may be
// entered again: it failed retryably, was cancelled or skipped, or never entered.
// Those in a workflow step that succeeded are finished with it.
func (v view) retryable(p place) bool {
	for _, lf := range v.ends.order {
		if lf.known && p.holds(lf.place) && !lf.repeatable() && !v.finishedAround(lf.place) {
			return false
		}
	}
	for _, d := range v.decides.decided {
		if d.failed() == nil || d.Node == wallTime {
			continue
		}
		if at, err := v.plan.locateNode(d.Scope, d.Node); err == nil && p.holds(at) {
			return false
		}
	}
	return true
}

// finishedAround reports whether a workflow step around the place succeeded.
func (v view) finishedAround(p place) bool {
	for at := p.outer; at != nil; at = at.outer {
		if lf := v.ends.steps[at.id()]; lf != nil && lf.status == leafSucceeded {
			return true
		}
	}
	return false
}

func (lf *leaf) repeatable() bool {
	switch lf.status {
	case leafSucceeded, leafSkipped:
		return true
	case leafCancelled:
		return !lf.givenUp
	case leafFailed:
		return lf.failed != nil && lf.failed.Retryable
	}
	return false
}
