package checker

import (
	"encoding/json"
	"time"
)

type runStatus int

const (
	notBegun runStatus = iota
	queued
	running
	suspended
	succeeded
	failedRun
	cancelledRun
)

func (s runStatus) terminal() bool { return s >= succeeded }

type leafStatus int

const (
	leafRunning leafStatus = iota
	leafSuspended
	leafSucceeded
	leafFailed
	leafCancelled
	leafSkipped
)

func (s leafStatus) String() string {
	return [...]string{"running", "suspended", "succeeded", "failed", "cancelled", "skipped"}[s]
}

func (s leafStatus) open() bool { return s <= leafSuspended }

// state is the checker's own fold of a journal.
type state struct {
	status   runStatus
	last     uint64
	queued   *line
	steps    map[string]*leaf
	order    []*leaf          // by first event
	open     map[string]*leaf // those that were entered and have not ended
	decided  map[string]*line // by place.key
	rounds   map[string]*line // the latest of each retry node
	retries  int64            // rounds reserved
	spent    map[string]int64 // by unit, of steps' reservations
	calls    int              // tool and model calls in flight
	setbacks int              // failures, and decisions that may be one: 0 saves looking
	children map[string]string
	// deadline is when time is over if nothing ever waited.
	deadline  time.Time
	cancelled bool // it was asked for
	imported  bool // from another store, and not taken over
	expired   bool
	// cleanupFrom is when the time of cleanups began: when the run came to be one that
	// can only end, or was continued since.
	cleanupFrom time.Time
	cleanupOver bool
}

// leaf is a step's instance.
type leaf struct {
	id       string
	place    place
	known    bool // place is set
	status   leafStatus
	inDoubt  bool
	givenUp  bool // cancelled although it was in doubt
	reenter  bool // a verdict said that it may be entered again
	attempts int
	effect   string
	agent    bool
	started  uint64 // sequence of the latest start; 0 if it never started
	ended    uint64 // sequence of the event that gave the status
	reason   string
	child    string
	from     string // the run that ran it, if it was taken over
	output   json.RawMessage
	blob     *blob
	failure  json.RawMessage
	failed   *failure
	entries  []entry // entries[n] is attempt n+1
}

// entry is one attempt: its start, and what permitted it.
type entry struct {
	start *line
	how   permission
	// before is how the attempt before it ended.
	before leafStatus
	// unknown: the outcome of the attempt before it was never known.
	unknown bool
}

type permission int

const (
	entryFirst permission = iota
	entryRetry
	entryRerun
	entryCleanup // once more, after the node that it cleans up after ended again
	entryIllegal
)

func newState() *state {
	return &state{
		steps:    make(map[string]*leaf),
		open:     make(map[string]*leaf),
		decided:  make(map[string]*line),
		rounds:   make(map[string]*line),
		spent:    make(map[string]int64),
		children: make(map[string]string),
	}
}

// apply books an event, right or wrong: findings are the rules' affair.
func (s *state) apply(l *line, p *plan) {
	s.last = l.Sequence
	if l.StepID != "" {
		s.applyStep(l, p)
		return
	}
	switch l.Type {
	case runQueued:
		s.status, s.queued = queued, l
		s.deadline = l.CreatedAt.Add(time.Duration(l.Budget.WallTimeMS) * time.Millisecond)
	case runStarted:
		s.status = running
		s.imported = s.imported && l.Takeover == ""
		if s.cancelled || s.expired {
			s.cleanupFrom = l.At
		}
	case runSuspended:
		s.status = suspended
		s.imported = s.imported || l.Imported != ""
	case runSucceeded:
		s.status = succeeded
	case runFailed:
		s.status = failedRun
	case runCancelled:
		s.status = cancelledRun
	case cancelRequested:
		if !s.cancelled && !s.expired {
			s.cleanupFrom = l.At
		}
		s.cancelled = true
	case deadlineExtended:
		s.deadline = l.Until
	case decided:
		if l.Node == wallTime && !s.expired {
			s.expired, s.cleanupFrom = true, l.At
		}
		s.cleanupOver = s.cleanupOver || l.Node == cleanupTime
		s.decided[l.Scope+" "+l.Node] = l
		if l.failed() != nil || !l.truth() { // a repeat's last round fails it so
			s.setbacks++
		}
	case retryReserved:
		s.rounds[l.Scope+" "+l.Node] = l
		s.retries += l.Reservation["retries"]
	case nodeAdopted:
		s.applyNodeAdopted(l)
	}
}

// adoptedAs is how a step ended that is taken over.
func adoptedAs(l *line) leafStatus {
	switch {
	case l.Cancelled:
		return leafCancelled
	case l.failed() != nil:
		return leafFailed
	}
	return leafSucceeded
}

func (s *state) applyNodeAdopted(l *line) {
	key := l.Scope + " " + l.Node
	if l.Round > 0 {
		s.rounds[key] = l
		return
	}
	s.decided[key] = l
	if l.failed() != nil || !l.truth() {
		s.setbacks++
	}
}

