// Package plain writes a run's events as lines of text, for logs and grep: no
// colours, nothing that is drawn again.
package plain

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/run"
)

// ClockFormat is how plain lines tell the time, in UTC.
const ClockFormat = "15:04:05.000"

// Event is an event on one line for people and grep: the time, the type, the
// step if it has one, then name=value pairs. Outputs, arguments and the like are
// left out.
func Event(ev run.Event) string { return line(ev, false) }

// EventAndValues is Event with the beginnings of the JSON values that it carries.
func EventAndValues(ev run.Event) string { return line(ev, true) }

func line(ev run.Event, values bool) string {
	var b strings.Builder
	b.WriteString(ev.At.UTC().Format(ClockFormat) + " " + string(ev.Body.EventType()))
	if ev.StepID != "" {
		b.WriteString(" " + ev.StepID)
	}
	for _, p := range eventPairs(ev.Body) {
		if values || !p.json {
			b.WriteString(" " + p.name + "=" + p.quoted())
		}
	}
	return term.Clean(b.String())
}

// pair is one thing that an event says. A JSON value stands as it is.
type pair struct {
	name, value string
	json        bool
}

// quoted keeps a value with spaces in one field.
func (p pair) quoted() string {
	if !p.json && strings.ContainsAny(p.value, " \t\n\r\"=") {
		quoted, _ := json.Marshal(p.value)
		return string(quoted)
	}
	return p.value
}

// pairs is a list of what is worth showing; empty values are left out.
type pairs []pair

func (p *pairs) add(name, value string) {
	if value != "" {
		*p = append(*p, pair{name: name, value: value})
	}
}

func (p *pairs) flag(name string, on bool) {
	if on {
		p.add(name, "true")
	}
}

func (p *pairs) failure(f *run.Failure) {
	if f == nil {
		return
	}
	p.add("code", string(f.Code))
	p.flag("retryable", f.Retryable)
	p.flag("effect_done", f.EffectDone)
	p.add("message", f.Message)
}

func (p *pairs) value(name string, raw json.RawMessage, blob *run.Blob) {
	switch {
	case raw != nil:
		*p = append(*p, pair{name, Shorten(string(raw), 80), true})
	case blob != nil:
		p.add(name+"_bytes", fmt.Sprint(blob.Size))
	}
}

// Shorten cuts text to at most the given number of characters.
func Shorten(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}

// at has the milliseconds, if there are any, as the times of events do: a pause may be
// shorter than a second.
func at(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999Z07:00") }

func eventPairs(body run.Body) pairs {
	var p pairs
	switch b := body.(type) {
	case *run.Queued:
		p.add("workflow", fmt.Sprintf("%s@%d", b.Definition.ID, b.Definition.Revision))
		p.value("args", b.Args, b.ArgsBlob)
		p.add("restarted_from", b.RestartedFrom)
		p.add("restarted_at_step", b.RestartedAtStep)
	case *run.Started:
		p.add("by", b.By)
		p.flag("trusted", b.Authority.Trusted)
		p.add("allow", strings.Join(b.Authority.Allow, ","))
		p.add("rerun", strings.Join(b.Rerun, ","))
		p.add("takeover", b.Takeover)
	case *run.Suspended:
		p.add("reason", string(b.Reason))
		p.add("imported", b.Imported)
	case *run.Succeeded:
		p.value("output", b.Output, b.OutputBlob)
	case *run.Failed:
		p.failure(&b.Failure)
	case *run.CancelRequested:
		p.add("by", b.By)
		p.add("reason", b.Reason)
	case *run.DeadlineExtended:
		p.add("until", at(b.Until))
		p.add("by", b.By)
	case *run.Decided:
		p.add("node", b.Node)
		p.add("scope", b.Scope)
		p.decision(b.Value, b.Count, b.Failure)
	case *run.NodeAdopted:
		p.add("node", b.Node)
		p.add("scope", b.Scope)
		if b.Round > 0 {
			p.add("round", fmt.Sprint(b.Round))
			break
		}
		p.decision(b.Value, b.Count, b.Failure)
	case *run.RetryReserved:
		p.add("node", b.Node)
		p.add("scope", b.Scope)
		p.add("round", fmt.Sprint(b.Round))
		p.add("due", at(b.Due))
	default:
		p = stepPairs(body)
	}
	return p
}

// decision shows a boolean also where values are left out.
func (p *pairs) decision(value run.Raw, count int, f *run.Failure) {
	switch truth := string(value); {
	case truth == "true" || truth == "false":
		p.add("value", truth)
	case f == nil:
		p.add("count", fmt.Sprint(count))
	}
	p.failure(f)
}

func stepPairs(body run.Body) pairs {
	var p pairs
	switch b := body.(type) {
	case *run.StepStarted:
		p.add("attempt", fmt.Sprint(b.Attempt))
		p.add("effect", b.Effect)
		p.flag("cleanup", b.Cleanup)
		p.add("child_run", b.ChildRunID)
	case *run.WaitSet:
		p.add("deadline", at(b.Deadline))
	case *run.StepSuspended:
		p.add("reason", b.Reason)
		p.flag("in_doubt", b.InDoubt)
		p.add("message", b.Message)
	case *run.StepCompleted:
		p.value("output", b.Output, b.OutputBlob)
	case *run.StepFailed:
		p.failure(&b.Failure)
	case *run.StepAdopted:
		p.add("from_run", b.FromRun)
		p.value("output", b.Output, b.OutputBlob)
		p.failure(b.Failure)
		p.flag("cancelled", b.Cancelled)
	case *run.StepCancelled:
		p.flag("in_doubt", b.InDoubt)
	case *run.StepSkipped:
		p.add("reason", b.Reason)
	case *run.StepResolved:
		p.add("verdict", string(b.Verdict))
		p.add("by", b.By)
		p.value("output", b.Output, b.OutputBlob)
		p.failure(b.Failure)
	}
	return p
}
