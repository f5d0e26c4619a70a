package schema

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/culm-dev/culm/internal/canon"
)

// Invalid is a value that breaks its schema.
type Invalid struct {
	Problems []Problem // at least one, ordered by place
}

func (e *Invalid) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Message
		if p.At != "" {
			lines[i] = p.At + ": " + p.Message
		}
	}
	return strings.Join(lines, "; ")
}

// Validate checks a value as [canon.Decode] makes it. The error, if any, is an
// [*Invalid] that lists all problems, ordered by place. Messages name what the
// schema wants, never the value, which may be secret.
func (s *Schema) Validate(v any) error {
	problems := s.check(v)
	if len(problems) == 0 {
		return nil
	}
	slices.SortFunc(problems, func(a, b Problem) int {
		if c := strings.Compare(a.At, b.At); c != 0 {
			return c
		}
		return strings.Compare(a.Message, b.Message)
	})
	return &Invalid{Problems: slices.Compact(problems)}
}

func (s *Schema) check(v any) []Problem {
	if s == nil {
		return nil
	}
	if s.made {
		return s.checkMade(v)
	}
	compiled, err := s.validator()
	if err != nil { // parts of a document that compiled do compile
		return []Problem{{Message: err.Error()}}
	}
	var invalid *jsonschema.ValidationError
	if err := compiled.Validate(v); errors.As(err, &invalid) {
		return valueProblems(invalid, s)
	}
	return nil
}

// checkMade checks against what constructors make.
func (s *Schema) checkMade(v any) []Problem {
	if s.never {
		return []Problem{{Message: "nothing is allowed here"}}
	}
	if types := s.rules.types; !types.Has(TypesOf(v)) {
		return []Problem{{Message: fmt.Sprintf("must be %s, not %s", types, TypesOf(v))}}
	}
	if s.values != nil && !holds(s.values, v) {
		return []Problem{{Message: "must be one of " + listValues(s.values)}}
	}
	var problems []Problem
	for _, part := range s.all {
		problems = append(problems, part.check(v)...)
	}
	for _, choice := range s.choices {
		problems = append(problems, checkChoice(choice, v)...)
	}
	switch v := v.(type) {
	case map[string]any:
		problems = append(problems, s.checkMembers(v)...)
	case []any:
		problems = append(problems, s.checkElements(v)...)
	}
	return problems
}

// holds reports whether a value is among others. Decoded JSON has one form for
// each value.
func holds(values []any, v any) bool {
	return slices.ContainsFunc(values, func(value any) bool { return reflect.DeepEqual(value, v) })
}

func checkChoice(choice []*Schema, v any) []Problem {
	var alternatives [][]Problem
	for _, part := range choice {
		found := part.check(v)
		if len(found) == 0 {
			return nil
		}
		alternatives = append(alternatives, found)
	}
	return noneOf("", alternatives)
}

func (s *Schema) checkMembers(members map[string]any) []Problem {
	var problems []Problem
	for _, name := range s.rules.required {
		if _, ok := members[name]; !ok {
			problems = append(problems, Problem{Message: missingProperty(name)})
		}
	}
	for name, value := range members {
		at := canon.AppendPointer("", name)
		if property, ok := s.properties[name]; ok {
			problems = append(problems, below(at, property.check(value))...)
		} else if s.additional != nil && s.additional.never {
			problems = append(problems, Problem{At: at, Message: unknownProperty(name, sortedNames(s.properties))})
		}
	}
	return problems
}

func (s *Schema) checkElements(items []any) []Problem {
	var problems []Problem
	if len(items) < s.minItems {
		problems = append(problems, Problem{Message: fmt.Sprintf("must have %d items, has %d", s.minItems, len(items))})
	}
	for i, item := range items {
		f := s.element(i)
		at := canon.AppendPointer("", i)
		if f.verdict == Excluded {
			problems = append(problems, Problem{At: at, Message: "nothing is allowed here"})
			continue
		}
		problems = append(problems, below(at, allOf(f.parts...).check(item))...)
	}
	return problems
}

// below moves problems to a place further down.
func below(at string, problems []Problem) []Problem {
	for i := range problems {
		problems[i].At = at + problems[i].At
	}
	return problems
}
