package culmtest

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

// Call is one call of a tool, as the outside world saw it.
type Call struct {
	Tool    string
	Effect  tool.Effect // of this call
	RunID   string      // of the root run
	Step    string      // the step instance
	Attempt int         // from 1
	Key     string      // the idempotency key
	Args    json.RawMessage
	Process int       // which of the processes made it, from 1
	Began   time.Time // in the time of the Env
	Ended   time.Time // zero while it is running
	Outcome Outcome
	Output  json.RawMessage // if it returned
	Err     error           // if it failed, or nothing is known
}

// Outcome is what became of a call.
type Outcome string

// The outcomes of calls.
const (
	Running   Outcome = "running"   // it has not returned
	Returned  Outcome = "returned"  // it did what it was asked to
	Failed    Outcome = "failed"    // definitely, with nothing done
	NotKnown  Outcome = "unknown"   // it returned an error of which nothing is known
	Cancelled Outcome = "cancelled" // it was cancelled before it did anything
	Lost      Outcome = "lost"      // its process died before it did anything
)

// Calls are the calls of tools so far, by all processes, in order; those of the
// tools named only, if any are.
func (e *Env) Calls(tools ...string) []Call {
	var found []Call
	for _, c := range e.w.Calls() {
		if len(tools) > 0 && !slices.Contains(tools, c.Tool) {
			continue
		}
		found = append(found, Call{
			Tool: c.Tool, Effect: c.Effect, RunID: c.RunID, Step: c.Step, Attempt: c.Attempt, Key: c.Key, Args: c.Args,
			Process: c.Process, Began: c.Began, Ended: c.Ended, Outcome: Outcome(c.Outcome), Output: c.Output, Err: c.Err,
		})
	}
	return found
}

// Events is a run's journal up to now, with its values.
func (e *Env) Events(runID string) []run.Event {
	e.t.Helper()
	eng := e.Engine()
	v, err := eng.Progress(e.t.Context(), runID, culm.ProgressOptions{Session: culm.AnySession})
	e.must("look at run", err)
	var events []run.Event
	for ev, err := range eng.Subscribe(e.t.Context(), runID, 0) {
		e.must("read events", err)
		events = append(events, ev)
		if ev.Sequence >= v.LastSequence {
			break
		}
	}
	return events
}
