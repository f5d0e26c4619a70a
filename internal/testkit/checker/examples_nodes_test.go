package checker_test

import (
	"testing"

	"github.com/culm-dev/culm/internal/testkit/checker"
)

func parallelExamples() []example {
	pair := planOf(`[{"parallel":["a",["b","c"]]},"d"]`, "a", "b", "c", "d")
	named := `{"code":"execution_failed","message":"branch[0]:broke","retryable":true}`
	deep := planOf(`{"parallel":[{"parallel":["a","b"]},"c"]}`, "a", "b", "c !continue_with_error")
	return []example{
		{rule: checker.RuleCancelCause, name: "no failure", bundle: pair,
			good: "start a;start b\nfail a\ncancel b;failed failure=" + named, bad: "start a;start b\ncancel b"},
		{rule: checker.RuleCancelCause, name: "a failure that is no failure", bundle: deep,
			good: "start a;start b;start c\nfail a\ncancel b\ncancel c", bad: "start a;start b;start c\nfail c\ncancel a"},
		{rule: checker.RuleCancelCause, name: "a repeat that is exhausted", bundle: planOf(`{"parallel":[{"repeat":"a","max":1},"b"]}`, "a", "b"),
			good: "start a@root#0;start b\ndone a@root#0\n" + `decided node="/plan/nodes/0" scope="@root#0" value=false` + "\ncancel b",
			bad:  "start a@root#0;start b\ndone a@root#0\n" + `decided node="/plan/nodes/0" scope="@root#0" value=true` + "\ncancel b"},
		{rule: checker.RuleAfterFailure, name: "sibling started", bundle: pair,
			good: "start a;start b\ndone b\nfail a;failed failure=" + named, bad: "start a;start b\ndone b\nfail a\nstart c"},
		{rule: checker.RuleBranchName, name: "unnamed", bundle: pair,
			good: "start a;start b\nfail a\ncancel b;failed failure=" + named, bad: "start a;start b\nfail a\ncancel b;failed"},
		{rule: checker.RulePlanOutput, name: "branches in order", bundle: planOf(`{"parallel":["a","b"]}`, "a", "b"),
			good: "start a;start b\ndone b output=2\ndone a output=1;succeeded output=[1,2]",
			bad:  "start a;start b\ndone b output=2\ndone a output=1;succeeded output=[2,1]"},
	}
}

