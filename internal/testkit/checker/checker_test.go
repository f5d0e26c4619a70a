package checker_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/culm-dev/culm/internal/testkit/checker"
)

// example is a rule with a journal that keeps it and one that breaks it.
type example struct {
	rule    checker.Rule
	name    string
	bundle  func(*testing.T) object
	budget  object
	good    string
	bad     string
	effects [2]string                                         // good, bad
	mar     func(*testing.T, checker.Journal) checker.Journal // further damage to the bad one
}

func examples() []example {
	return slices.Concat(
		journalExamples(), startExamples(), orderExamples(), effectExamples(), parallelExamples(),
		mapExamples(), retryExamples(), policyExamples(), doubtExamples(), nestedExamples(), takeoverExamples(), cleanupExamples(),
	)
}

func TestGoodJournalsPass(t *testing.T) {
	t.Parallel()
	for _, ex := range examples() {
		t.Run(string(ex.rule)+"/"+ex.name, func(t *testing.T) {
			t.Parallel()
			j := write(t, ex.bundle(t), ex.budget, ex.good)
			for _, f := range checker.Check([]checker.Journal{j}, effects(t, ex.effects[0])) {
				t.Error(f)
			}
		})
	}
}

func TestBrokenPromisesAreFound(t *testing.T) {
	t.Parallel()
	for _, ex := range examples() {
		t.Run(string(ex.rule)+"/"+ex.name, func(t *testing.T) {
			t.Parallel()
			j := write(t, ex.bundle(t), ex.budget, ex.bad)
			if ex.mar != nil {
				j = ex.mar(t, j)
			}
			found := checker.Check([]checker.Journal{j}, effects(t, ex.effects[1]))
			if !slices.ContainsFunc(found, func(f checker.Finding) bool { return f.Rule == ex.rule && f.Run == runID }) {
				t.Errorf("no finding of %s, but %v", ex.rule, found)
			}
			if ex.bad == ex.good && ex.mar == nil && ex.effects[0] == ex.effects[1] {
				t.Error("the bad journal is the good one")
			}
		})
	}
}

// TestEveryRuleCanBeBroken: a rule without a bad example proves nothing.
func TestEveryRuleCanBeBroken(t *testing.T) {
	t.Parallel()
	have := map[checker.Rule]bool{checker.RulePrefix: true} // TestWhatWasDurableStays
	for _, ex := range examples() {
		have[ex.rule] = true
	}
	for _, rule := range checker.Rules() {
		if !have[rule] {
			t.Errorf("rule %s has no journal that breaks it", rule)
		}
		if (checker.Finding{Rule: rule}).Invariant() == 0 {
			t.Errorf("rule %s belongs to no invariant", rule)
		}
	}
}

// TestPrefixesPass: a process may die between any two commits.
func TestPrefixesPass(t *testing.T) {
	t.Parallel()
	for _, ex := range examples() {
		t.Run(string(ex.rule)+"/"+ex.name, func(t *testing.T) {
			t.Parallel()
			j := write(t, ex.bundle(t), ex.budget, ex.good)
			for n := range len(j.Commits) {
				prefix := checker.Journal{Commits: j.Commits[:n+1]}
				for _, f := range checker.Check([]checker.Journal{prefix}, nil) {
					t.Errorf("after commit %d: %v", n+1, f)
				}
			}
		})
	}
}

func TestWhatWasDurableStays(t *testing.T) {
	t.Parallel()
	before := write(t, one(t), nil, "start a\ndone a")
	after := write(t, one(t), nil, "start a\ndone a\nsucceeded")
	if found := checker.Extends(before, after); len(found) > 0 {
		t.Errorf("a longer journal: %v", found)
	}
	if found := checker.Extends(after, before); len(found) != 1 || found[0].Rule != checker.RulePrefix {
		t.Errorf("a journal that was cut: %v", found)
	}
	changed := write(t, one(t), nil, "start a\ndone a output=1\nsucceeded output=1")
	if found := checker.Extends(before, changed); len(found) != 1 || found[0].Sequence != 4 {
		t.Errorf("a journal that was changed: %v", found)
	}
}

func TestFindingsSayWhere(t *testing.T) {
	t.Parallel()
	j := write(t, two(t), nil, "start a\nstart b")
	found := checker.Check([]checker.Journal{j}, nil)
	if len(found) != 1 {
		t.Fatalf("found %v", found)
	}
	want := "invariant 2 (enabled): run " + runID + ", event 4, step b: "
	if got := found[0].String(); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s...", got, want)
	}
}

func TestBundlesKeptBesideTheJournal(t *testing.T) {
	t.Parallel()
	j := inBlob(t, write(t, two(t), nil, "start a\nstart b"))
	if found := checker.Check([]checker.Journal{j}, nil); len(found) != 1 || found[0].Rule != checker.RulePin {
		t.Errorf("without blobs: %v", found)
	}
	j.Blob = func(string) ([]byte, error) { return marshal(t, two(t)), nil }
	if found := checker.Check([]checker.Journal{j}, nil); len(found) != 1 || found[0].Rule != checker.RuleEnabled {
		t.Errorf("with blobs: %v", found)
	}
}
