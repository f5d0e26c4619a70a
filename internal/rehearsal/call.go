package rehearsal

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

// Outcome is what became of a call.
type Outcome string

// The outcomes of calls.
const (
	Running   Outcome = "running"   // it has not returned
	Returned  Outcome = "returned"  // it did what it was asked to
	Failed    Outcome = "failed"    // definitely, with nothing done
	Unknown   Outcome = "unknown"   // it returned an error of which nothing is known
	Cancelled Outcome = "cancelled" // it was cancelled before it did anything
	Lost      Outcome = "lost"      // its process died before it did anything
)

// Call is one call of a tool.
type Call struct {
	Tool    string
	Effect  tool.Effect // of this call
	RunID   string      // of the root run
	Step    string      // the step instance
	Attempt int         // from 1
	Key     string      // the idempotency key
	Args    json.RawMessage
	Process int // which of the processes made it, from 1
	Began   time.Time
	Ended   time.Time // zero while it is running

	Outcome Outcome
	Output  json.RawMessage // if it returned
	Err     error           // if it failed or nothing is known
}

// Instance reports whether a step instance is one of a step: the instance itself,
// or any of a step whose bare id is given.
func Instance(step, instance string) bool {
	return step == instance || step == StepOf(instance)
}

// StepOf is the id that the step of an instance has in its own definition.
func StepOf(instance string) string {
	instance = instance[strings.LastIndexByte(instance, '/')+1:]
	if i := strings.IndexAny(instance, "@#"); i >= 0 {
		return instance[:i]
	}
	return instance
}

// calls remembers what was called, in order. It is guarded by the world's lock.
type calls struct {
	made       []*Call
	unscripted []string // what was called although nothing says what it does
	recorded   map[place]int
}

// place is a step instance of a run.
type place struct{ runID, step string }

// record counts, by step instance, the calls whose outcome has become durable. One
// that is made again because its process died is thus the same one again.
func (l *calls) record(events []run.Event) {
	if l.recorded == nil {
		l.recorded = make(map[place]int)
	}
	for _, ev := range events {
		switch b := ev.Body.(type) {
		case *run.StepSuspended:
			if b.Reason == string(run.OutcomeUnknown) { // as a living owner says it
				l.recorded[place{ev.RunID, ev.StepID}]++
			}
		case *run.StepCompleted, *run.StepFailed, *run.StepCancelled:
			l.recorded[place{ev.RunID, ev.StepID}]++
		}
	}
}

// last is the latest call of a step instance of a run; nil if there is none.
func (l *calls) last(runID, step string) *Call {
	for _, c := range slices.Backward(l.made) {
		if c.RunID == runID && c.Step == step {
			return c
		}
	}
	return nil
}