func mapExamples() []example {
	each := planOf(`{"map":["a","b"]}`, "a", "b")
	wide := planOf(`{"map":["a","b"],"concurrency":1}`, "a", "b")
	loop := planOf(`[{"repeat":"a","max":2},"b"]`, "a", "b")
	items := `decided node="/plan" value=[1,2] count=2`
	named := func(message string) string {
		return `{"code":"execution_failed","message":"` + message + `","retryable":true}`
	}
	return []example{
		{rule: checker.RuleMapCount, name: "wrong", bundle: each, good: items, bad: `decided node="/plan" value=[1,2] count=3`},
		{rule: checker.RuleMapCount, name: "no array", bundle: each, good: items, bad: `decided node="/plan" value=7 count=3`},
		{rule: checker.RuleMapFits, name: "too many", bundle: each, budget: object{"max_steps": 4}, good: items, bad: `decided node="/plan" value=[1,2,3] count=3`},
		{rule: checker.RuleMapFits, name: "after what was spent", bundle: planOf(`["c",{"map":{"choice":["a",["b","d"]]}}]`, "a", "b", "c", "d"), budget: object{"max_steps": 5},
			good: "start c\ndone c\n" + `decided node="/plan/nodes/1" value=[1,2] count=2`, bad: "start c\ndone c\n" + `decided node="/plan/nodes/1" value=[1,2,3] count=3`},
		{rule: checker.RuleMapItem, name: "beyond the last", bundle: each, good: items + ";start a@root[1]", bad: items + ";start a@root[2]"},
		{rule: checker.RuleMapItem, name: "undecided", bundle: each, good: items + ";start a@root[0]", bad: "start a@root[0]"},
		{rule: checker.RuleMapWidth, name: "too wide", bundle: wide,
			good: items + ";start a@root[0]\ndone a@root[0]\nstart b@root[0]\ndone b@root[0]\nstart a@root[1]", bad: items + ";start a@root[0];start a@root[1]"},
		{rule: checker.RuleItemName, name: "one unnamed", bundle: each,
			good: items + ";start a@root[0];start a@root[1]\nfail a@root[0]\nfail a@root[1];failed failure=" + named("item[0]:x,item[1]:x"),
			bad:  items + ";start a@root[0];start a@root[1]\nfail a@root[0]\nfail a@root[1];failed failure=" + named("item[0]:x")},
		{rule: checker.RuleEnabled, name: "within an item", bundle: each,
			good: items + ";start a@root[0];start a@root[1]\ndone a@root[1]\nstart b@root[1]", bad: items + ";start a@root[0];start a@root[1]\ndone a@root[1]\nstart b@root[0]"},
		{rule: checker.RulePlanOutput, name: "items in order", bundle: planOf(`{"map":"a"}`, "a"),
			good: items + ";start a@root[0];start a@root[1]\ndone a@root[1] output=2\ndone a@root[0] output=1;succeeded output=[1,2]",
			bad:  items + ";start a@root[0];start a@root[1]\ndone a@root[1] output=2\ndone a@root[0] output=1;succeeded output=[2,1]"},
		{rule: checker.RuleRepeatRound, name: "undecided", bundle: loop,
			good: "start a@root#0\ndone a@root#0\n" + `decided node="/plan/nodes/0" scope="@root#0" value=false;start a@root#1`,
			bad:  "start a@root#0\ndone a@root#0\nstart a@root#1"},
		{rule: checker.RuleRepeatRound, name: "after the last", bundle: loop,
			good: "start a@root#0\ndone a@root#0\n" + `decided node="/plan/nodes/0" scope="@root#0" value=true;start b`,
			bad:  "start a@root#0\ndone a@root#0\n" + `decided node="/plan/nodes/0" scope="@root#0" value=true;start a@root#1`},
		{rule: checker.RuleRepeatRound, name: "too many", bundle: loop,
			good: "start a@root#0\ndone a@root#0\n" + `decided node="/plan/nodes/0" scope="@root#0" value=false;start a@root#1` + "\ndone a@root#1\n" +
				`decided node="/plan/nodes/0" scope="@root#1" value=false;failed failure={"code":"repeat_exhausted","message":"m"}`,
			bad: "start a@root#0\ndone a@root#0\n" + `decided node="/plan/nodes/0" scope="@root#0" value=false;start a@root#1` + "\ndone a@root#1\n" +
				`decided node="/plan/nodes/0" scope="@root#1" value=false;start a@root#2`},
		{rule: checker.RuleDecision, name: "until before its round", bundle: loop,
			good: "start a@root#0\ndone a@root#0\n" + `decided node="/plan/nodes/0" scope="@root#0" value=true`,
			bad:  "start a@root#0\n" + `decided node="/plan/nodes/0" scope="@root#0" value=true`},
	}
}

