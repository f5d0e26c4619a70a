package reference

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/culm-dev/culm/internal/expr"
	"github.com/culm-dev/culm/internal/schema"
	"github.com/culm-dev/culm/workflow"
)

// eval evaluates a template as seen from a scope, for a step instance if there is one.
func (x *interp) eval(template json.RawMessage, sc *scope, step string) (any, *failure) {
	v, err := decode(template)
	if err == nil {
		v, err = (&reader{x, sc, step}).value(v)
	}
	if err == nil {
		return v, nil
	}
	var missing *missing
	var bad *expr.Error
	switch {
	case errors.As(err, &missing):
		return nil, x.failure("unknown_reference", "%v", err)
	case errors.As(err, &bad):
		return nil, x.failure(bad.Code, "%s", bad.Message)
	}
	return nil, x.failure("invalid_definition", "%v", err)
}

// missing: a reference to what is not there.
type missing struct{ what string }

func (m *missing) Error() string { return m.what + " is not there" }

// reader reads what references name.
type reader struct {
	x    *interp
	sc   *scope
	step string
}

func (r *reader) value(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, part := range v {
			var err error
			if list[i], err = r.value(part); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		return r.object(v)
	}
	return v, nil
}

func (r *reader) object(v map[string]any) (any, error) {
	switch v["from"] {
	case "literal":
		return v["value"], nil
	case "args", "step", "previous", "item", "outcome", "run":
		return r.reference(v)
	}
	if len(v) == 1 {
		if parts, ok := v["text"].([]any); ok {
			return r.text(parts)
		}
		if source, ok := v["cel"].(string); ok {
			return r.cel(source)
		}
		if name, ok := v["$secret"].(string); ok {
			return nil, &expr.Error{Code: expr.CodeSecretUnavailable, Message: name}
		}
	}
	object := make(map[string]any, len(v))
	for name, part := range v {
		var err error
		if object[name], err = r.value(part); err != nil {
			return nil, err
		}
	}
	return object, nil
}

func (r *reader) text(parts []any) (any, error) {
	var b strings.Builder
	for _, part := range parts {
		v, err := r.value(part)
		if err != nil {
			return nil, err
		}
		if s, ok := v.(string); ok {
			b.WriteString(s)
		} else {
			b.WriteString(text(v))
		}
	}
	return b.String(), nil
}

// reference reads what it names, and its pointer in that. What is missing at
// either is its default, if it has one.
func (r *reader) reference(ref map[string]any) (any, error) {
	pointer, _ := ref["pointer"].(string)
	v, ok := r.base(ref)
	for token := range tokens(pointer) {
		if !ok {
			break
		}
		v, ok = child(v, token)
	}
	if ok {
		return v, nil
	}
	if value, given := ref["default"]; given {
		return value, nil
	}
	return nil, &missing{text(ref)}
}

func (r *reader) base(ref map[string]any) (any, bool) {
	name, _ := ref["step"].(string)
	switch ref["from"] {
	case "args":
		return r.sc.act.args, true
	case "step":
		return r.output(name)
	case "previous":
		return r.previous(name)
	case "item":
		item, _ := ref["name"].(string)
		return r.item(item)
	case "outcome":
		return r.sc.outcome()
	}
	v, err := r.Run()
	return v, err == nil
}

// output is a step's or node's output in the nearest enclosing scope.
func (r *reader) output(name string) (any, bool) {
	depth, known := r.sc.act.def.depths[name]
	if !known {
		return nil, false
	}
	return r.outputIn(r.sc.at(depth).instance(name), name)
}

func (r *reader) outputIn(instance, name string) (any, bool) {
	if r.sc.act.def.steps[name] == nil {
		v, ok := r.x.named[instance]
		return v, ok
	}
	l := r.x.leaves[instance]
	switch {
	case l == nil:
	case l.status == Succeeded:
		return l.output, true
	case l.status == Failed && goesOn(r.sc.act.def.steps[name]):
		return errorValue(l.failure), true
	}
	return nil, false
}

// goesOn reports whether what follows sees the step's failure as its output.
func goesOn(s *workflow.Step) bool {
	return s.Failure == workflow.ContinueWithError || s.Failure == workflow.SkipDependents
}

// previous is the same in the preceding round of the nearest repeat around it.
func (r *reader) previous(name string) (any, bool) {
	depth, known := r.sc.act.def.depths[name]
	if !known {
		return nil, false
	}
	before, ok := r.sc.at(depth).before()
	if !ok {
		return nil, false
	}
	return r.outputIn(before.instance(name), name)
}

// before is the same scope in the preceding round.
func (sc *scope) before() (*scope, bool) {
	if sc.parent == nil {
		return nil, false
	}
	twin := *sc
	if sc.node.Type == workflow.RepeatNode {
		twin.index--
		return &twin, twin.index >= 0
	}
	outer, ok := sc.parent.before()
	twin.parent = outer
	return &twin, ok
}

func (r *reader) item(name string) (any, bool) {
	for sc := r.sc; sc.parent != nil; sc = sc.parent {
		if sc.node.Type == workflow.MapNode && sc.node.Item == name {
			return sc.items[sc.index], true
		}
	}
	return nil, false
}

// tokens are an RFC 6901 pointer's.
func tokens(pointer string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if pointer == "" {
			return
		}
		for token := range strings.SplitSeq(pointer[1:], "/") {
			if !yield(strings.NewReplacer("~1", "/", "~0", "~").Replace(token)) {
				return
			}
		}
	}
}

func child(v any, token string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		c, ok := v[token]
		return c, ok
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(v) || strconv.Itoa(i) != token {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

// cel evaluates an expression with the one part that is shared with the engine:
// the CEL library as package expr wraps it. Nothing is known of types here, so it
// must not hang on whether a number is declared an integer.
func (r *reader) cel(source string) (any, error) {
	raw, err := json.Marshal(map[string]string{"cel": source})
	if err != nil {
		return nil, err
	}
	t, problems := expr.ParseTemplate(raw)
	if len(problems) == 0 {
		types := expr.CELTypes{Steps: make(map[string]*schema.Schema), Items: make(map[string]*schema.Schema)}
		for name := range r.sc.act.def.depths {
			types.Steps[name] = nil
		}
		for sc := r.sc; sc.parent != nil; sc = sc.parent {
			if sc.node.Type == workflow.MapNode {
				types.Items[sc.node.Item] = nil
			}
		}
		problems = t.CheckCEL(types)
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s: %s", source, problems[0].Message)
	}
	return t.Eval(r)
}

// Args implements expr.Env.
func (r *reader) Args() (any, error) { return r.sc.act.args, nil }

// Step implements expr.Env.
func (r *reader) Step(name string) (any, bool, error) {
	v, ok := r.output(name)
	return v, ok, nil
}

// Previous implements expr.Env.
func (r *reader) Previous(name string) (any, bool, error) {
	v, ok := r.previous(name)
	return v, ok, nil
}

// Item implements expr.Env.
func (r *reader) Item(name string) (any, bool, error) {
	v, ok := r.item(name)
	return v, ok, nil
}

// Outcome implements expr.Env.
func (r *reader) Outcome() (any, bool, error) {
	v, ok := r.sc.outcome()
	return v, ok, nil
}

// Run implements expr.Env. What differs from run to run is not interpreted.
func (r *reader) Run() (map[string]any, error) {
	if r.step == "" {
		return map[string]any{}, nil
	}
	return map[string]any{"step_id": r.step}, nil
}
