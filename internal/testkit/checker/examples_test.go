package checker_test

import (
	"bytes"
	"testing"

	"github.com/culm-dev/culm/internal/testkit/checker"
)

func planOf(plan string, steps ...string) func(*testing.T) object {
	return func(t *testing.T) object { return pin(definition(t, "w", plan, steps...)) }
}

func one(t *testing.T) object { return planOf(``, "a")(t) }
func two(t *testing.T) object { return planOf(`["a","b"]`, "a", "b")(t) }

// replace changes the journal's bytes.
func replace(old, new string) func(*testing.T, checker.Journal) checker.Journal {
	return func(t *testing.T, j checker.Journal) checker.Journal {
		t.Helper()
		done := false
		for _, commit := range j.Commits {
			for i, line := range commit {
				if !done && bytes.Contains(line, []byte(old)) {
					commit[i], done = bytes.Replace(line, []byte(old), []byte(new), 1), true
				}
			}
		}
		if !done {
			t.Fatalf("no %s in the journal", old)
		}
		return j
	}
}

const oneRun = "start a\ndone a output=1;succeeded output=1"

func journalExamples() []example {
	return []example{
		{rule: checker.RuleLine, name: "torn", bundle: one, good: oneRun, bad: oneRun,
			mar: replace(`"type":"step_completed"}`, `"type":"step_comp`)},
		{rule: checker.RuleLine, name: "unknown type", bundle: one, good: oneRun, bad: oneRun,
			mar: replace(`step_completed`, `step_finished`)},
		{rule: checker.RuleLine, name: "step event without a step", bundle: one, good: oneRun, bad: "done"},
		{rule: checker.RuleBeginning, name: "no run_queued", bundle: one, good: oneRun, bad: oneRun,
			mar: func(_ *testing.T, j checker.Journal) checker.Journal {
				j.Run, j.Commits = runID, j.Commits[1:]
				return j
			}},
		{rule: checker.RuleBeginning, name: "empty", bundle: one, good: oneRun, bad: "",
			mar: func(*testing.T, checker.Journal) checker.Journal { return checker.Journal{Run: runID} }},
		{rule: checker.RuleBeginning, name: "nested run with a journal", bundle: one, good: oneRun, bad: oneRun,
			mar: replace(`"root_run_id":"`+runID, `"root_run_id":"another`)},
		{rule: checker.RuleSequence, name: "gap", bundle: one, good: oneRun, bad: oneRun,
			mar: replace(`"sequence":4`, `"sequence":5`)},
		{rule: checker.RuleSequence, name: "two writers", bundle: one, good: oneRun, bad: oneRun,
			mar: replace(`"sequence":4`, `"sequence":3`)},
		{rule: checker.RuleSequence, name: "another run's event", bundle: one, good: oneRun, bad: "start a\ndone a run_id=\"other\""},
		{rule: checker.RuleTerminal, name: "event after success", bundle: one, good: oneRun, bad: oneRun + "\ncancelling by=\"x\""},
		{rule: checker.RuleCancelEnd, name: "success after cancel", bundle: one,
			good: "start a\ncancelling by=\"x\"\ndone a;cancelled", bad: "start a\ncancelling by=\"x\"\ndone a;succeeded"},
		{rule: checker.RuleCancelEnd, name: "start after cancel", bundle: two,
			good: "start a\ncancelling by=\"x\"\ndone a;cancelled", bad: "start a\ncancelling by=\"x\"\ndone a\nstart b"},
		{rule: checker.RuleCancelEnd, name: "cancelled unasked", bundle: one, good: oneRun, bad: "start a\ndone a;cancelled"},
		{rule: checker.RulePin, name: "hash", bundle: one, good: oneRun, bad: oneRun,
			mar: replace(`"definition_bundle_hash":"`, `"definition_bundle_hash":"0`)},
		{rule: checker.RulePin, name: "changed definition", bundle: one, good: oneRun, bad: oneRun,
			mar: replace(`"tool":"t"`, `"tool":"u"`)},
		{rule: checker.RulePin, name: "another root", bundle: one, good: oneRun, bad: oneRun,
			mar: replace(`"definition":{"id":"w"`, `"definition":{"id":"v"`)},
		{rule: checker.RulePin, name: "nested definition missing", good: "start a effect= child_run_id=\"c\"", bad: "",
			bundle: func(t *testing.T) object {
				return pin(definition(t, "w", "", `{"id":"a","type":"workflow","workflow_id":"v","revision":1}`), definition(t, "v", "", "x"))
			},
			mar: replace(`"v@1"`, `"v@2"`)},
		{rule: checker.RulePinStep, name: "step of another plan", bundle: one, good: oneRun, bad: "start z"},
		{rule: checker.RulePinStep, name: "scope of another plan", bundle: one, good: oneRun, bad: "start a@root[0]"},
		{rule: checker.RulePinStep, name: "node of another plan", bundle: one, good: oneRun, bad: `decided node="/plan/nodes/3" value=true`},
		{rule: checker.RulePinTool, name: "tool not pinned", bundle: one, good: oneRun, bad: oneRun,
			mar: replace(`"tools":{"t"`, `"tools":{"u"`)},
	}
}

