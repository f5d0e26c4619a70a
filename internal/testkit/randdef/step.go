package randdef

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/culm-dev/culm/workflow"
)

// step draws a step node.
func (g *generator) step(p place) drawn {
	g.fuel -= p.weight
	switch kind := g.pick("step", 8); {
	case kind >= 6 && len(g.others) > 0 && g.fuel >= 6*p.weight && !p.calm:
		return g.workflow(p)
	case kind == 4 && !g.cfg.NoSleep:
		return g.sleep()
	}
	fail := 0
	if g.chance("fails", 4) {
		fail = 1 + g.pick("times", 2)
	}
	return g.tool(p, fail, g.chance("retryable", 2), false)
}

// tool draws a tool step that fails as often as told. Where nothing may fail, its
// policy makes that harmless, unless the retry around it does.
func (g *generator) tool(p place, fail int, retryable, retried bool) drawn {
	s := &workflow.Step{ID: g.name("s"), Type: workflow.ToolStep, Tool: ToolName, OutputSchema: json.RawMessage(outputSchema)}
	s.Failure = g.policy()
	strict := s.Failure == "" || s.Failure == workflow.FailFast
	if p.calm && strict && fail > 0 && !retried {
		s.Failure, strict = workflow.ContinueWithError, false
	}
	if g.chance("rerun", 3) {
		s.OnUnknown = workflow.OnUnknownRerun
	}
	s.Args = encode(map[string]any{
		"tag": s.ID, "v": g.value(p, s.ID), "fail": fail, "retryable": retryable,
	})
	g.def.Steps = append(g.def.Steps, s)
	kind := worked
	if !strict {
		kind = anything
	}
	return drawn{
		node:  &workflow.Node{Type: workflow.StepNode, Step: s.ID},
		seen:  []source{{s.ID, kind}},
		skips: s.Failure == workflow.SkipDependents,
	}
}

func (g *generator) policy() workflow.FailurePolicy {
	policies := []workflow.FailurePolicy{"", workflow.ContinueWithError, workflow.SkipDependents, workflow.FailFast}
	return policies[g.pick("policy", len(policies))]
}

func (g *generator) workflow(p place) drawn {
	other := g.others[g.pick("workflow", len(g.others))]
	g.fuel -= 6 * p.weight
	s := &workflow.Step{
		ID: g.name("s"), Type: workflow.WorkflowStep, WorkflowID: other.ID, Revision: other.Revision, Failure: g.policy(),
		Args: encode(map[string]any{"flag": g.boolean(p), "list": g.list(p), "v": g.value(p, "")}),
	}
	g.def.Steps = append(g.def.Steps, s)
	return drawn{
		node:  &workflow.Node{Type: workflow.StepNode, Step: s.ID},
		seen:  []source{{s.ID, anything}},
		skips: s.Failure == workflow.SkipDependents,
	}
}

func (g *generator) sleep() drawn {
	s := &workflow.Step{ID: g.name("s"), Type: workflow.SleepStep, DurationMS: encode(g.pick("duration", 3))}
	g.def.Steps = append(g.def.Steps, s)
	return drawn{node: &workflow.Node{Type: workflow.StepNode, Step: s.ID}, seen: []source{{s.ID, anything}}}
}

// value draws a template of any value. self is the step that it is for.
func (g *generator) value(p place, self string) json.RawMessage {
	if p.cleanup && g.chance("of what is cleaned up", 2) {
		return g.outcome(p)
	}
	switch g.pick("value", 8) {
	case 1:
		return encode(map[string]any{"from": "args", "pointer": "/v"})
	case 2:
		if s, ok := g.source(p, anything, worked, listed); ok {
			return encode(map[string]any{"from": "step", "step": s.name})
		}
	case 3:
		if len(p.items) > 0 {
			return encode(map[string]any{"from": "item", "name": p.items[g.pick("item", len(p.items))]})
		}
	case 4:
		if p.inside {
			return g.previous(p, self)
		}
	case 5:
		return g.text(p)
	case 6:
		return g.number(p)
	case 7:
		return g.object(p, "a")
	}
	return encode(g.pick("number", 10))
}

