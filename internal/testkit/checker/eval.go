package checker

import "encoding/json"

type outcomeKind int

const (
	isOpen outcomeKind = iota // not ended, or not entered
	isOK
	isFailed
	isCancelled
)

// outcome is how a node's instance ended, as its leaves tell.
type outcome struct {
	kind outcomeKind
	// skips: the nearest sequence around it skips what follows.
	skips bool
	value value   // if isOK
	fail  *failed // if isFailed
}

// failed is what is known of a node's failure.
type failed struct {
	raw json.RawMessage // the failure itself, if it is a step's, unchanged
	// names must stand in the message, such as branch[1]: all of them, or, where
	// they are branches that failed one after the other, at least one.
	names []string
	all   bool
	hard  bool // no retry can mend it, whatever its leaves say
}

// view is what eval looks at: how leaves ended, and what was decided since.
type view struct {
	plan    *plan
	ends    *state // how leaves ended
	decides *state // decisions and retry rounds
	blob    func(string) ([]byte, error)
}

// durableView sees as ended only what earlier commits hold.
func (c *check) durableView() view { return view{c.plan, c.durable, c.now, c.journal.Blob} }

// presentView also sees what the commit at hand holds so far.
func (c *check) presentView() view { return view{c.plan, c.now, c.now, c.journal.Blob} }

// eval tells how a node's instance ended.
func (v view) eval(p place) outcome {
	switch p.node.Type {
	case "step":
		return v.evalStep(p)
	case "sequence":
		return v.evalSequence(p)
	case "parallel":
		return v.evalParallel(p)
	case "choice":
		return v.evalChoice(p)
	case "map":
		return v.evalMap(p)
	case "retry":
		return v.evalRetry(p)
	case "repeat":
		return v.evalRepeat(p)
	case "finally", "on_failure":
		return v.evalCleans(p)
	}
	return outcome{}
}

func (v view) evalStep(p place) outcome {
	o := v.leafOutcome(p)
	if o.kind == isFailed && (p.node.parent == nil || p.node.parent.Type != "retry") {
		return policy(p.node.step, o)
	}
	return o
}

// leafOutcome is how the leaf ended, its failure policy aside.
func (v view) leafOutcome(p place) outcome {
	lf := v.ends.steps[p.id()]
	if lf == nil || lf.status.open() {
		return outcome{}
	}
	if lf.status != leafSucceeded && v.reopened(lf) || v.stale(p, lf.ended) {
		return outcome{}
	}
	switch lf.status {
	case leafSucceeded:
		return outcome{kind: isOK, value: v.stored(lf.output, lf.blob)}
	case leafSkipped:
		return outcome{kind: isOK, value: known(nil)}
	case leafFailed:
		return outcome{kind: isFailed, fail: &failed{raw: lf.failure}}
	}
	return outcome{kind: isCancelled}
}

// reopened reports whether a retry round came after the leaf's end.
func (v view) reopened(lf *leaf) bool { return v.decides.reopening(lf) != nil }

// policy turns a step's failure into what its surroundings see.
func policy(s *step, o outcome) outcome {
	switch s.Failure {
	case "continue_with_error":
		return outcome{kind: isOK, value: errorValue(o.fail)}
	case "skip_dependents":
		return outcome{kind: isOK, skips: true, value: errorValue(o.fail)}
	}
	return o
}

func (v view) evalSequence(p place) outcome {
	var o outcome
	for slot := range p.node.children {
		o = v.eval(p.child(slot, 0))
		if o.kind != isOK {
			return o
		}
		if o.skips {
			break
		}
	}
	o.skips = false
	return o
}

func (v view) evalChoice(p place) outcome {
	d := v.decision(p)
	switch {
	case d == nil:
		return outcome{}
	case d.failed() != nil:
		return outcome{kind: isFailed, fail: &failed{raw: d.Failure}}
	}
	slot := branchOf(d)
	if slot >= len(p.node.children) {
		return outcome{kind: isOK, value: known(nil)}
	}
	return v.eval(p.child(slot, 0))
}

// branchOf is the slot of the branch that a choice's decision took.
func branchOf(d *line) int {
	if d.truth() {
		return 0
	}
	return 1
}

func (v view) evalRepeat(p place) outcome {
	for i := 0; ; i++ {
		o := v.eval(p.child(0, i))
		if o.kind != isOK {
			return o
		}
		o.skips = false
		d := v.roundDecision(p, i)
		switch {
		case d == nil:
			return outcome{}
		case d.failed() != nil:
			return outcome{kind: isFailed, fail: &failed{raw: d.Failure}}
		case d.truth():
			return o
		case i+1 >= p.node.Max:
			return outcome{kind: isFailed, fail: &failed{hard: true}}
		}
	}
}
