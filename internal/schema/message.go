package schema

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/culm-dev/culm/internal/canon"
)

// valueProblems flattens the library's tree of errors to one-line problems. s,
// if not nil, is the schema, for the names that a misspelt one may have meant.
func valueProblems(err *jsonschema.ValidationError, s *Schema) []Problem {
	at := ""
	for _, token := range err.InstanceLocation {
		at = canon.AppendPointer(at, token)
	}
	switch k := err.ErrorKind.(type) {
	case *kind.AnyOf:
		return noneOf(at, causes(err, s))
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return []Problem{{at, "matches more than one of the forms of which it must match one"}}
		}
		return noneOf(at, causes(err, s))
	case *kind.Required:
		var problems []Problem
		for _, name := range k.Missing {
			problems = append(problems, Problem{at, missingProperty(name)})
		}
		return problems
	case *kind.AdditionalProperties:
		parent, _ := s.At(at)
		var problems []Problem
		for _, name := range k.Properties {
			problems = append(problems, Problem{canon.AppendPointer(at, name), unknownProperty(name, parent.Names())})
		}
		return problems
	case *kind.PropertyNames:
		return []Problem{{canon.AppendPointer(at, k.Property), "the name of this property is not allowed"}}
	case *kind.Contains, *kind.MinContains:
		return []Problem{{at, describeKind(k)}}
	}
	if len(err.Causes) == 0 {
		return []Problem{{at, describeKind(err.ErrorKind)}}
	}
	var problems []Problem
	for _, alternative := range causes(err, s) {
		problems = append(problems, alternative...)
	}
	return problems
}

func causes(err *jsonschema.ValidationError, s *Schema) [][]Problem {
	var list [][]Problem
	for _, cause := range err.Causes {
		list = append(list, valueProblems(cause, s))
	}
	return list
}

// noneOf reports a value that matches none of several forms. Forms that it
// misses at the root (by its type, mostly) were not meant if there is exactly
// one that it misses further down: then that one's problems are what helps.
func noneOf(at string, alternatives [][]Problem) []Problem {
	var meant [][]Problem
	for _, problems := range alternatives {
		if len(problems) > 0 && !misses(at, problems) {
			meant = append(meant, problems)
		}
	}
	if len(meant) == 1 {
		return meant[0]
	}
	var forms []string
	for _, problems := range alternatives {
		if len(problems) == 0 {
			continue
		}
		form := problems[0].Message
		if place := strings.TrimPrefix(problems[0].At, at); place != "" {
			form = place + ": " + form
		}
		forms = append(forms, form)
	}
	return []Problem{{at, "matches none of the allowed forms: " + strings.Join(forms, "; or ")}}
}

// misses reports whether one of the problems is about the value's own type.
func misses(at string, problems []Problem) bool {
	for _, p := range problems {
		if p.At == at && strings.HasPrefix(p.Message, "must be ") {
			return true
		}
	}
	return false
}

func missingProperty(name string) string { return fmt.Sprintf("missing property %q", name) }

func unknownProperty(name string, declared []string) string {
	m := fmt.Sprintf("unknown property %q", name)
	if near := canon.Near(name, declared); near != "" {
		m += fmt.Sprintf(", did you mean %q?", near)
	}
	return m
}

// describeKind words an error without the value that it is about.
func describeKind(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("must be %s, not %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		return "must be one of " + listValues(k.Want)
	case *kind.Const:
		return "must be " + listValues([]any{k.Want})
	case *kind.Format:
		return fmt.Sprintf("must be a valid %s", k.Want)
	case *kind.Pattern:
		return fmt.Sprintf("must match the pattern %s", k.Want)
	case *kind.FalseSchema:
		return "nothing is allowed here"
	case *kind.Not:
		return "has a form that is not allowed"
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters, has %d", k.Want, k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters, has %d", k.Want, k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items, has %d", k.Want, k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items, has %d", k.Want, k.Got)
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %d properties, has %d", k.Want, k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %d properties, has %d", k.Want, k.Got)
	case *kind.Contains:
		return "must have an item of the required form, has none"
	case *kind.MinContains:
		return fmt.Sprintf("must have at least %d items of the required form, has %d", k.Want, len(k.Got))
	case *kind.MaxContains:
		return fmt.Sprintf("must have at most %d items of the required form, has %d", k.Want, len(k.Got))
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Minimum:
		return "must be at least " + decimal(k.Want)
	case *kind.Maximum:
		return "must be at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be greater than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + decimal(k.Want)
	}
	line, _, _ := strings.Cut(k.LocalizedString(message.NewPrinter(language.English)), "\n")
	return line
}

func listValues(values []any) string {
	const most = 20
	var list []string
	for i, value := range values {
		if i == most {
			list = append(list, fmt.Sprintf("and %d more", len(values)-most))
			break
		}
		raw, err := canon.Encode(value)
		if err != nil { // schemas are decoded JSON
			continue
		}
		list = append(list, string(raw))
	}
	return strings.Join(list, ", ")
}

// decimal writes a bound in full: as a whole number or the nearest double.
func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
