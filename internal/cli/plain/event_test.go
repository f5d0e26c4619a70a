package plain_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/internal/cli/plain"
	"github.com/culm-dev/culm/run"
)

func event(step string, body run.Body) run.Event {
	at := time.Date(2026, 1, 2, 15, 4, 5, 678_000_000, time.FixedZone("", 3600))
	return run.Event{Header: run.Header{RunID: "r", Sequence: 7, At: at, StepID: step}, Body: body}
}

// Lines of a run's events are read by people's scripts: they do not change.
func TestLineOfEveryEvent(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)
	failure := run.Failure{Code: run.ExecutionFailed, Message: `exit status 3: "no"`, Retryable: true, EffectDone: true}
	one := json.RawMessage(`{"a":"b c"}`)
	for want, ev := range map[string]run.Event{
		`run_queued workflow=w@2 args={"a":"b c"} restarted_from=old`: event("", &run.Queued{
			Definition: run.DefinitionRef{ID: "w", Revision: 2}, Args: one, RestartedFrom: "old"}),
		`run_queued workflow=w@2 restarted_from=old restarted_at_step=a`: event("", &run.Queued{
			Definition: run.DefinitionRef{ID: "w", Revision: 2}, RestartedFrom: "old", RestartedAtStep: "a"}),
		`run_started by=cli:ada trusted=true allow=exec,write rerun=read`: event("", &run.Started{
			By: "cli:ada", Authority: run.Authority{Trusted: true, Allow: []string{"exec", "write"}}, Rerun: []string{"read"}}),
		`run_suspended reason=recovery`:                       event("", &run.Suspended{Reason: run.KindRecovery}),
		`run_succeeded output={"a":"b c"}`:                    event("", &run.Succeeded{Output: one}),
		`run_succeeded output_bytes=5000`:                     event("", &run.Succeeded{OutputBlob: &run.Blob{Size: 5000}}),
		`run_cancelled`:                                       event("", &run.CancelledRun{}),
		`cancel_requested by=ada reason="so be"`:              event("", &run.CancelRequested{By: "ada", Reason: "so be"}),
		`deadline_extended until=2026-01-02T15:00:00Z by=ada`: event("", &run.DeadlineExtended{Until: due, By: "ada"}),
		`run_failed code=execution_failed retryable=true effect_done=true message="exit status 3: \"no\""`: event("", &run.Failed{Failure: failure}),
		`decided node=/plan scope=@root[1] count=12`:                                                       event("", &run.Decided{Node: "/plan", Scope: "@root[1]", Count: 12}),
		`decided node=/plan count=0`:                                                                       event("", &run.Decided{Node: "/plan", Value: json.RawMessage("[]")}),
		`decided node=/plan value=true`:                                                                    event("", &run.Decided{Node: "/plan", Value: json.RawMessage("true")}),
		`decided node=/plan code=timed_out message=late`: event("", &run.Decided{
			Node: "/plan", Failure: &run.Failure{Code: run.TimedOut, Message: "late"}}),
		`retry_reserved node=/plan round=2 due=2026-01-02T15:00:00Z`: event("", &run.RetryReserved{Node: "/plan", Round: 2, Due: due}),
		`node_adopted node=/plan scope=@root[1] value=true`: event("", &run.NodeAdopted{
			Node: "/plan", Scope: "@root[1]", Value: json.RawMessage("true")}),
		`node_adopted node=/plan count=3`:                event("", &run.NodeAdopted{Node: "/plan", Count: 3}),
		`node_adopted node=/plan round=2`:                event("", &run.NodeAdopted{Node: "/plan", Round: 2}),
		`step_adopted a from_run=old output={"a":"b c"}`: event("a", &run.StepAdopted{FromRun: "old", Output: one}),
		`step_adopted a from_run=old cancelled=true`:     event("a", &run.StepAdopted{FromRun: "old", Cancelled: true}),
		`step_adopted a from_run=old code=cancelled message=x`: event("a", &run.StepAdopted{
			FromRun: "old", Failure: &run.Failure{Code: run.Cancelled, Message: "x"}}),
		`step_started a@root[1] attempt=2 effect=write child_run=c`: event("a@root[1]", &run.StepStarted{
			Attempt: 2, Effect: "write", ChildRunID: "c"}),
		`wait_set a deadline=2026-01-02T15:00:00Z`:   event("a", &run.WaitSet{Deadline: due}),
		`wait_set b deadline=2026-01-02T15:00:00.3Z`: event("b", &run.WaitSet{Deadline: due.Add(300 * time.Millisecond)}),
		`step_suspended a reason=outcome_unknown in_doubt=true message=killed`: event("a", &run.StepSuspended{
			Reason: "outcome_unknown", InDoubt: true, Message: "killed"}),
		`step_resumed a`:                         event("a", &run.StepResumed{}),
		`step_completed a output={"a":"b c"}`:    event("a", &run.StepCompleted{Output: one}),
		`step_cancelled a in_doubt=true`:         event("a", &run.StepCancelled{InDoubt: true}),
		`step_skipped a reason=not_taken`:        event("a", &run.StepSkipped{Reason: run.SkipNotTaken}),
		`step_failed a code=cancelled message=x`: event("a", &run.StepFailed{Failure: run.Failure{Code: run.Cancelled, Message: "x"}}),
		`step_resolved a verdict=succeeded by=ada output={"a":"b c"}`: event("a", &run.StepResolved{
			Verdict: run.VerdictSucceeded, By: "ada", Output: one}),
	} {
		if diff := cmp.Diff("14:04:05.678 "+want, plain.EventAndValues(ev)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestOutputsAreNotInEveryLog(t *testing.T) {
	t.Parallel()
	secret := json.RawMessage(`"sesame"`)
	for _, ev := range []run.Event{
		event("", &run.Queued{Args: secret}),
		event("", &run.Succeeded{Output: secret}),
		event("", &run.Decided{Node: "/plan", Value: secret, Count: 1}),
		event("", &run.NodeAdopted{Node: "/plan", Value: secret, Count: 1}),
		event("a", &run.StepAdopted{Output: secret}),
		event("a", &run.StepCompleted{Output: secret}),
		event("a", &run.StepResolved{Verdict: run.VerdictSucceeded, Output: secret}),
	} {
		if got := plain.Event(ev); strings.Contains(got, "sesame") {
			t.Errorf("the line has the value: %s", got)
		}
	}
}

func TestOneLineWithoutControlCharacters(t *testing.T) {
	t.Parallel()
	got := plain.Event(event("a", &run.StepFailed{Failure: run.Failure{Code: "x", Message: "two\nlines\x1b[31m\u202e"}}))
	if strings.ContainsAny(got, "\n\x1b\u202e") {
		t.Errorf("line %q", got)
	}
}