func retryExamples() []example {
	single := planOf(`{"retry":"a","max_attempts":2}`, "a")
	pair := planOf(`{"retry":{"parallel":["a","b"]},"max_attempts":3}`, "a", "b")
	outer := planOf(`{"retry":{"retry":"a","max_attempts":2},"max_attempts":2}`, "a")
	round := "retry node=\"/plan\";start a"
	final := `{"code":"execution_failed","message":"m","retryable":false}`
	return []example{
		{rule: checker.RuleRetryRound, name: "skipped a number", bundle: single, good: "start a\nfail a\n" + round, bad: "start a\nfail a\nretry node=\"/plan\" round=2;start a"},
		{rule: checker.RuleRetryRound, name: "without reservation", bundle: single, good: "start a\nfail a\n" + round, bad: "start a\nfail a\nretry node=\"/plan\" reservation={};start a"},
		{rule: checker.RuleRetryRound, name: "counted anew in an outer round", bundle: outer,
			good: "start a\nfail a\nretry node=\"/plan/node\";start a\nfail a\nretry node=\"/plan\";start a\nfail a\nretry node=\"/plan/node\";start a",
			bad:  "start a\nfail a\nretry node=\"/plan/node\";start a\nfail a\nretry node=\"/plan\";start a\nfail a\nretry node=\"/plan/node\" round=2;start a"},
		{rule: checker.RuleRetryMax, name: "one too many", bundle: single,
			good: "start a\nfail a\n" + round + "\nfail a;failed failure={\"code\":\"retry_exhausted\",\"message\":\"m\"}",
			bad:  "start a\nfail a\n" + round + "\nfail a\nretry node=\"/plan\" round=2;start a"},
		{rule: checker.RuleRetryFailed, name: "nothing failed", bundle: single, good: "start a", bad: "start a\nretry node=\"/plan\""},
		{rule: checker.RuleRetryFailed, name: "siblings still running", bundle: pair,
			good: "start a;start b\nfail a\ncancel b\nretry node=\"/plan\";start a;start b", bad: "start a;start b\nfail a\nretry node=\"/plan\";start a"},
		{rule: checker.RuleRetryRetryable, name: "definite", bundle: single, good: "start a\nfail a failure=" + final + ";failed failure=" + final,
			bad: "start a\nfail a failure=" + final + "\n" + round},
		{rule: checker.RuleRetryRetryable, name: "one leaf of two", bundle: planOf(`{"retry":["b","a"],"max_attempts":2}`, "a", "b !continue_with_error"),
			good: "start b\nfail b\nstart a\nfail a\nretry node=\"/plan\";start b", bad: "start b\nfail b failure=" + final + "\nstart a\nfail a\nretry node=\"/plan\";start b"},
		{rule: checker.RuleRetryDue, name: "early", bundle: single,
			good: "start a\nfail a\nretry node=\"/plan\" due=at+6;start a", bad: "start a\nfail a\nretry node=\"/plan\" due=at+60;start a"},
		{rule: checker.RuleAgain, name: "no round", bundle: single, good: "start a\nfail a\n" + round, bad: "start a\nfail a\nstart a"},
		{rule: checker.RuleAgain, name: "still running", bundle: single, good: "start a", bad: "start a\nstart a"},
		{rule: checker.RuleAgain, name: "failed again without a round", bundle: single,
			good: "start a\nfail a\nretry node=\"/plan\";fail a failure={\"code\":\"invalid_input\",\"message\":\"m\"}",
			bad:  "start a\nfail a\nfail a failure={\"code\":\"invalid_input\",\"message\":\"m\"}"},
		{rule: checker.RuleFinishedAgain, name: "finished sibling", bundle: pair,
			good: "start a;start b\ndone a\nfail b\nretry node=\"/plan\";start b", bad: "start a;start b\ndone a\nfail b\nretry node=\"/plan\";start a;start b"},
	}
}

func policyExamples() []example {
	cwe := planOf(`["a","b"]`, "a !continue_with_error", "b")
	skip := planOf(`["a","b",{"choice":["c","d"]}]`, "a !skip_dependents", "b", "c", "d")
	pick := planOf(`{"choice":["a","b"]}`, "a", "b")
	failure := `{"code":"execution_failed","message":"it_broke","retryable":true}`
	skips := `skip b reason="dependency_skipped";skip c reason="dependency_skipped";skip d reason="dependency_skipped"`
	return []example{
		{rule: checker.RuleSkipCause, name: "nothing failed", bundle: skip,
			good: "start a\nfail a failure=" + failure + ";" + skips + `;succeeded output={"error":` + failure + `}`, bad: "start a\ndone a\n" + skips},
		{rule: checker.RuleSkipCause, name: "the taken branch", bundle: pick,
			good: `decided node="/plan" value=true;skip b;start a`, bad: `decided node="/plan" value=true;skip a`},
		{rule: checker.RuleSkipCause, name: "entered", bundle: pick,
			good: `decided node="/plan" value=true;skip b;start a`, bad: `decided node="/plan" value=true;skip b;start a` + "\nskip a"},
		{rule: checker.RuleEnabled, name: "a dependent", bundle: skip, good: "start a\nfail a", bad: "start a\nfail a\nstart b"},
		{rule: checker.RuleSkipped, name: "branch not recorded", bundle: pick,
			good: `decided node="/plan" value=true;skip b;start a` + "\ndone a;succeeded", bad: `decided node="/plan" value=true;start a` + "\ndone a;succeeded"},
		{rule: checker.RuleSkipped, name: "dependent not recorded", bundle: skip,
			good: "start a\nfail a failure=" + failure + ";" + skips + `;succeeded output={"error":` + failure + `}`,
			bad:  "start a\nfail a failure=" + failure + `;skip b reason="dependency_skipped";succeeded output={"error":` + failure + `}`},
		{rule: checker.RulePlanEnd, name: "success of a failed plan", bundle: two, good: "start a\nfail a;failed", bad: "start a\nfail a;succeeded"},
		{rule: checker.RulePlanEnd, name: "failure of a plan that goes on", bundle: cwe, good: "start a\nfail a\nstart b\ndone b;succeeded", bad: "start a\nfail a;failed"},
		{rule: checker.RulePlanEnd, name: "success half way", bundle: two, good: "start a\ndone a\nstart b\ndone b;succeeded", bad: "start a\ndone a;succeeded"},
		{rule: checker.RulePlanOutput, name: "of the last node", bundle: two,
			good: "start a\ndone a output=1\nstart b\ndone b output=2;succeeded output=2", bad: "start a\ndone a output=1\nstart b\ndone b output=2;succeeded output=1"},
		{rule: checker.RulePlanOutput, name: "of a failure that continues", bundle: planOf(``, "a !continue_with_error"),
			good: "start a\nfail a failure=" + failure + `;succeeded output={"error":` + failure + `}`, bad: "start a\nfail a failure=" + failure + `;succeeded output={"error":{}}`},
		{rule: checker.RulePlanOutput, name: "of skipped dependents", bundle: skip,
			good: "start a\nfail a failure=" + failure + ";" + skips + `;succeeded output={"error":` + failure + `}`,
			bad:  "start a\nfail a failure=" + failure + ";" + skips + ";succeeded"},
	}
}

