package rehearsal

import (
	"slices"
	"strings"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// Event names an event of a journal.
type Event struct {
	Type run.Type
	// Step is a step instance, or the id of a step, which stands for all its
	// instances; "" for any.
	Step string
	// Nth is which of the events that fit is meant, from 1; 0 is the first.
	Nth int
}

func (e Event) fits(ev run.Event) bool {
	return e.Type == ev.Type && (e.Step == "" || ev.StepID != "" && Instance(e.Step, ev.StepID))
}

// Crash says where a process dies: at the commit that holds an event, or at a
// commit by its number.
type Crash struct {
	// Before: the commit never happens; else it does, and the process dies before
	// it hears of it.
	Before bool
	// Commit is the number of a commit that holds events, from 1; 0 to go by Event.
	Commit int
	Event  Event
}

// Commit is one commit of a world that held events.
type Commit struct{ Events []run.Event }

// String names what it held.
func (c Commit) String() string {
	var words []string
	for _, ev := range c.Events {
		words = append(words, strings.TrimSpace(string(ev.Type)+" "+ev.StepID))
	}
	return strings.Join(words, ", ")
}

// armed is a crash that has not happened.
type armed struct {
	Crash
	seen int // events that fit
}

// CrashAt lets the process die there, once.
func (w *World) CrashAt(c Crash) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.crashes = append(w.crashes, &armed{Crash: c})
}

// Armed reports whether a crash has not happened.
func (w *World) Armed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.crashes) > 0
}

// dies reports whether the process dies at this commit: before it, or after it.
func (w *World) dies(p *process, b *store.Batch, before bool) bool {
	events := appended(b)
	if len(events) == 0 {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.dead.Load() {
		return false
	}
	if !before {
		w.commits = append(w.commits, Commit{events})
		w.calls.record(events)
	}
	number := len(w.commits)
	if before {
		number++
	}
	i := slices.IndexFunc(w.crashes, func(a *armed) bool { return a.Before == before && a.hit(number, events) })
	if i >= 0 {
		w.crashes = slices.Delete(w.crashes, i, i+1)
	}
	return i >= 0
}

func (a *armed) hit(number int, events []run.Event) bool {
	if a.Commit > 0 {
		return a.Commit == number
	}
	for _, ev := range events {
		if !a.Event.fits(ev) {
			continue
		}
		if a.seen++; a.seen == max(1, a.Event.Nth) {
			return true
		}
	}
	return false
}