func startExamples() []example {
	return []example{
		{rule: checker.RuleAttempt, name: "second first", bundle: one, good: oneRun, bad: "start a attempt=2"},
		{rule: checker.RuleAttempt, name: "not cumulative", bundle: planOf(`{"retry":"a","max_attempts":3}`, "a"),
			good: "start a\nfail a\nretry node=\"/plan\";start a\ndone a;succeeded",
			bad:  "start a\nfail a\nretry node=\"/plan\";start a attempt=1\ndone a;succeeded"},
		{rule: checker.RuleReservation, name: "no step reserved", bundle: one, good: oneRun, bad: "start a reservation={}"},
		{rule: checker.RuleReservation, name: "no agent reserved", bundle: planOf(``, `{"id":"a","type":"agent"}`),
			good: `start a effect= reservation={"steps":1,"agents":1}`, bad: "start a effect="},
		{rule: checker.RuleReservation, name: "call without effect", bundle: one, good: oneRun, bad: "start a effect="},
		{rule: checker.RuleBudget, name: "steps", bundle: two, budget: object{"max_steps": 1},
			good: "start a\ndone a", bad: "start a\ndone a\nstart b"},
		{rule: checker.RuleBudget, name: "retries", bundle: planOf(`{"retry":"a","max_attempts":9}`, "a"), budget: object{"max_retries": 1},
			good: "start a\nfail a\nretry node=\"/plan\";start a\nfail a",
			bad:  "start a\nfail a\nretry node=\"/plan\";start a\nfail a\nretry node=\"/plan\" round=2;start a"},
		{rule: checker.RuleSlots, name: "too many calls", bundle: planOf(`{"parallel":["a","b"]}`, "a", "b"), budget: object{"max_concurrency": 1},
			good: "start a\ndone a\nstart b", bad: "start a;start b"},
		{rule: checker.RuleNotRunning, name: "start while suspended", bundle: two,
			good: "start a\ndone a\nsuspended\nagain by=\"x\"\nstart b", bad: "start a\ndone a\nsuspended\nstart b"},
		{rule: checker.RuleTransition, name: "started twice", bundle: one,
			good: "suspended\nagain", bad: "again"},
		{rule: checker.RuleTransition, name: "suspended twice", bundle: one,
			good: "suspended\nagain\nsuspended", bad: "suspended\nsuspended"},
		{rule: checker.RuleNoStart, name: "completed unstarted", bundle: one, good: oneRun, bad: "done a"},
		{rule: checker.RuleNoStart, name: "completed twice", bundle: two, good: "start a\ndone a", bad: "start a\ndone a\ndone a"},
		{rule: checker.RuleNoStart, name: "failed unstarted", bundle: one,
			good: `fail a failure={"code":"unknown_reference","message":"m","retryable":false};failed failure={"code":"unknown_reference","message":"m","retryable":false}`, bad: "fail a"},
		{rule: checker.RuleNoStart, name: "cancelled unstarted", bundle: planOf(`{"parallel":["a","b"]}`, "a", "b"),
			good: `start a;start b` + "\n" + `fail a;cancel b`, bad: "start a\nfail a;cancel b"},
		{rule: checker.RuleNoStart, name: "outcome of another attempt", bundle: one, good: oneRun, bad: "start a\ndone a attempt=2"},
	}
}

