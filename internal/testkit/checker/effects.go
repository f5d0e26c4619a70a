package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/culm-dev/culm/internal/testkit/effectlog"
)

// instance is a step instance of a run.
type instance struct{ run, step string }

// checkEffects holds the side-effect log against the journals.
func checkEffects(checks map[string]*check, effects []effectlog.Line) []Finding {
	var found []Finding
	report := func(rule Rule, e effectlog.Line, message string) {
		found = append(found, Finding{Rule: rule, Run: e.Run, Step: e.Step, Message: message})
	}
	byStep := make(map[instance][]effectlog.Line)
	var order []instance
	keys := make(map[string]instance)
	for _, e := range effects {
		in := instance{e.Run, e.Step}
		if byStep[in] == nil {
			order = append(order, in)
		}
		byStep[in] = append(byStep[in], e)
		if e.Key == "" {
			continue
		}
		if other, used := keys[e.Key]; used && other != in {
			report(RuleEffectKey, e, "its key "+e.Key+" is that of step "+other.step+" of run "+other.run)
		}
		keys[e.Key] = in
	}
	for _, in := range order {
		lines := byStep[in]
		slices.SortStableFunc(lines, func(a, b effectlog.Line) int { return cmp.Compare(a.Attempt, b.Attempt) })
		var lf *leaf
		if c := checks[in.run]; c != nil {
			lf = c.now.steps[in.step]
		}
		for i, e := range lines {
			if rule, message := lf.explain(e); rule != "" {
				report(rule, e, message)
			}
			if i == 0 {
				continue
			}
			if before := lines[i-1]; before.Attempt == e.Attempt {
				report(RuleEffectTwice, e, "one attempt had two effects")
			} else if before.Key != e.Key {
				report(RuleEffectKey, e, "its key changed from "+before.Key+" to "+e.Key)
			} else if message := lf.again(before.Attempt, e.Attempt); message != "" {
				report(RuleEffectAgain, e, message)
			}
		}
	}
	return found
}

// explain finds the durable intent of an effect.
func (lf *leaf) explain(e effectlog.Line) (Rule, string) {
	if lf == nil || e.Attempt < 1 || e.Attempt > len(lf.entries) {
		return RuleIntent, "an effect without a durable start of its attempt"
	}
	start := lf.entries[e.Attempt-1].start.At
	if e.At.Nanosecond() == 0 { // a script that writes whole seconds
		start = start.Truncate(time.Second)
	}
	if !e.At.IsZero() && e.At.Before(start) {
		return RuleIntent, "the effect came before its start"
	}
	return "", ""
}

// again says what is wrong with a write that had an effect in two attempts: each
// start between them must follow on a definite failure and a retry round, or on
// the verdict that it may be repeated.
func (lf *leaf) again(first, then int) string {
	if lf == nil || first < 1 || then > len(lf.entries) {
		return "" // reported as an effect without intent
	}
	for _, e := range lf.entries[first:then] {
		switch {
		case e.start.Effect != "write" && lf.entries[first-1].start.Effect != "write":
		case e.how == entryRerun, e.how == entryCleanup && !e.unknown:
		case e.how == entryRetry && !e.unknown && (e.before == leafFailed || e.before == leafCancelled):
		default:
			return "a write was repeated, and neither a definite failure nor a verdict allowed it"
		}
	}
	return ""
}
