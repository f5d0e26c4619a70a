package crashpoint

import (
	"encoding/json"
	"slices"

	"github.com/culm-dev/culm/store"
)

type moment int

const (
	before moment = iota
	inside
	after
)

// place says which commit a point belongs to, and when in it.
type place struct {
	name string
	when moment
	of   func(c commit, step string) bool
	skip int64 // COMMITs that come first, of the tables
}

func places() map[Point]place {
	return map[Point]place{
		MakeDatabase:   {"make database", inside, queued, 0},
		InsideQueued:   {"inside run_queued", inside, queued, 1},
		AfterQueued:    {"after run_queued", after, queued, 0},
		BeforeStart:    {"before step_started", before, started, 0},
		InsideStart:    {"inside step_started", inside, started, 0},
		AfterStart:     {"after step_started", after, started, 0},
		InTool:         {"in the tool", before, never, 0},
		BeforeOutcome:  {"before step_completed", before, completed, 0},
		InsideOutcome:  {"inside step_completed", inside, completed, 0},
		AfterOutcome:   {"after step_completed", after, completed, 0},
		AfterEnd:       {"after run_succeeded", after, ended, 0},
		BeforeRecover:  {"before recovery", before, recovered, 0},
		InsideRecover:  {"inside recovery", inside, recovered, 0},
		AfterRecover:   {"after recovery", after, recovered, 0},
		BeforeContinue: {"before continue", before, continued, 0},
		InsideContinue: {"inside continue", inside, continued, 0},
		AfterContinue:  {"after continue", after, continued, 0},
		BeforeResolve:  {"before resolve", before, resolved, 0},
		InsideResolve:  {"inside resolve", inside, resolved, 0},
		AfterResolve:   {"after resolve", after, resolved, 0},
		BeforeRestart:  {"before restart", before, restarted, 0},
		InsideRestart:  {"inside restart", inside, restarted, 0},
		AfterRestart:   {"after restart", after, restarted, 0},
	}
}

// commit is what a batch says, stream by stream.
type commit [][]event

type event struct {
	Type   string `json:"type"`
	StepID string `json:"step_id"`
}

func read(b *store.Batch) commit {
	c := make(commit, len(b.Appends))
	for i, a := range b.Appends {
		for _, text := range a.Events {
			var e event
			if json.Unmarshal(text, &e) == nil { // what is no event is of no type
				c[i] = append(c[i], e)
			}
		}
	}
	return c
}

func (c commit) has(typ, step string) bool {
	return slices.ContainsFunc(c, func(events []event) bool { return slices.Contains(events, event{typ, step}) })
}

func queued(c commit, _ string) bool { return len(c) == 1 && c.has("run_queued", "") }

func started(c commit, step string) bool { return c.has("step_started", step) }

func completed(c commit, step string) bool { return c.has("step_completed", step) }

func ended(c commit, _ string) bool { return c.has("run_succeeded", "") }

func recovered(c commit, _ string) bool { return c.has("run_suspended", "") }

func continued(c commit, _ string) bool { return c.has("run_started", "") && !c.has("run_queued", "") }

func resolved(c commit, step string) bool { return c.has("step_resolved", step) }

func restarted(c commit, _ string) bool { return len(c) == 2 }

func never(commit, string) bool { return false }
