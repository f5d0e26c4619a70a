package checker_test

import (
	"strings"
	"testing"

	"github.com/culm-dev/culm/internal/testkit/checker"
)

func takeoverExamples() []example {
	three := planOf(`["a","b","c"]`, "a", "b", "c")
	beside := planOf(`{"parallel":[["a","b"],["c","d"]]}`, "a", "b", "c", "d")
	choice := planOf(`["a",{"choice":["b","c"]},"d"]`, "a", "b", "c", "d")
	const fromB = "from b: adopt a output=1\nstart b\ndone b\nstart c\ndone c;succeeded"
	return []example{
		{rule: checker.RuleAdopted, name: "after the start", bundle: three, good: fromB, bad: "from c: adopt a\nadopt b\nstart c"},
		{rule: checker.RuleAdopted, name: "in a run of its own", bundle: three, good: fromB, bad: "from c: adopt a\nadopt b",
			mar: replace(`"restarted_from":"old",`, ``)},
		{rule: checker.RuleAdopted, name: "twice", bundle: three, good: fromB, bad: "from b: adopt a;adopt a\nstart b"},
		{rule: checker.RuleAdopted, name: "the step itself", bundle: three, good: fromB, bad: "from b: adopt a;adopt b\nstart c"},
		{rule: checker.RuleAdopted, name: "from no run", bundle: three, good: fromB, bad: "from b: adopt a from_run=\nstart b"},
		{rule: checker.RuleAdopted, name: "a round of a sequence", bundle: three, good: fromB, bad: "from b: adopt a;node node=\"/plan\" round=1\nstart b"},
		{rule: checker.RuleEnabled, name: "taken over behind the step", bundle: three, good: fromB, bad: "from b: adopt a;adopt c\nstart b"},
		{rule: checker.RuleEnabled, name: "beside it, with a gap", bundle: beside,
			good: "from b: adopt a;adopt c\nstart b;start d", bad: "from b: adopt a;adopt d\nstart b;start c"},
		{rule: checker.RuleFinishedAgain, name: "taken over, and entered", bundle: three, good: fromB, bad: "from b: adopt a\nstart a"},
		{rule: checker.RuleBranch, name: "in the branch that was not taken", bundle: choice,
			good: "from d: adopt a;node node=\"/plan/nodes/1\" value=false;adopt c\nskip b;start d",
			bad:  "from d: adopt a;node node=\"/plan/nodes/1\" value=false;adopt b\nskip c;start d"},
	}
}

// TestOriginsAreCompared: what a run took over is what the other one recorded.
func TestOriginsAreCompared(t *testing.T) {
	t.Parallel()
	bundle := two(t)
	old := write(t, bundle, nil, "start a\ndone a output=1\nstart b\nfail b;failed")
	again := write(t, bundle, nil, "from b: adopt a output=1\nstart b\ndone b;succeeded")
	rename := func(j checker.Journal, name string) checker.Journal {
		j.Run = name
		for _, commit := range j.Commits {
			for i := range commit {
				commit[i] = []byte(strings.ReplaceAll(string(commit[i]), runID, name))
			}
		}
		return j
	}
	old = rename(old, "old")
	if found := checker.Check([]checker.Journal{old, again}, nil); len(found) > 0 {
		t.Errorf("the same output: %v", found)
	}
	changed := write(t, bundle, nil, "from b: adopt a output=2\nstart b\ndone b;succeeded")
	if found := checker.Check([]checker.Journal{old, changed}, nil); len(found) != 1 || found[0].Rule != checker.RuleAdopted {
		t.Errorf("another output: %v", found)
	}
	never := write(t, bundle, nil, "from b: adopt a output=1;adopt b\nsucceeded")
	if found := checker.Check([]checker.Journal{old, never}, nil); len(found) == 0 {
		t.Error("a step that failed, as one that succeeded: nothing found")
	}
}
