package run_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/culm-dev/culm/run"
)

func epoch() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) }

// at is a time so many seconds after the runs of these tests were created.
func at(seconds int) time.Time { return epoch().Add(time.Duration(seconds) * time.Second) }

// fact is an event of a journal that is still to be numbered and dated.
type fact struct {
	step string
	body run.Body
	at   int // seconds after the event before
}

// Facts that journals of these tests are made of. The run has a minute of wall time.

func queued() fact {
	return fact{body: &run.Queued{
		RootRunID: "r", SessionID: "local", Definition: run.DefinitionRef{ID: "d", Revision: 1},
		Bundle: json.RawMessage(`{}`), BundleHash: "b", Args: json.RawMessage(`{"n":1}`),
		Budget: run.Budget{WallTimeMS: 60_000, MaxConcurrency: 4}, Semantics: run.Semantics, CreatedAt: epoch(),
	}}
}

// continuing is a run that goes on from step a of another one.
func continuing() fact {
	f := queued()
	q := *f.body.(*run.Queued)
	q.RestartedFrom, q.RestartedAtStep = "old", "a"
	return fact{body: &q}
}

func adopted(step string) fact {
	return fact{step: step, body: &run.StepAdopted{FromRun: "old", InputHash: "h", Output: json.RawMessage(`"out"`)}}
}

func nodeAdopted(node, value string) fact {
	return fact{body: &run.NodeAdopted{Node: node, Value: json.RawMessage(value)}}
}

func started(rerun ...string) fact { return fact{body: &run.Started{By: "me", Rerun: rerun}} }

func suspended() fact { return fact{body: &run.Suspended{Reason: run.KindRecovery}} }

func cancelRequested() fact { return fact{body: &run.CancelRequested{By: "me"}} }

func timeOver() fact {
	return fact{body: &run.Decided{Node: run.WallTimeNode, Failure: &run.Failure{Code: run.BudgetExceeded}}}
}

// enter starts a call; wait, which may be a sleep, starts a step that calls nothing.
func enter(step string, attempt int) fact {
	return fact{step: step, body: &run.StepStarted{Attempt: attempt, InputHash: "h", Effect: "write", Reservation: run.Amounts{"steps": 1}}}
}

func wait(step string, attempt int) fact {
	return fact{step: step, body: &run.StepStarted{Attempt: attempt, InputHash: "h", Reservation: run.Amounts{"steps": 1}}}
}

func until(step string, seconds int) fact {
	return fact{step: step, body: &run.WaitSet{Deadline: at(seconds)}}
}

func completed(step string) fact {
	return fact{step: step, body: &run.StepCompleted{Output: json.RawMessage(`"out"`)}}
}

func failed(step string) fact {
	return fact{step: step, body: &run.StepFailed{Failure: run.Failure{Code: run.ExecutionFailed, Retryable: true}}}
}

func doubted(step string) fact {
	return fact{step: step, body: &run.StepSuspended{Reason: string(run.OutcomeUnknown), InDoubt: true}}
}

func paused(step string) fact {
	return fact{step: step, body: &run.StepSuspended{Reason: string(run.RecoverySuspended)}}
}

func resumed(step string) fact { return fact{step: step, body: &run.StepResumed{}} }

func cancelled(step string) fact { return fact{step: step, body: &run.StepCancelled{}} }

func cancelledInDoubt(step string) fact {
	return fact{step: step, body: &run.StepCancelled{InDoubt: true}}
}

func skipped(step string) fact {
	return fact{step: step, body: &run.StepSkipped{Reason: run.SkipNotTaken}}
}

func resolved(step string, v run.Verdict) fact {
	b := &run.StepResolved{Verdict: v, By: "me"}
	switch v {
	case run.VerdictSucceeded:
		b.Output = json.RawMessage(`"out"`)
	case run.VerdictFailed:
		b.Failure = &run.Failure{Code: run.ExecutionFailed}
	}
	return fact{step: step, body: b}
}

func decided(node string, value string) fact {
	return fact{body: &run.Decided{Node: node, Value: json.RawMessage(value)}}
}

func retry(node string, round int) fact {
	return fact{body: &run.RetryReserved{Node: node, Round: round, Due: epoch(), Reservation: run.Amounts{"retries": 1}}}
}

func succeeded() fact { return fact{body: &run.Succeeded{Output: json.RawMessage(`"out"`)}} }

func failedRun() fact {
	return fact{body: &run.Failed{Failure: run.Failure{Code: run.ExecutionFailed}}}
}

func cancelledRun() fact { return fact{body: &run.CancelledRun{}} }

// after makes the event come so many seconds after the one before.
func (f fact) after(seconds int) fact {
	f.at = seconds
	return f
}

// journal numbers and dates facts.
func journal(facts ...fact) []run.Event {
	events := make([]run.Event, len(facts))
	now := epoch()
	for i, f := range facts {
		now = now.Add(time.Duration(f.at) * time.Second)
		events[i] = run.Event{
			Header: run.Header{RunID: "r", Sequence: uint64(i + 1), At: now, StepID: f.step, Type: f.body.EventType()},
			Body:   f.body,
		}
	}
	return events
}

func fold(t *testing.T, facts ...fact) *run.State {
	t.Helper()
	s, err := run.Fold(journal(facts...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// same compares states as their JSON has them.
func same() cmp.Options {
	return cmp.Options{cmpopts.IgnoreUnexported(run.State{}), cmpopts.EquateEmpty()}
}
