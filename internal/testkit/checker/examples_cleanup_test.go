package checker_test

import "github.com/culm-dev/culm/internal/testkit/checker"

func cleanupExamples() []example {
	always := planOf(`{"finally":[["a","b"],"c"]}`, "a", "b", "c")
	sad := planOf(`{"on_failure":["a","c"]}`, "a", "c")
	beside := planOf(`{"parallel":[{"finally":["a","c"]},"b"]}`, "a", "b", "c")
	again := planOf(`{"retry":{"finally":["a","c"]},"max_attempts":3}`, "a", "c")
	named := `{"code":"execution_failed","message":"branch[1]:broke","retryable":true}`
	clean := "start c cleanup=true\ndone c"
	over := `decided node="/budgets/cleanup_ms" failure={"code":"budget_exceeded","message":"over"}`
	return []example{
		{rule: checker.RuleCleanup, name: "left out", bundle: always,
			good: "start a\nfail a\n" + clean + ";failed", bad: "start a\nfail a;failed"},
		{rule: checker.RuleCleanup, name: "left out of a success", bundle: always,
			good: "start a\ndone a\nstart b\ndone b\n" + clean + ";succeeded", bad: "start a\ndone a\nstart b\ndone b;succeeded"},
		{rule: checker.RuleCleanup, name: "left out of a cancelled run", bundle: always,
			good: "start a\ncancelling by=\"me\"\ncancel a\n" + clean + ";cancelled", bad: "start a\ncancelling by=\"me\"\ncancel a;cancelled"},
		{rule: checker.RuleCleanup, name: "before the end", bundle: always,
			good: "start a\ndone a\nstart b\ndone b\nstart c cleanup=true", bad: "start a\ndone a\nstart c cleanup=true"},
		{rule: checker.RuleCleanup, name: "while a call is in flight", bundle: beside,
			good: "start a;start b\nfail b\ncancel a\nstart c cleanup=true", bad: "start a;start b\nfail b\nstart c cleanup=true"},
		{rule: checker.RuleBoundary, name: "of a cleanup", bundle: always,
			good: "start a\nfail a\nstart c cleanup=true", bad: "start a\nfail a;start c cleanup=true"},
		{rule: checker.RuleCleanup, name: "of what was never entered", bundle: beside,
			good: "start b\nfail b;failed failure=" + named, bad: "start b\nfail b\nstart c cleanup=true"},
		{rule: checker.RuleCleanup, name: "on failure after success", bundle: sad,
			good: "start a\ndone a;succeeded", bad: "start a\ndone a\nstart c cleanup=true"},
		{rule: checker.RuleCleanup, name: "does not say so", bundle: sad,
			good: "start a\nfail a\nstart c cleanup=true", bad: "start a\nfail a\nstart c"},
		{rule: checker.RuleFinishedAgain, name: "a cleanup of the same round", bundle: again,
			good: "start a\nfail a\n" + clean + "\nretry node=\"/plan\"\nstart a\ndone a\n" + clean + ";succeeded",
			bad:  "start a\nfail a\n" + clean + "\nretry node=\"/plan\"\nstart c cleanup=true"},
		{rule: checker.RuleEffectAgain, name: "a cleanup, in doubt before", bundle: again,
			good:    "start a\nfail a\nstart c cleanup=true effect=\"write\"\ndone c\nretry node=\"/plan\"\nstart a\ndone a\nstart c cleanup=true effect=\"write\"",
			bad:     "start a\nfail a\nstart c cleanup=true effect=\"write\"\nsuspend c in_doubt=true\nstart c cleanup=true effect=\"write\"",
			effects: [2]string{"c 1 k\nc 2 k", "c 1 k\nc 2 k"}},
		{rule: checker.RuleCancelCause, name: "a cleanup in a run that is cancelled", bundle: always,
			good: "start a\ncancelling by=\"me\"\ncancel a\nstart c cleanup=true\n" + over + "\ncancel c;cancelled",
			bad:  "start a\ncancelling by=\"me\"\ncancel a\nstart c cleanup=true\ncancel c"},
		{rule: checker.RuleTimeOver, name: "a cleanup after its time", bundle: always,
			good: "start a\ncancelling by=\"me\"\ndone a\n" + clean + ";cancelled",
			bad:  "start a\ncancelling by=\"me\"\ndone a\n" + over + "\nstart c cleanup=true"},
		{rule: checker.RuleTimeOver, name: "the time of cleanups in a run that goes on", bundle: always,
			good: "start a", bad: "start a\n" + over},
		{rule: checker.RulePlanEnd, name: "a cleanup that failed", bundle: sad,
			good: "start a\nfail a\n" + clean + ";failed", bad: "start a\nfail a\n" + clean + ";succeeded"},
		{rule: checker.RulePlanEnd, name: "a map that tolerates", bundle: planOf(`{"map":"a","tolerate":1}`, "a"),
			good: `decided node="/plan" value=[1] count=1;start a@root[0]` + "\nfail a@root[0] failure={\"code\":\"execution_failed\",\"message\":\"it_broke\",\"retryable\":true};succeeded output=[{\"error\":{\"code\":\"execution_failed\",\"message\":\"it_broke\",\"retryable\":true}}]",
			bad:  `decided node="/plan" value=[1] count=1;start a@root[0]` + "\nfail a@root[0];failed"},
	}
}