func doubtExamples() []example {
	over := `decided node="/budgets/wall_time_ms" failure={"code":"budget_exceeded","message":"m"}`
	ended := `failed failure={"code":"budget_exceeded","message":"m"}`
	brief := object{"wall_time_ms": 1000}
	lost := "start a effect=\"write\"\nsuspend a reason=\"recovery_suspended\" in_doubt=true;suspended\n"
	pair := planOf(`{"parallel":["a","b"]}`, "a", "b")
	return []example{
		{rule: checker.RuleTimeOver, name: "start", bundle: two, budget: brief, good: "start a\n" + over + "\ndone a;" + ended, bad: "start a\ndone a\n" + over + "\nstart b"},
		{rule: checker.RuleTimeOver, name: "too early", bundle: one, budget: object{"wall_time_ms": 3500}, good: "start a\n" + over, bad: over},
		{rule: checker.RuleTimeOver, name: "success", bundle: one, budget: brief, good: "start a\n" + over + "\ndone a;" + ended, bad: "start a\n" + over + "\ndone a;succeeded"},
		{rule: checker.RuleTimeOver, name: "time was granted", bundle: one, budget: brief,
			good: "suspended\nextend until=at+6 by=\"x\"\nagain\n" + over, bad: "suspended\nextend until=at+60 by=\"x\"\nagain\n" + over},
		{rule: checker.RuleOpenEnd, name: "running", bundle: pair,
			good: "start a;start b\nfail a\ncancel b;" + `failed failure={"code":"x","message":"branch[0]"}`, bad: "start a;start b\nfail a;" + `failed failure={"code":"x","message":"branch[0]"}`},
		{rule: checker.RuleOpenEnd, name: "in doubt", bundle: one, good: lost + "cancelling by=\"x\";cancel a in_doubt=true;cancelled", bad: lost + "cancelling by=\"x\";cancelled"},
		{rule: checker.RuleDoubtEnd, name: "completed", bundle: one, good: lost + "resolve a verdict=\"succeeded\" by=\"x\" output=1\nagain\nsucceeded output=1", bad: lost + "again\ndone a"},
		{rule: checker.RuleDoubtEnd, name: "cancelled with its scope", bundle: pair,
			good: "start a effect=\"write\";start b\nsuspend a in_doubt=true reason=\"outcome_unknown\"\nfail b\nsuspended reason=\"in_doubt\"",
			bad:  "start a effect=\"write\";start b\nsuspend a in_doubt=true reason=\"outcome_unknown\"\nfail b\ncancel a in_doubt=true"},
		{rule: checker.RuleDoubtEnd, name: "hidden", bundle: one, good: lost + "cancelling by=\"x\";cancel a in_doubt=true;cancelled", bad: lost + "cancelling by=\"x\";cancel a;cancelled"},
		{rule: checker.RuleDoubtEnd, name: "resumed", bundle: one, good: lost + "again", bad: lost + "again\nresume a"},
		{rule: checker.RuleDoubtStarted, name: "without a verdict", bundle: one, good: lost + "resolve a verdict=\"rerun\" by=\"x\"\nagain\nstart a", bad: lost + "again\nstart a"},
		{rule: checker.RuleUnknown, name: "write failed as unknown", bundle: one,
			good: "start a effect=\"write\"\nsuspend a in_doubt=true reason=\"outcome_unknown\"", bad: "start a effect=\"write\"\nfail a failure={\"code\":\"outcome_unknown\",\"message\":\"m\"}"},
		{rule: checker.RuleTransition, name: "verdict without doubt", bundle: one, good: lost + "resolve a verdict=\"rerun\" by=\"x\"", bad: "start a\nresolve a verdict=\"rerun\" by=\"x\""},
		{rule: checker.RuleTransition, name: "verdict nobody knows", bundle: one, good: lost + "resolve a verdict=\"rerun\" by=\"x\"", bad: lost + "resolve a verdict=\"maybe\" by=\"x\""},
		{rule: checker.RuleTransition, name: "failed without a failure", bundle: one, good: "start a\nfail a", bad: "start a\nfail a failure="},
		{rule: checker.RuleTransition, name: "suspended twice", bundle: planOf(``, `{"id":"a","type":"sleep"}`),
			good: "start a effect=\nwait a deadline=at+9\nsuspend a reason=\"recovery_suspended\";suspended\nagain\nresume a",
			bad:  "start a effect=\nsuspend a reason=\"stopped\"\nsuspend a reason=\"stopped\""},
		{rule: checker.RuleTransition, name: "resumed while running", bundle: one, good: "start a", bad: "start a\nresume a"},
		{rule: checker.RuleRecovery, name: "one step forgotten", bundle: pair,
			good: "start a;start b\nsuspend a reason=\"recovery_suspended\" in_doubt=true;suspend b reason=\"recovery_suspended\" in_doubt=true;suspended",
			bad:  "start a;start b\nsuspend a reason=\"recovery_suspended\" in_doubt=true;suspended"},
		{rule: checker.RuleRecovery, name: "in another commit", bundle: one,
			good: "start a\nsuspend a reason=\"recovery_suspended\" in_doubt=true;suspended", bad: "start a\nsuspend a reason=\"recovery_suspended\" in_doubt=true\nstart a;suspended"},
		{rule: checker.RuleRecovery, name: "doubt not told", bundle: one,
			good: "start a\nsuspend a reason=\"recovery_suspended\" in_doubt=true;suspended", bad: "start a\nsuspend a reason=\"recovery_suspended\";suspended"},
		{rule: checker.RuleRecovery, name: "dispatches", bundle: two, good: "start a\ndone a\nsuspended", bad: "start a\ndone a\nstart b;suspended"},
		{rule: checker.RuleRecovery, name: "records outcomes", bundle: pair,
			good: "start a;start b\ndone a;suspend b in_doubt=true;suspended panic=\"broke\"", bad: "start a;start b\ndone a;suspend b in_doubt=true;suspended"},
		{rule: checker.RuleRecovery, name: "goes on after it", bundle: one, good: "start a\nsuspend a in_doubt=true;suspended\nagain", bad: "start a\nsuspend a in_doubt=true;suspended;again"},
	}
}

