// Package checker is the outside checker: it proves from journals, their commit
// boundaries and the tools' side-effect log that what Culm promises was kept.
//
// It shares no code with what it checks. It decodes journal lines with structs of
// its own, reads the pinned definitions itself, has its own notion of instance
// ids, and derives from the plan what may happen when. So a mistake in the
// kernel, the engine or the fold cannot hide itself here.
//
// # What it derives
//
// The checker folds a journal into two states: what was durable before the commit
// at hand, and what is so now. Whether a step may start is asked of the plan: what
// stands before it in the sequences around it must have ended in an earlier
// commit, the choices around it must have been decided its way, the maps must
// have its item, and the parallels must not have failed. Whether a node succeeded
// or failed, and with which output, is worked out from its leaves alone.
//
//   - line.go: a journal line
//   - plan.go, refs.go: the pinned definitions
//   - place.go: instance ids and what they name
//   - state.go: the fold
//   - eval*.go: how a node ended
//   - rules.go: the rules and their invariants
//   - check_*.go: one file per family of events
//   - origins.go: what one run took over from another
//   - effects.go: the side-effect log
//   - sqlite.go: journals of a data directory
package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/culm-dev/culm/internal/testkit/effectlog"
)

// Journal is a run's journal as it was committed.
type Journal struct {
	// Run is the run's id. Empty stands for the one in the journal.
	Run string
	// Commits holds the journal's lines by commit, in order: Commits[i] is what
	// became durable at one moment.
	Commits [][][]byte
	// Blob gives a value that is kept beside the journal, by its SHA-256. With
	// nil, what needs such a value is not checked.
	Blob func(sha256 string) ([]byte, error)
}

// Finding is one broken promise.
type Finding struct {
	Rule     Rule
	Run      string
	Sequence uint64 // of the event at fault; 0 if none is
	Step     string // full instance id; "" if the finding is about no step
	Message  string
}

// Invariant is the number of the invariant that is broken.
func (f Finding) Invariant() int { return invariants[f.Rule] }

func (f Finding) String() string {
	s := fmt.Sprintf("invariant %d (%s): run %s", f.Invariant(), f.Rule, f.Run)
	if f.Sequence > 0 {
		s += fmt.Sprintf(", event %d", f.Sequence)
	}
	if f.Step != "" {
		s += ", step " + f.Step
	}
	return s + ": " + f.Message
}

// Check examines each journal, and the effects against all of them. No findings
// means that everything which journals and effects can show is as promised.
func Check(journals []Journal, effects []effectlog.Line) []Finding {
	var found []Finding
	checks := make(map[string]*check, len(journals))
	for _, j := range journals {
		c := checkJournal(j)
		found = append(found, c.found...)
		checks[c.run] = c
	}
	found = append(found, checkOrigins(checks)...)
	found = append(found, checkEffects(checks, effects)...)
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Sequence, b.Sequence))
	})
	return found
}

// check is the examination of one journal.
type check struct {
	run     string
	journal Journal
	found   []Finding

	plan *plan // nil while, or if, the pinned definitions cannot be read
	// durable is what had been committed before the commit at hand; now also has
	// what this commit's earlier events say.
	durable, now *state
	commit       []*line // the commit at hand
	ends         bool    // the commit holds the run's end
	starts       bool    // the commit starts a step that may not share it
	waived       map[string]bool
}

func checkJournal(j Journal) *check {
	c := &check{run: j.Run, journal: j, durable: newState(), now: newState(), waived: make(map[string]bool)}
	if len(slices.Concat(j.Commits...)) == 0 {
		c.report(RuleBeginning, nil, "the journal is empty")
		return c
	}
	for _, texts := range j.Commits {
		if len(texts) > 0 && !c.checkCommit(texts) {
			return c
		}
	}
	return c
}

// checkCommit examines one commit. It reports false when going on would only
// give findings that follow from this one.
func (c *check) checkCommit(texts [][]byte) bool {
	c.commit = c.commit[:0]
	for _, text := range texts {
		l, err := decode(text)
		if err != nil {
			c.report(RuleLine, &line{Sequence: c.now.last + uint64(len(c.commit)) + 1}, "%v", err)
			return false
		}
		c.commit = append(c.commit, l)
	}
	c.survey()
	c.checkRecovery()
	for _, l := range c.commit {
		if !c.checkHeader(l) {
			return false
		}
		c.checkEvent(l)
		c.now.apply(l, c.plan)
	}
	for _, l := range c.commit {
		c.durable.apply(l, c.plan)
	}
	return true
}

// survey notes what later rules need to know of the whole commit.
func (c *check) survey() {
	c.ends, c.starts = false, false
	for _, l := range c.commit {
		switch l.Type {
		case runSucceeded, runFailed, runCancelled:
			c.ends = true
		case stepStarted:
			c.starts = c.starts || !c.mayShareCommit(l.StepID)
		}
	}
}

// mayShareCommit reports whether the author said that the step is harmless to
// repeat, so that it may start in the commit of what enabled it.
func (c *check) mayShareCommit(id string) bool {
	if c.plan == nil {
		return false
	}
	p, err := c.plan.locate(id)
	return err == nil && p.node.step.OnUnknown == "rerun"
}

func (c *check) report(rule Rule, l *line, format string, args ...any) {
	f := Finding{Rule: rule, Run: c.run, Message: fmt.Sprintf(format, args...)}
	if l != nil {
		f.Sequence, f.Step = l.Sequence, l.StepID
	}
	c.found = append(c.found, f)
}

// checkEvent examines one event against what was before it.
func (c *check) checkEvent(l *line) {
	switch l.Type {
	case runQueued:
		c.checkQueued(l)
	case runSuspended:
		// Its shape is checked for the commit as a whole.
	case runSucceeded, runFailed, runCancelled:
		c.checkEnd(l)
	case stepStarted:
		c.checkStart(l)
	case stepCompleted:
		c.checkCompleted(l)
	case stepFailed:
		c.checkFailed(l)
	case stepCancelled:
		c.checkCancelled(l)
	case stepSkipped:
		c.checkSkipped(l)
	case stepSuspended:
		c.checkSuspended(l)
	case stepResumed:
		c.checkResumed(l)
	case stepResolved:
		c.checkResolved(l)
	case decided:
		c.checkDecided(l)
	case retryReserved:
		c.checkRetry(l)
	case stepAdopted, nodeAdopted:
		c.checkAdopted(l)
	case runStarted:
		c.checkTakeover(l)
	}
}

// Extends reports what of an earlier look at a journal is no longer there: what
// was durable once must stay a prefix, byte by byte.
func Extends(before, after Journal) []Finding {
	c := &check{run: cmp.Or(before.Run, after.Run)}
	old, new := slices.Concat(before.Commits...), slices.Concat(after.Commits...)
	for i, text := range old {
		at := &line{Sequence: uint64(i + 1)}
		if i >= len(new) {
			c.report(RulePrefix, at, "the event is gone")
			break
		}
		if string(text) != string(new[i]) {
			c.report(RulePrefix, at, "the event changed from %s to %s", text, new[i])
		}
	}
	return c.found
}
