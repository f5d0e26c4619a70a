package checker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// checkHeader examines what every event has. It reports false when the journal is
// beyond making sense of.
func (c *check) checkHeader(l *line) bool {
	first := c.now.last == 0
	if first && c.run == "" {
		c.run = l.RunID
	}
	if l.RunID != c.run {
		c.report(RuleSequence, l, "the event is of run %s", l.RunID)
	}
	if l.Sequence != c.now.last+1 {
		c.report(RuleSequence, l, "sequence %d follows on %d", l.Sequence, c.now.last)
	}
	if first != (l.Type == runQueued) {
		c.report(RuleBeginning, l, "%s at this place: a journal begins with run_queued, once", l.Type)
		return false
	}
	if c.now.status.terminal() {
		c.report(RuleTerminal, l, "%s after the run's end", l.Type)
		return false
	}
	c.checkActivity(l)
	return true
}

// checkActivity: a run that isn't running is not worked on. A verdict may end a
// workflow step, and the run, all the same.
func (c *check) checkActivity(l *line) {
	switch l.Type {
	case stepStarted, stepResumed, stepCompleted, decided, retryReserved:
		lf := c.now.steps[l.StepID]
		nested := l.Type == stepCompleted && lf != nil && lf.known && lf.place.node.step.Type == "workflow"
		if c.now.status != running && !nested {
			c.report(RuleNotRunning, l, "%s although the run isn't running", l.Type)
		}
	case runStarted:
		if c.now.status == running {
			c.report(RuleTransition, l, "run_started although the run is running")
		}
		if c.now.imported && l.Takeover == "" {
			c.report(RuleTransition, l, "run_started although the run was imported, and nobody took it over")
		}
	case runSuspended:
		if c.now.status == suspended && l.Imported == "" {
			c.report(RuleTransition, l, "run_suspended although the run is suspended")
		}
	}
}

// checkQueued reads the pin: without it nothing else can be derived.
func (c *check) checkQueued(l *line) {
	if l.RootRunID != "" && l.RootRunID != l.RunID {
		c.report(RuleBeginning, l, "a journal of its own for a run nested in %s", l.RootRunID)
	}
	bundle := []byte(l.Bundle)
	if l.BundleBlob != nil {
		if c.journal.Blob == nil {
			c.report(RulePin, l, "the pinned definitions are kept elsewhere, and nobody gives them")
			return
		}
		var err error
		if bundle, err = c.journal.Blob(l.BundleBlob.SHA256); err != nil {
			c.report(RulePin, l, "the pinned definitions: %v", err)
			return
		}
	}
	canonical := jsontext.Value(slices.Clone(bundle))
	if err := canonical.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		c.report(RulePin, l, "the pinned definitions: %v", err)
		return
	}
	sum := sha256.Sum256(canonical)
	if got := hex.EncodeToString(sum[:]); got != l.BundleHash {
		c.report(RulePin, l, "the pinned definitions have hash %s, recorded is %q", got, l.BundleHash)
	}
	p, err := readPlan(bundle)
	if err != nil {
		c.report(RulePin, l, "%v", err)
		return
	}
	if p.root.ID != l.Definition.ID || p.root.Revision != l.Definition.Revision {
		c.report(RulePin, l, "the run is of %s, the pin of %s", ref(l.Definition.ID, l.Definition.Revision), ref(p.root.ID, p.root.Revision))
	}
	c.plan = p
}

// checkEnd examines a run's end.
func (c *check) checkEnd(l *line) {
	for _, id := range slices.Sorted(maps.Keys(c.now.open)) {
		lf := c.now.open[id]
		c.report(RuleOpenEnd, &line{Sequence: l.Sequence, StepID: id}, "%s although the step is %s (in doubt: %v)", l.Type, lf.status, lf.inDoubt)
	}
	if cancelled := l.Type == runCancelled; cancelled != c.now.cancelled {
		c.report(RuleCancelEnd, l, "%s, and cancelling was asked for: %v", l.Type, c.now.cancelled)
	}
	if c.plan == nil {
		return
	}
	root := place{def: c.plan.root, node: c.plan.root.Plan}
	c.checkClean(l, root)
	if l.Type == runCancelled || c.now.cancelled {
		return
	}
	f := l.failed()
	if c.now.expired {
		if l.Type != runFailed || f == nil || f.Code != "budget_exceeded" {
			c.report(RuleTimeOver, l, "%s although the run's time is over: it fails with budget_exceeded", l.Type)
		}
		return
	}
	c.checkPlanEnd(l, root, l.Type == runSucceeded)
	c.checkAllSkipped(l, root)
}

// resultCodes are the failures that a plan's result may meet although the plan
// itself succeeded: its output could not be made, is not as declared, or could
// not be kept.
var resultCodes = []string{"invalid_output", "unknown_reference", "expression_failed", "storage", "internal"}

// checkPlanEnd compares a run's or nested run's end with what its plan came to.
func (c *check) checkPlanEnd(l *line, root place, ok bool) {
	o := c.presentView().eval(root)
	if ok {
		if o.kind != isOK {
			c.report(RulePlanEnd, l, "%s although the plan has not succeeded", l.Type)
			return
		}
		if isNull(root.def.Output) && o.value.differs(c.presentView().stored(l.Output, l.OutputBlob)) {
			c.report(RulePlanOutput, l, "the output is %s, the plan's is %s", l.Output, show(o.value))
		}
		return
	}
	f := l.failed()
	switch {
	case f == nil:
		c.report(RulePlanEnd, l, "%s without a failure", l.Type)
	case o.kind == isFailed:
		c.checkNames(l, f, o.fail)
	case !slices.Contains(resultCodes, f.Code):
		c.report(RulePlanEnd, l, "%s with %s although the plan has not failed", l.Type, f.Code)
	}
}

// checkNames: the failure of a parallel names its branch, that of a map its items.
// Of very many items a message may name the first only.
func (c *check) checkNames(l *line, f *failure, want *failed) {
	const many = 16
	if want == nil || len(want.names) == 0 {
		return
	}
	has := func(name string) bool { return strings.Contains(f.Message, name) }
	names := want.names[:min(len(want.names), many)]
	if !want.all {
		if !slices.ContainsFunc(names, has) {
			c.report(RuleBranchName, l, "the failure %q names none of %v", f.Message, names)
		}
		return
	}
	for _, name := range names {
		if !has(name) {
			c.report(RuleItemName, l, "the failure %q does not name %s", f.Message, name)
		}
	}
}

func show(v value) string {
	text, err := json.Marshal(v.json)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