func nestedExamples() []example {
	nested := func(t *testing.T) object {
		return pin(
			definition(t, "w", `["a",{"parallel":["n","c"]}]`, "a", "c",
				`{"id":"n","type":"workflow","workflow_id":"v","revision":1}`),
			definition(t, "v", `["x",{"map":"y"}]`, "x", "y"))
	}
	begin := "start a\ndone a\nstart n effect= child_run_id=\"k\";start c\nstart n/x\ndone n/x\n"
	items := `decided scope="n/" node="/plan/nodes/1" value=[1] count=1;start n/y@root[0]`
	retry := func(t *testing.T) object {
		return pin(definition(t, "w", `{"retry":"n","max_attempts":2}`, `{"id":"n","type":"workflow","workflow_id":"v","revision":1}`),
			definition(t, "v", `["x","y"]`, "x", "y"))
	}
	passed := func(policy string) func(*testing.T) object {
		return func(t *testing.T) object {
			return pin(definition(t, "w", `{"retry":["n","c"],"max_attempts":2}`, "c", `{"id":"n","type":"workflow","workflow_id":"v","revision":1}`),
				definition(t, "v", "", "x"+policy))
		}
	}
	final := ` failure={"code":"execution_failed","message":"m","retryable":false}`
	short := "start n effect= child_run_id=\"k\";start c;" + `decided scope="n/" node="/plan" value=[1,2] count=2;start n/y@root[0]` + "\nfail n/y@root[0]"
	item := `{"code":"execution_failed","message":"item[0]:broke"}`
	failed := "start n effect= child_run_id=\"k\"\nstart n/x\ndone n/x\nstart n/y\nfail n/y\nfail n\nretry node=\"/plan\";start n effect= child_run_id="
	return []example{
		{rule: checker.RuleChildRun, name: "none", bundle: nested, good: begin, bad: "start a\ndone a\nstart n effect="},
		{rule: checker.RuleChildRun, name: "another in the next round", bundle: retry, good: failed + `"k"`, bad: failed + `"l"`},
		{rule: checker.RuleEnabled, name: "inner order", bundle: nested, good: begin + items, bad: "start a\ndone a\nstart n effect= child_run_id=\"k\";start n/y@root[0]"},
		{rule: checker.RuleEnabled, name: "its workflow step is not open", bundle: nested, good: begin, bad: "start a\ndone a\nstart n/x"},
		{rule: checker.RuleBoundary, name: "inner", bundle: nested, good: begin + items,
			bad: "start a\ndone a\nstart n effect= child_run_id=\"k\"\nstart n/x\ndone n/x;" + items},
		{rule: checker.RuleCancelCause, name: "an inner failure", bundle: nested,
			good: begin + items + "\nfail c\ncancel n/y@root[0];cancel n", bad: begin + items + "\nfail n/y@root[0]\ncancel c"},
		{rule: checker.RuleOpenEnd, name: "inner step open", bundle: nested,
			good: begin + items + "\ndone n/y@root[0] output=1\ndone n output=[1]", bad: begin + items + "\ndone n output=[1]"},
		{rule: checker.RulePlanOutput, name: "of the inner plan", bundle: nested,
			good: begin + items + "\ndone n/y@root[0] output=1\ndone n output=[1]", bad: begin + items + "\ndone n/y@root[0] output=1\ndone n output=[2]"},
		{rule: checker.RuleRetryRetryable, name: "inner step", bundle: passed(" !continue_with_error"),
			good: "start n effect= child_run_id=\"k\"\nstart n/x\nfail n/x" + final + `;done n output={"error":{"code":"execution_failed","message":"m","retryable":false}}` + "\nstart c\nfail c\nretry node=\"/plan\";start c",
			bad:  "start n effect= child_run_id=\"k\"\nstart n/x\nfail n/x" + final + "\nfail n" + final + "\nretry node=\"/plan\";start n effect= child_run_id=\"k\""},
		{rule: checker.RuleSkipped, name: "inner step", bundle: func(t *testing.T) object {
			return pin(definition(t, "w", "", `{"id":"n","type":"workflow","workflow_id":"v","revision":1}`), definition(t, "v", "", "x !skip_dependents", "y"))
		},
			good: "start n effect= child_run_id=\"k\"\nstart n/x\nfail n/x" + final + `;skip n/y reason="dependency_skipped";done n output={"error":{"code":"execution_failed","message":"m","retryable":false}}`,
			bad:  "start n effect= child_run_id=\"k\"\nstart n/x\nfail n/x;done n output=;skip n/y reason=\"dependency_skipped\""},
		{rule: checker.RulePlanEnd, name: "a map that was cut short", bundle: func(t *testing.T) object {
			return pin(definition(t, "w", `{"parallel":["n","c"]}`, "c", `{"id":"n","type":"workflow","workflow_id":"v","revision":1}`),
				definition(t, "v", `{"map":"y","concurrency":1}`, "y"))
		},
			good: short + "\nfail c\nfail n failure=" + item + `;failed failure={"code":"execution_failed","message":"branch[0]:item[0]:broke"}`,
			bad:  short + "\nfail n failure=" + item},
		{rule: checker.RuleFinishedAgain, name: "inner step", bundle: retry, good: failed + `"k"` + "\nstart n/y", bad: failed + `"k"` + "\nstart n/x"},
	}
}