func (s *state) leaf(id string, p *plan) *leaf {
	lf := s.steps[id]
	if lf != nil {
		return lf
	}
	lf = &leaf{id: id, status: leafSkipped}
	if p != nil {
		if at, err := p.locate(id); err == nil {
			lf.place, lf.known = at, true
			lf.agent = at.node.step.Type == "agent"
		}
	}
	s.steps[id] = lf
	s.order = append(s.order, lf)
	return lf
}

func (s *state) applyStep(l *line, p *plan) {
	lf := s.leaf(l.StepID, p)
	switch l.Type {
	case stepStarted:
		s.applyStart(lf, l, p)
	case stepSuspended:
		s.leave(lf, l, leafSuspended)
		lf.inDoubt, lf.reason = l.InDoubt, l.Reason
	case stepResumed:
		s.leave(lf, l, leafRunning)
	case stepCompleted:
		s.end(lf, l, leafSucceeded)
	case stepFailed:
		s.end(lf, l, leafFailed)
	case stepCancelled:
		s.end(lf, l, leafCancelled)
	case stepSkipped:
		s.end(lf, l, leafSkipped)
		lf.reason = l.Reason
	case stepResolved:
		s.applyResolved(lf, l)
	case stepAdopted:
		lf.from = l.FromRun
		s.end(lf, l, adoptedAs(l))
	}
}

func (s *state) applyStart(lf *leaf, l *line, p *plan) {
	e := entry{start: l, how: s.permission(lf, l, p), before: lf.status, unknown: lf.inDoubt || lf.reenter}
	lf.entries = append(lf.entries, e)
	s.leave(lf, l, leafRunning)
	lf.attempts, lf.effect = l.Attempt, l.Effect
	lf.started, lf.reenter, lf.inDoubt, lf.from = l.Sequence, false, false, ""
	if lf.calls() {
		s.calls++
	}
	if l.ChildRunID != "" {
		lf.child = l.ChildRunID
		s.children[l.ChildRunID] = lf.id
	}
	for unit, n := range l.Reservation {
		s.spent[unit] += n
	}
}

func (s *state) applyResolved(lf *leaf, l *line) {
	lf.inDoubt = false
	switch l.Verdict {
	case "succeeded":
		s.end(lf, l, leafSucceeded)
	case "failed":
		s.end(lf, l, leafFailed)
	default:
		s.leave(lf, l, leafSuspended)
		lf.reenter = true
	}
}

// leave books that the leaf's call is no longer in flight.
func (s *state) leave(lf *leaf, l *line, to leafStatus) {
	if lf.started > 0 && lf.status == leafRunning && lf.calls() {
		s.calls--
	}
	lf.status, lf.ended = to, l.Sequence
	if to.open() {
		s.open[lf.id] = lf
	} else {
		delete(s.open, lf.id)
	}
}

func (s *state) end(lf *leaf, l *line, to leafStatus) {
	s.leave(lf, l, to)
	lf.inDoubt, lf.reenter, lf.givenUp = false, false, l.Type == stepCancelled && l.InDoubt
	lf.output, lf.blob, lf.failure, lf.failed = l.Output, l.OutputBlob, l.Failure, l.failed()
	if to == leafFailed {
		s.setbacks++
	}
}

// calls reports whether the leaf's attempt is a tool or model call, which takes
// one of the run's slots.
func (lf *leaf) calls() bool { return lf.effect != "" || lf.agent }

// permission says why the leaf may be entered now, if it may.
func (s *state) permission(lf *leaf, start *line, p *plan) permission {
	switch {
	case lf.started == 0 && lf.ended == 0:
		return entryFirst
	case lf.inDoubt:
		return entryIllegal
	case lf.reenter:
		return entryRerun
	case !lf.status.open() && lf.known && (view{plan: p, ends: s, decides: s}).stale(lf.place, lf.ended):
		return entryCleanup
	case lf.status == leafFailed, lf.status == leafCancelled, lf.status == leafSkipped:
		if round := s.reopening(lf); round != nil && !start.At.Before(round.Due) {
			return entryRetry
		}
	}
	return entryIllegal
}

// reopening is the retry round that lets the leaf be entered again although it
// ended: the latest around it that came after its end.
func (s *state) reopening(lf *leaf) *line {
	if !lf.known || lf.status.open() || lf.status == leafSucceeded {
		return nil
	}
	var latest *line
	for at := &lf.place; at != nil; at = at.outer {
		for n := at.node; n != nil; n = n.parent {
			if n.Type != "retry" {
				continue
			}
			round := s.rounds[at.at(n).key()]
			if round != nil && round.Sequence > lf.ended && (latest == nil || round.Sequence > latest.Sequence) {
				latest = round
			}
		}
	}
	return latest
}
