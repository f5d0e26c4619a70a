package checker

import (
	"maps"
	"slices"
)

// Rule is the stable name of one thing that the checker proves.
type Rule string

// The rules.
const (
	// Journals.
	RuleLine      Rule = "line"              // every line can be read
	RuleBeginning Rule = "beginning"         // run_queued comes first, once; then run_started
	RuleSequence  Rule = "sequence"          // 1, 2, 3, ... of one run
	RulePrefix    Rule = "prefix"            // what was durable once stays (Extends)
	RuleTerminal  Rule = "nothing_after_end" // nothing follows a run's end
	RuleCancelEnd Rule = "cancel_ends"       // after cancel_requested only run_cancelled, which never comes without

	// The pin.
	RulePin      Rule = "pin"          // the pinned bundle is whole, and is what its hash says
	RulePinStep  Rule = "pinned_step"  // every step and node that events name is in the pinned plan
	RulePinTool  Rule = "pinned_tool"  // every tool that is called was pinned
	RuleChildRun Rule = "child_run_id" // a nested run keeps its id, and shares it with no other

	// Starts and their order.
	RuleAttempt     Rule = "attempt"             // attempts are 1, 2, 3, ...
	RuleReservation Rule = "reservation"         // each start reserves what it spends
	RuleBudget      Rule = "budget"              // reservations never exceed the budget
	RuleSlots       Rule = "slots"               // calls in flight never exceed max_concurrency
	RuleNotRunning  Rule = "run_not_running"     // nothing is worked on while the run isn't running
	RuleNoStart     Rule = "outcome_needs_start" // an outcome follows a start of the same attempt
	RuleEnabled     Rule = "enabled"             // what stands before a step ended before it starts
	RuleBoundary    Rule = "commit_boundary"     // ... in an earlier commit
	RuleReference   Rule = "reference"           // what a step refers to ended before it starts
	RuleBranch      Rule = "choice_branch"       // only the decided branch is entered
	RuleDecision    Rule = "decision"            // decided once, when its turn came, from what is durable

	// The side-effect log.
	RuleIntent      Rule = "intent_before_effect" // each effect has a durable start of its attempt, no later
	RuleEffectTwice Rule = "effect_twice"         // an attempt has one effect
	RuleEffectAgain Rule = "effect_again"         // a write happens again only after a definite failure or a verdict
	RuleEffectKey   Rule = "effect_key"           // one idempotency key per step instance and run

	// Parallels.
	RuleCancelCause  Rule = "cancel_cause"        // a step is cancelled only for its own scope's failure
	RuleAfterFailure Rule = "start_after_failure" // no start in a scope that failed
	RuleBranchName   Rule = "branch_name"         // the failure names branch[i]

	// Maps and repeats.
	RuleMapCount    Rule = "map_count"       // the recorded count is that of the items
	RuleMapFits     Rule = "map_cardinality" // items times leaves fit the steps left
	RuleMapItem     Rule = "map_item"        // only items 0..count-1 are entered, after the decision
	RuleMapWidth    Rule = "map_concurrency" // at most concurrency items at a time
	RuleItemName    Rule = "item_name"       // the failure names every item[i] that failed
	RuleRepeatRound Rule = "repeat_round"    // a round follows a false until, and max is the last

	// Retries.
	RuleRetryRound     Rule = "retry_round"         // rounds are 1, 2, 3, ..., each with its reservation
	RuleRetryMax       Rule = "retry_max"           // at most max_attempts-1 rounds
	RuleRetryFailed    Rule = "retry_failed"        // a round follows a failure of the retry's node
	RuleRetryRetryable Rule = "retry_retryable"     // ... which is retryable
	RuleRetryDue       Rule = "retry_due"           // nothing is entered again before the round is due
	RuleAgain          Rule = "entered_again"       // a step that ended is entered again only by a round
	RuleFinishedAgain  Rule = "finished_again"      // a finished step is never entered again
	RuleDoubtStarted   Rule = "doubt_entered_again" // a step in doubt only by a verdict

	// Failure policies.
	RuleSkipCause  Rule = "skip_cause"  // skipped only by a decision or by skip_dependents
	RuleSkipped    Rule = "skipped"     // what is not to be entered is recorded so
	RulePlanEnd    Rule = "plan_end"    // a run or nested run ends as its plan and policies say
	RulePlanOutput Rule = "plan_output" // ... and with its output

	// Cleanups.
	RuleCleanup Rule = "cleanup" // after each end of a node that was entered, and not before; never left out

	// Time, doubt and the end.
	RuleTimeOver   Rule = "time_over"       // time is over not before it is; then nothing starts, and the run fails
	RuleOpenEnd    Rule = "open_end"        // no run ends while a step is open or in doubt
	RuleDoubtEnd   Rule = "doubt_end"       // a doubt ends by a verdict, or by cancelling the run
	RuleUnknown    Rule = "unknown_outcome" // a write without an outcome is in doubt, not failed
	RuleTransition Rule = "transition"      // suspended, resumed and resolved in their order

	// Going on from a step of another run.
	RuleAdopted Rule = "adopted" // taken over once, at the beginning, unchanged, and nothing from that step on

	// Recovery.
	RuleRecovery Rule = "recovery" // one step_suspended per open step, then run_suspended, alone
)

// invariants gives each rule the number of the invariant that it belongs to most.
var invariants = map[Rule]int{
	RuleLine: 3, RuleBeginning: 3, RuleSequence: 3, RulePrefix: 3, RuleTerminal: 4, RuleCancelEnd: 4,
	RulePin: 10, RulePinStep: 10, RulePinTool: 10, RuleChildRun: 10,
	RuleAttempt: 1, RuleReservation: 1, RuleBudget: 13, RuleSlots: 1, RuleNotRunning: 1, RuleNoStart: 1,
	RuleEnabled: 2, RuleBoundary: 2, RuleReference: 2, RuleBranch: 2, RuleDecision: 2,
	RuleIntent: 1, RuleEffectTwice: 1, RuleEffectAgain: 13, RuleEffectKey: 1,
	RuleCancelCause: 11, RuleAfterFailure: 11, RuleBranchName: 11,
	RuleMapCount: 12, RuleMapFits: 12, RuleMapItem: 12, RuleMapWidth: 12, RuleItemName: 12, RuleRepeatRound: 12,
	RuleRetryRound: 13, RuleRetryMax: 13, RuleRetryFailed: 13, RuleRetryRetryable: 13, RuleRetryDue: 13,
	RuleAgain: 13, RuleFinishedAgain: 13, RuleDoubtStarted: 13,
	RuleSkipCause: 14, RuleSkipped: 14, RulePlanEnd: 14, RulePlanOutput: 14,
	RuleCleanup:  25,
	RuleTimeOver: 15, RuleOpenEnd: 15, RuleDoubtEnd: 15, RuleUnknown: 15, RuleTransition: 15,
	RuleRecovery: 8, RuleAdopted: 26,
}

// Rules lists every rule, sorted.
func Rules() []Rule { return slices.Sorted(maps.Keys(invariants)) }