func orderExamples() []example {
	choice := planOf(`["a",{"choice":["b","c"]},"d"]`, "a", "b", "c", "d")
	ref := planOf(`["a",{"parallel":["b","c"]}]`, "a", "b",
		`{"id":"c","args":{"x":{"from":"step","step":"b"}}}`) // no compiler would let this pass
	return []example{
		{rule: checker.RuleEnabled, name: "before what precedes it", bundle: two, good: "start a\ndone a\nstart b", bad: "start a\nstart b"},
		{rule: checker.RuleEnabled, name: "before what precedes it was entered", bundle: two, good: "start a", bad: "start b"},
		{rule: checker.RuleEnabled, name: "after a failure", bundle: two, good: "start a\nfail a;failed", bad: "start a\nfail a\nstart b"},
		{rule: checker.RuleBoundary, name: "in the commit of its enabler", bundle: two,
			good: "start a\ndone a\nstart b", bad: "start a\ndone a;start b"},
		{rule: checker.RuleBoundary, name: "harmless to repeat", bundle: planOf(`["a","b","c"]`, "a", `{"id":"b","on_unknown":"rerun"}`, "c"),
			good: "start a\ndone a;start b\ndone b\nstart c", bad: "start a\ndone a;start b\ndone b;start c"},
		{rule: checker.RuleBoundary, name: "failure without a start", bundle: two,
			good: "start a\ndone a\n" + `fail b failure={"code":"invalid_input","message":"m"}`,
			bad:  "start a\ndone a;" + `fail b failure={"code":"invalid_input","message":"m"}`},
		{rule: checker.RuleReference, name: "reads what has not ended", bundle: ref, good: "start a\ndone a\nstart b\ndone b\nstart c", bad: "start a\ndone a\nstart b;start c"},
		{rule: checker.RuleReference, name: "an expression reads it",
			bundle: planOf(`{"parallel":["b","c"]}`, "b", `{"id":"c","args":{"x":{"cel":"'steps.z' + steps.b.y"}}}`),
			good:   "start b\ndone b\nstart c", bad: "start b;start c"},
		{rule: checker.RuleBranch, name: "the other branch", bundle: choice,
			good: "start a\ndone a\n" + `decided node="/plan/nodes/1" value=false;skip b;start c` + "\ndone c\nstart d\ndone d;succeeded",
			bad:  "start a\ndone a\n" + `decided node="/plan/nodes/1" value=false;start b`},
		{rule: checker.RuleBranch, name: "undecided", bundle: choice, good: "start a\ndone a", bad: "start a\ndone a\nstart b"},
		{rule: checker.RuleDecision, name: "twice", bundle: choice,
			good: "start a\ndone a\n" + `decided node="/plan/nodes/1" value=false;skip b;start c`,
			bad:  "start a\ndone a\n" + `decided node="/plan/nodes/1" value=true;decided node="/plan/nodes/1" value=false;start c`},
		{rule: checker.RuleDecision, name: "before its turn", bundle: choice,
			good: "start a\ndone a\n" + `decided node="/plan/nodes/1" value=false;skip b;start c`,
			bad:  "start a\n" + `decided node="/plan/nodes/1" value=false`},
		{rule: checker.RuleDecision, name: "not from what is durable", bundle: choice,
			good: "start a\ndone a\n" + `decided node="/plan/nodes/1" value=false;skip b;start c`,
			bad:  "start a\ndone a;" + `decided node="/plan/nodes/1" value=false;start c`},
		{rule: checker.RuleDecision, name: "not a boolean", bundle: choice,
			good: "start a\ndone a\n" + `decided node="/plan/nodes/1" value=false`, bad: "start a\ndone a\n" + `decided node="/plan/nodes/1" value=1`},
		{rule: checker.RuleDecision, name: "by a sequence", bundle: two, good: "", bad: `decided node="/plan" value=true`},
	}
}

func effectExamples() []example {
	retry := planOf(`{"retry":"a","max_attempts":3}`, "a")
	again := "start a effect=\"write\"\nfail a\nretry node=\"/plan\";start a effect=\"write\""
	rerun := "start a effect=\"write\"\nsuspend a reason=\"recovery_suspended\" in_doubt=true;suspended\nresolve a verdict=\"rerun\" by=\"x\"\nagain\nstart a effect=\"write\""
	return []example{
		{rule: checker.RuleIntent, name: "never started", bundle: two, good: "start a", bad: "start a", effects: [2]string{"a 1 k", "a 1 k\nb 1 l"}},
		{rule: checker.RuleIntent, name: "another attempt", bundle: one, good: "start a", bad: "start a", effects: [2]string{"a 1 k", "a 2 k"}},
		{rule: checker.RuleIntent, name: "too early", bundle: one, good: "start a", bad: "start a", effects: [2]string{"a 1 k 3", "a 1 k 2"}},
		{rule: checker.RuleEffectTwice, name: "one attempt", bundle: one, good: "start a", bad: "start a", effects: [2]string{"a 1 k", "a 1 k\na 1 k"}},
		{rule: checker.RuleEffectAgain, name: "retry", bundle: retry, good: again, bad: "start a effect=\"write\"\nfail a\nstart a effect=\"write\"",
			effects: [2]string{"a 1 k\na 2 k", "a 1 k\na 2 k"}},
		{rule: checker.RuleEffectAgain, name: "verdict", bundle: one, good: rerun,
			bad:     "start a effect=\"write\"\nsuspend a reason=\"recovery_suspended\" in_doubt=true;suspended\nagain\nstart a effect=\"write\"",
			effects: [2]string{"a 1 k\na 2 k", "a 1 k\na 2 k"}},
		{rule: checker.RuleEffectKey, name: "changed", bundle: retry, good: again, bad: again, effects: [2]string{"a 1 k\na 2 k", "a 1 k\na 2 l"}},
		{rule: checker.RuleEffectKey, name: "shared", bundle: planOf(`{"parallel":["a","b"]}`, "a", "b"), good: "start a;start b", bad: "start a;start b",
			effects: [2]string{"a 1 k\nb 1 l", "a 1 k\nb 1 k"}},
	}
}
