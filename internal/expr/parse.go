package expr

import (
	"encoding/json"
	"slices"

	"github.com/culm-dev/culm/internal/canon"
)

// ParseTemplate reads a template. It returns either a template or every problem
// found, never both.
//
// An object is a reference if its from is one of args, step, previous, item, run
// and literal, or if it is exactly {"text": [...]}, {"cel": "..."} or
// {"$secret": "..."}; one that names a from but has other members than that form
// allows is a problem, and so is $secret in any other company. Every other
// object is data.
func ParseTemplate(raw json.RawMessage) (*Template, []Problem) {
	value, err := canon.Decode(raw)
	if err != nil {
		return nil, []Problem{{Code: CodeInvalidJSON, Message: err.Error()}}
	}
	p := &parser{}
	t := p.parse(value, "")
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return t, nil
}

type parser struct {
	problems []Problem
}

func (p *parser) parse(value any, at string) *Template {
	t := &Template{value: value, at: at, literal: true}
	switch v := value.(type) {
	case []any:
		t.array = make([]*Template, len(v))
		for i, element := range v {
			t.array[i] = p.parse(element, canon.AppendPointer(at, i))
			t.literal = t.literal && t.array[i].literal
		}
	case map[string]any:
		if form := formOf(v); form != nil {
			t.ref, t.literal = p.reference(form, v, at), false
			return t
		}
		t.object = make(map[string]*Template, len(v))
		for _, name := range sortedNames(v) {
			t.object[name] = p.parse(v[name], canon.AppendPointer(at, name))
			t.literal = t.literal && t.object[name].literal
		}
	}
	return t
}

func (p *parser) report(code, at, message, hint string) {
	p.problems = append(p.problems, Problem{Code: code, At: at, Message: message, Hint: hint})
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
