package workflow

import (
	"slices"
	"time"
)

// stepTypes are all step types, as messages list them.
func stepTypes() []string {
	return []string{
		string(ToolStep), string(AgentStep), string(WorkflowStep), string(ApprovalStep),
		string(InputStep), string(SleepStep), string(EventStep),
	}
}

// stepFields are the fields of a step of a type; nil for a type that there is not.
func stepFields(t StepType) []fieldRule {
	common := slices.Concat(
		required("id", "type"),
		optional("description", "failure", "output_schema", "timeout_ms", "on_unknown"),
	)
	switch t {
	case ToolStep:
		return slices.Concat(common, required("tool"), optional("args", "capabilities"))
	case AgentStep:
		return slices.Concat(common, required("agent", "prompt"),
			optional("model", "effort", "capabilities", "structured_output_attempts"))
	case WorkflowStep:
		return slices.Concat(common, required("workflow_id", "revision"), optional("args"))
	case ApprovalStep:
		return slices.Concat(common, required("prompt"), optional("on_timeout"))
	case InputStep:
		return slices.Concat(common, required("prompt", "output_schema"))
	case SleepStep:
		return slices.Concat(common, optional("duration_ms", "until"))
	case EventStep:
		return slices.Concat(common, required("name"))
	}
	return nil
}

// allStepFields are the fields that some step may have.
func allStepFields() []fieldRule {
	var all []fieldRule
	for _, t := range stepTypes() {
		for _, rule := range stepFields(StepType(t)) {
			seen := slices.ContainsFunc(all, func(r fieldRule) bool { return r.name == rule.name })
			if !seen {
				all = append(all, fieldRule{rule.name, rule.required && (rule.name == "id" || rule.name == "type")})
			}
		}
	}
	return all
}

// step reads one step. It is never nil; what could not be read is left out.
func (d *decoder) step(v *value) *Step {
	s := &Step{}
	if !d.is(v, objectKind) {
		d.lost.names = true
		return s
	}
	s.ID = d.id(v.get("id"), "id of a step")
	if s.ID == "" {
		d.lost.names = true
	}
	s.Type = d.stepType(v)
	allowed := stepFields(s.Type)
	if allowed == nil {
		d.fields(v, "a step", allStepFields(), nil)
		return s
	}
	d.fields(v, article(string(s.Type))+" step", allowed, fieldNames(allStepFields()))
	d.stepValues(s, func(name string) *value {
		if !slices.ContainsFunc(allowed, func(r fieldRule) bool { return r.name == name }) {
			return nil
		}
		return d.get(v, name)
	}, func(name string) *value { return v.get(name) })
	d.checkSleep(v, s)
	return s
}

// stepValues reads the fields of a step. Null in a template is a value, in other
// fields of a bundle it is none: hence two ways to get at a field.
func (d *decoder) stepValues(s *Step, get, template func(name string) *value) {
	s.Description = d.str(get("description"))
	s.Failure = FailurePolicy(d.choice(get("failure"), string(FailFast), string(ContinueWithError), string(SkipDependents)))
	s.OutputSchema = d.schema(get("output_schema"))
	s.TimeoutMS = d.millis(get("timeout_ms"), 1)
	s.OnUnknown = d.choice(get("on_unknown"), OnUnknownSuspend, OnUnknownRerun)
	s.Capabilities = d.strings(get("capabilities"))
	switch s.Type {
	case ToolStep:
		s.Tool = d.name(get("tool"))
		s.Args = d.raw(template("args"))
	case AgentStep:
		s.Agent = d.name(get("agent"))
		s.Prompt = d.raw(template("prompt"))
		s.Model = d.str(get("model"))
		s.Effort = d.str(get("effort"))
		s.StructuredOutputAttempts = d.small(get("structured_output_attempts"), 1, 8)
	case WorkflowStep:
		s.WorkflowID = d.name(get("workflow_id"))
		s.Args = d.raw(template("args"))
		if n := d.small(get("revision"), 1, maxRevision); n != nil {
			s.Revision = *n
		}
	case ApprovalStep:
		s.Prompt = d.raw(template("prompt"))
		s.OnTimeout = d.choice(get("on_timeout"), OnTimeoutReject, OnTimeoutApprove)
	case InputStep:
		s.Prompt = d.raw(template("prompt"))
	case SleepStep:
		s.DurationMS = d.raw(get("duration_ms"))
		s.Until = d.raw(get("until"))
	case EventStep:
		s.Name = d.name(get("name"))
	}
}

// stepType reads the type of a step; "" if there is none that is known.
func (d *decoder) stepType(v *value) StepType {
	t := v.get("type")
	if t == nil || !d.is(t, stringKind) {
		return ""
	}
	if !slices.Contains(stepTypes(), t.text) {
		e := d.report.at(t, UnknownType, "there is no step type %q", t.text)
		e.Expected, e.Near = oneOf(stepTypes()), near(t.text, stepTypes())
		return ""
	}
	return StepType(t.text)
}

// checkSleep checks that a sleep says for how long in one way, and what can be
// known of it already.
func (d *decoder) checkSleep(v *value, s *Step) {
	if s.Type != SleepStep {
		return
	}
	duration, until := d.get(v, "duration_ms"), d.get(v, "until")
	switch {
	case duration == nil && until == nil:
		d.report.at(v, MissingField, "a sleep step needs the field \"duration_ms\" or \"until\"")
	case duration != nil && until != nil:
		d.report.at(until, ConflictingFields, "a sleep step has either \"duration_ms\" or \"until\"")
	case duration != nil && duration.kind != objectKind:
		d.integer(duration, InvalidValue, 0, maxMillis)
	case until != nil && until.kind != objectKind && d.is(until, stringKind):
		if _, err := time.Parse(time.RFC3339, until.text); err != nil {
			d.report.at(until, InvalidValue, "%q is not a time", until.text).Expected = "RFC 3339, such as \"2030-01-31T08:00:00Z\""
		}
	}
}

// article puts a or an before a word.
func article(word string) string {
	switch word[0] {
	case 'a', 'e', 'i', 'o', 'u':
		return "an " + word
	}
	return "a " + word
}

func fieldNames(rules []fieldRule) []string {
	names := make([]string, len(rules))
	for i, rule := range rules {
		names[i] = rule.name
	}
	return names
}
