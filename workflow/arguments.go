package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/expr"
	"github.com/culm-dev/culm/internal/schema"
)

// arguments checks whether what a step passes can satisfy what is called.
func (k *checker) arguments(s *StepInfo, where site) {
	a := &argumentCheck{checker: k, site: where}
	var want *schema.Schema
	switch {
	case s.Def.Type == WorkflowStep && s.Nested != nil:
		want = s.Nested.Input
		a.callee = s.Nested.Ref
		a.missing, a.wrongType, a.invalid = NestedArgsMissing, NestedArgsType, NestedArgsInvalid
	case s.Def.Type == ToolStep:
		want = k.c.tools.info(s.Def.Tool).input
		a.callee = "tool " + s.Def.Tool
		a.missing, a.wrongType, a.invalid = ToolArgsMissing, ToolArgsType, ToolArgsInvalid
	}
	if want == nil {
		return
	}
	if s.Args == nil { // an empty object
		a.required(nil, want, "")
		return
	}
	a.check(s.Args, want)
}

// argumentCheck compares a template with the schema that its value must satisfy.
// It reports only what no value of the references could mend.
type argumentCheck struct {
	*checker
	site                        site
	callee                      string
	missing, wrongType, invalid Code
}

func (a *argumentCheck) errorAt(code Code, at, format string, args ...any) *Error {
	return a.report.at(a.src.place(a.site.at+at), code, format, args...)
}

// check compares one part of the template with its schema.
func (a *argumentCheck) check(t *expr.Template, want *schema.Schema) {
	errorsBefore := len(a.report.list)
	switch {
	case t.Root() != nil:
		a.reference(t.Root(), want)
		return
	case !a.typed(schema.TypesOf(shape(t)), want, t.At()):
		return
	case t.Object() != nil:
		a.object(t, want)
	case t.Array() != nil:
		for i, item := range t.Array() {
			a.child(item, want, strconv.Itoa(i))
		}
	}
	if t.IsLiteral() && len(a.report.list) == errorsBefore {
		a.literal(t.Literal(), want, t.At())
	}
}

// shape is a value of the template's own type.
func shape(t *expr.Template) any {
	switch {
	case t.Object() != nil:
		return map[string]any{}
	case t.Array() != nil:
		return []any{}
	}
	return t.Literal()
}

func (a *argumentCheck) typed(have schema.TypeSet, want *schema.Schema, at string) bool {
	if want.MayBe(have) {
		return true
	}
	if have == 0 {
		return false // there is no such value, which was said where it is referred to
	}
	a.errorAt(a.wrongType, at, "%s does not take %s here", a.callee, have).Expected = want.Types().String()
	return false
}

func (a *argumentCheck) object(t *expr.Template, want *schema.Schema) {
	members := t.Object()
	a.required(members, want, t.At())
	for _, name := range slices.Sorted(maps.Keys(members)) {
		a.child(members[name], want, name)
	}
}

// required reports the members that must be there and are not.
func (a *argumentCheck) required(members map[string]*expr.Template, want *schema.Schema, at string) {
	for _, name := range want.Required() {
		if members[name] == nil {
			a.absent(name, want, at)
		}
	}
}

func (a *argumentCheck) absent(name string, want *schema.Schema, at string) {
	of, _ := want.Child(name)
	a.errorAt(a.missing, at, "%s requires %q", a.callee, name).Expected = fmt.Sprintf("%s: %s", name, of.Types())
}

// child checks one member or element.
func (a *argumentCheck) child(t *expr.Template, want *schema.Schema, token string) {
	of, v := want.Child(token)
	switch v {
	case schema.Known:
		a.check(t, of)
	case schema.Excluded:
		e := a.errorAt(a.invalid, t.At(), "%s does not take %q", a.callee, token)
		if names := want.Names(); len(names) > 0 {
			e.Near, e.Expected = near(token, names), oneOf(names)
		}
	}
}

// reference compares what is known of a reference's value with the schema.
func (a *argumentCheck) reference(ref *expr.Ref, want *schema.Schema) {
	if ref.Kind == expr.Secret {
		return // its value is known when it is called
	}
	if ref.Kind == expr.Literal {
		v, err := canon.Decode(ref.Value)
		if err == nil && a.typed(schema.TypesOf(v), want, ref.At) {
			a.literal(v, want, ref.At)
		}
		return
	}
	have := a.value(ref, a.site)
	if !a.typed(have.Types(), want, ref.At) || !have.MustBe(schema.ObjectType) {
		return
	}
	for _, name := range want.Required() {
		if _, v := have.Child(name); v == schema.Excluded {
			a.absent(name, want, ref.At)
		}
	}
}

// literal checks a value that is known.
func (a *argumentCheck) literal(v any, want *schema.Schema, at string) {
	if text, ok := v.(string); ok && text != "" && marksSecret(want) {
		a.errorAt(SecretMaterial, at, "%s takes a secret here", a.callee).Hint = secretHint
		return
	}
	var invalid *schema.Invalid
	if err := want.Validate(v); !errors.As(err, &invalid) {
		return
	}
	for _, p := range invalid.Problems {
		a.errorAt(a.invalid, at+p.At, "%s does not take this: %s", a.callee, p.Message)
	}
}

// marksSecret reports whether a schema says that its values are secrets.
func marksSecret(s *schema.Schema) bool {
	raw := s.Raw()
	if !bytes.Contains(raw, []byte("-secret")) {
		return false
	}
	var marks struct {
		Secret  bool `json:"x-secret"`
		Foreign bool `json:"x-bamboo-secret"`
	}
	return json.Unmarshal(raw, &marks) == nil && (marks.Secret || marks.Foreign)
}
