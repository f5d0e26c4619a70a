// Package expr holds templates: JSON documents in which references may stand at
// any depth. A template is parsed once, checked against what may be referred to
// (package workflow does that, with [Template.Refs]), and evaluated as often as
// needed against an [Env]. Strings are never interpolated: everything that is
// not a reference is data.
//
// CEL expressions are templates too; see [Template.CheckCEL].
package expr

import "encoding/json"

// Kind is what a reference reads.
type Kind string

// The kinds of references.
const (
	Args     Kind = "args"     // the run's (or nested run's) arguments
	Step     Kind = "step"     // an earlier step's or node's output
	Previous Kind = "previous" // the same, in the preceding round of a repeat
	Item     Kind = "item"     // the current item of an enclosing map
	Run      Kind = "run"      // facts about the run and step itself
	Literal  Kind = "literal"  // a value that may look like a reference
	Text     Kind = "text"     // parts joined to one string
	CEL      Kind = "cel"      // a CEL expression
	Secret   Kind = "secret"   // a handle to a secret
)

// Ref is one reference in a template.
type Ref struct {
	Kind Kind
	// Name is the step (Step, Previous), the item's name (Item), or the secret's.
	Name string
	// Pointer is an RFC 6901 pointer into the value; "" is the whole value.
	Pointer string
	// Default, when not nil, is the value where the pointed-at one is missing.
	Default json.RawMessage
	// Value is the literal's value.
	Value json.RawMessage
	// Parts are the parts of a text; each is a template whose root is a string or a reference.
	Parts []*Template
	// Source is the CEL expression's text.
	Source string
	// Uses are the references that a CEL expression makes, by their place in it:
	// Kind Args, Step, Item or Run, with Name; Pointer is "".
	Uses []Ref
	// At is the place of this reference in the template document (RFC 6901).
	At string
	// Offset and Length say where in its expression's text a use stands (bytes);
	// 0 for all other references.
	Offset, Length int

	program *program // of a CEL expression, once CheckCEL passed
}

// Env gives a template its values. Values are decoded JSON as canon.Decode makes
// it: nil, bool, string, json.Number, []any, map[string]any; they are shared and
// must not be changed. A value that is not there is reported by ok = false.
type Env interface {
	Args() (v any, err error)
	Step(name string) (v any, ok bool, err error)
	Previous(name string) (v any, ok bool, err error)
	Item(name string) (v any, ok bool, err error)
	// Run gives run_id, root_run_id, created_at, step_id, attempt, idempotency_key.
	Run() (v map[string]any, err error)
}

// Error is a failure to evaluate.
type Error struct {
	Code    string // unknown_reference, expression_failed, secret_unavailable
	At      string // place in the template document (RFC 6901)
	Message string
}

func (e *Error) Error() string {
	if e.At == "" {
		return e.Message
	}
	return e.At + ": " + e.Message
}

// Problem is something wrong with a template's form or types.
type Problem struct {
	Code    string // malformed_reference, expression_invalid, ...
	At      string // place in the template document (RFC 6901)
	Message string
	Hint    string // how to mend it; may be ""
	// Offset and Length say where in a CEL expression's text; Length 0 if unknown.
	Offset, Length int
}
