package cases

import (
	"time"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/rehearsal"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// stepOf is the id of the step that a step instance is one of.
func stepOf(instance string) string { return rehearsal.StepOf(instance) }

func (d *decoder) cases(v workflow.Value) {
	seen := map[string]bool{}
	items := v.Items()
	if v.IsList() && len(items) == 0 {
		v.Refuse(workflow.InvalidValue, "there are no cases")
	}
	for _, item := range items {
		c := d.oneCase(item)
		if c == nil {
			continue
		}
		if seen[c.Name] && c.Name != "" {
			item.Get("name").Refuse(workflow.DuplicateID, "another case is called %q", c.Name)
		}
		seen[c.Name] = true
		d.file.Cases = append(d.file.Cases, c)
	}
}

func (d *decoder) oneCase(v workflow.Value) *Case {
	if !v.Fields("a case", []string{"name"}, []string{
		"args", "now", "trust", "allow", "real", "tools", "steps", "crash", "may_repeat", "resolve", "expect",
	}) {
		return nil
	}
	c := &Case{Name: v.Get("name").Text(), args: v.Get("args").JSON()}
	if args := v.Get("args"); args.Present() && !args.IsObject() {
		args.Fields("args", nil, nil) // which says so
	}
	c.begin = d.time(v.Get("now"))
	c.authority = d.authority(v)
	c.real = d.toolList(v.Get("real"), true)
	c.mayRepeat = d.toolList(v.Get("may_repeat"), false)
	c.tools = d.scripts(v.Get("tools"), d.checkTool)
	c.steps = d.scripts(v.Get("steps"), d.checkStep)
	c.crash = d.crash(v.Get("crash"))
	c.verdicts = d.verdicts(v.Get("resolve"))
	c.want = d.want(v.Get("expect"))
	return c
}

func (d *decoder) time(v workflow.Value) time.Time {
	if !v.Present() {
		return time.Time{}
	}
	text := v.Text()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil && text != "" {
		v.Refuse(workflow.InvalidValue, "%q is no time", text).Expected = "a time as RFC 3339 has it, such as 2030-01-31T09:00:00Z"
	}
	return at
}

// authority is what the case's run may do: everything, unless it says.
func (d *decoder) authority(v workflow.Value) *run.Authority {
	trust, allow := v.Get("trust"), v.Get("allow")
	if !trust.Present() && !allow.Present() {
		return nil
	}
	a := rehearsal.Everything(d.file.tools)
	if trust.Present() {
		a.Trusted = trust.Bool()
	}
	if allow.Present() {
		a.Allow = append([]string{}, allow.Texts()...)
	}
	return &a
}

// toolList is a list of tools; those that are to be called for real may only read.
func (d *decoder) toolList(v workflow.Value, real bool) []string {
	if !v.Present() {
		return nil
	}
	var names []string
	for _, item := range v.Items() {
		name := item.Text()
		d.checkTool(name, item.Refuse)
		names = append(names, name)
		if !real {
			continue
		}
		for _, t := range d.file.tools {
			if spec := t.Spec(); spec.Name == name && spec.Effect != tool.Read {
				item.Refuse(workflow.InvalidValue, "tool %s may %s: only tools of effect read are called for real", name, spec.Effect).
					Hint = "script it under tools"
			}
		}
		if _, foreign := d.file.effects[name]; foreign {
			item.Refuse(workflow.InvalidValue, "culm does not have the tool %s, so it cannot call it", name)
		}
	}
	return names
}

// scripts is what calls get, by tool or step: one reply, or a list of them.
func (d *decoder) scripts(v workflow.Value, check func(string, func(workflow.Code, string, ...any) *workflow.Error)) []scripted {
	if !v.Present() {
		return nil
	}
	var list []scripted
	for _, m := range v.Members() {
		check(m.Name, func(code workflow.Code, format string, args ...any) *workflow.Error {
			return v.RefuseName(m.Name, code, format, args...)
		})
		s := scripted{name: m.Name}
		if m.IsList() {
			for _, item := range m.Items() {
				s.replies = append(s.replies, d.reply(item))
			}
		} else {
			s.replies = []rehearsal.Reply{d.reply(m.Value)}
		}
		if len(s.replies) == 0 {
			m.Refuse(workflow.InvalidValue, "there are no replies")
		}
		list = append(list, s)
	}
	return list
}

func (d *decoder) reply(v workflow.Value) rehearsal.Reply {
	var r rehearsal.Reply
	if !v.Fields("a reply", nil, []string{"returns", "fails", "unknown", "takes_ms"}) {
		return r
	}
	given := 0
	for _, name := range []string{"returns", "fails", "unknown"} {
		if v.Get(name).Present() {
			given++
		}
	}
	switch {
	case given > 1:
		v.Refuse(workflow.ConflictingFields, "a reply is one of returns, fails and unknown")
	case given == 0:
		v.Refuse(workflow.MissingField, "a reply needs one of the fields returns, fails and unknown")
	}
	r.Output = v.Get("returns").JSON()
	if fails := v.Get("fails"); fails.Present() {
		r.Failure = d.failure(fails)
	}
	if unknown := v.Get("unknown"); unknown.Present() {
		r.Err = unknownError(unknown.Text())
	}
	r.Takes = time.Duration(v.Get("takes_ms").Whole(0, maxTakes.Milliseconds())) * time.Millisecond
	return r
}

// maxTakes bounds how long a scripted call takes.
const maxTakes = 100 * 365 * 24 * time.Hour

// unknownError is an error of which nothing is known.
type unknownError string

func (e unknownError) Error() string { return string(e) }

// failure is a definite failure: a message, or an object.
func (d *decoder) failure(v workflow.Value) *tool.Failure {
	f := &tool.Failure{Code: string(run.ExecutionFailed)}
	if v.IsString() {
		f.Message = v.Text()
		return f
	}
	if v.Fields("a failure", []string{"message"}, []string{"code", "retryable"}) {
		f.Message = v.Get("message").Text()
		f.Retryable = v.Get("retryable").Bool()
		if code := v.Get("code"); code.Present() {
			f.Code = code.Text()
		}
	}
	return f
}

func (d *decoder) crash(v workflow.Value) crash {
	switch {
	case !v.Present():
		return crash{}
	case v.IsString():
		return crash{everywhere: v.OneOf("place to crash at", "everywhere") != ""}
	case !v.Fields("a crash", nil, []string{"after", "before"}):
		return crash{}
	}
	after, before := v.Get("after"), v.Get("before")
	if after.Present() == before.Present() {
		v.Refuse(workflow.ConflictingFields, "a crash is either after or before an event")
		return crash{}
	}
	c := &rehearsal.Crash{Before: before.Present()}
	at := after
	if c.Before {
		at = before
	}
	if at.Fields("an event", []string{"event"}, []string{"step", "nth"}) {
		c.Event.Type = run.Type(at.Get("event").OneOf("event", eventTypes()...))
		if step := at.Get("step"); step.Present() {
			c.Event.Step = step.Text()
			d.checkStep(c.Event.Step, step.Refuse)
		}
		if nth := at.Get("nth"); nth.Present() {
			c.Event.Nth = int(nth.Whole(1, 1<<20))
		}
	}
	return crash{at: c}
}

func eventTypes() []string {
	var names []string
	for _, t := range []run.Type{
		run.TypeQueued, run.TypeStarted, run.TypeSuspended, run.TypeSucceeded, run.TypeFailed, run.TypeCancelled,
		run.TypeCancelRequested, run.TypeDeadlineExtended, run.TypeStepStarted, run.TypeStepSuspended, run.TypeStepResumed,
		run.TypeStepCompleted, run.TypeStepFailed, run.TypeStepCancelled, run.TypeStepSkipped, run.TypeStepResolved,
		run.TypeWaitSet, run.TypeDecided, run.TypeRetryReserved,
	} {
		names = append(names, string(t))
	}
	return names
}

// verdicts are what an operator says of steps in doubt.
func (d *decoder) verdicts(v workflow.Value) map[string]culm.Resolution {
	if !v.Present() {
		return nil
	}
	verdicts := map[string]culm.Resolution{}
	for _, m := range v.Members() {
		d.checkStep(m.Name, func(code workflow.Code, format string, args ...any) *workflow.Error {
			return v.RefuseName(m.Name, code, format, args...)
		})
		verdicts[m.Name] = d.verdict(m.Value)
	}
	return verdicts
}

func (d *decoder) verdict(v workflow.Value) (r culm.Resolution) {
	if v.IsString() {
		r.Verdict = run.Verdict(v.OneOf("verdict", string(run.VerdictRerun)))
		return r
	}
	if !v.Fields("a verdict", nil, []string{"returned", "failed"}) {
		return r
	}
	returned, failed := v.Get("returned"), v.Get("failed")
	switch {
	case returned.Present() == failed.Present():
		v.Refuse(workflow.ConflictingFields, "a verdict is one of returned, failed, and the word rerun")
	case returned.Present():
		r.Verdict, r.Output = run.VerdictSucceeded, returned.JSON()
	default:
		r.Verdict, r.Message = run.VerdictFailed, failed.Text()
	}
	return r
}