// outcome draws a reference to what a cleanup is for.
func (g *generator) outcome(p place) json.RawMessage {
	if len(p.maybe) > 0 && g.chance("a step", 2) {
		s := p.maybe[g.pick("maybe", len(p.maybe))]
		return encode(map[string]any{"from": "step", "step": s.name, "default": "none"})
	}
	if g.chance("an expression", 3) {
		return encode(map[string]any{"cel": "outcome.status == 'failed' ? outcome.failure.code : outcome.status"})
	}
	return encode(map[string]any{"from": "outcome"})
}

// previous draws a reference to the preceding round: to the step itself, or to one
// before it in the body.
func (g *generator) previous(p place, self string) json.RawMessage {
	names := slices.Clone(p.rounds)
	if self != "" {
		names = append([]string{self}, names...)
	}
	if len(names) == 0 {
		return encode(nil)
	}
	return encode(map[string]any{"from": "previous", "step": names[g.pick("previous", len(names))], "default": "first"})
}

func (g *generator) text(p place) json.RawMessage {
	parts := []any{"<", map[string]any{"from": "args", "pointer": "/list"}, ">"}
	if s, ok := g.source(p, worked); ok {
		parts = append(parts, map[string]any{"from": "step", "step": s.name, "pointer": "/tag"})
	}
	return encode(map[string]any{"text": parts})
}

// number draws an expression; or a reference to what is not there, which fails
// where that is allowed.
func (g *generator) number(p place) json.RawMessage {
	if s, ok := g.source(p, worked); ok {
		return encode(map[string]any{"cel": fmt.Sprintf("steps.%s.n * 2 + 1", s.name)})
	}
	missing := map[string]any{"from": "args", "pointer": "/none"}
	if p.calm || g.chance("default", 2) {
		missing["default"] = []any{nil}
	}
	return encode(missing)
}

func (g *generator) object(p place, name string) json.RawMessage {
	v := map[string]any{name: []any{g.pick("element", 3)}, "from": "nobody@example.org"}
	if s, ok := g.source(p, anything, worked, listed); ok {
		v["ref"] = map[string]any{"from": "step", "step": s.name}
	}
	return encode(v)
}

// boolean draws a reference to a boolean.
func (g *generator) boolean(p place) json.RawMessage {
	if p.cleanup && g.chance("on the outcome", 3) {
		return encode(map[string]any{"cel": "outcome.status == 'succeeded'"})
	}
	switch g.pick("boolean", 5) {
	case 1:
		return literal(false)
	case 2:
		return encode(map[string]any{"from": "args", "pointer": "/flag"})
	case 3:
		if s, ok := g.source(p, worked); ok {
			return encode(map[string]any{"from": "step", "step": s.name, "pointer": "/yes"})
		}
	case 4:
		if s, ok := g.source(p, worked); ok {
			return encode(map[string]any{"cel": fmt.Sprintf("steps.%s.n > 4 || args.flag", s.name)})
		}
	}
	return literal(true)
}

// list draws a reference to an array.
func (g *generator) list(p place) json.RawMessage {
	switch g.pick("array", 4) {
	case 1:
		return encode(map[string]any{"from": "args", "pointer": "/list"})
	case 2:
		if s, ok := g.source(p, worked); ok {
			return encode(map[string]any{"from": "step", "step": s.name, "pointer": "/list"})
		}
	case 3:
		if s, ok := g.source(p, listed); ok {
			return encode(map[string]any{"from": "step", "step": s.name})
		}
	}
	return literal(drawList(g.t, "items"))
}

// source draws something of one of the kinds that can be referred to.
func (g *generator) source(p place, kinds ...sourceKind) (source, bool) {
	var fit []source
	for _, s := range p.seen {
		if slices.Contains(kinds, s.kind) {
			fit = append(fit, s)
		}
	}
	if len(fit) == 0 {
		return source{}, false
	}
	return fit[len(fit)-1-g.pick("source", len(fit))], true // the latest is simplest
}

func literal(v any) json.RawMessage {
	return encode(map[string]any{"from": "literal", "value": v})
}

// encode makes a template of what the generator put together.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null") // nothing here fails to marshal
	}
	return raw
}
