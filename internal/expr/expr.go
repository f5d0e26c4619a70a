// Package expr holds templates: JSON documents in which references may stand at
// any depth. A template is parsed once, checked against what may be referred to
// (package workflow does that, with [Template.Refs]), and evaluated as often as
// needed against an [Env]. Strings are never interpolated: everything that is
// not a reference is data.
//
// # Expressions
//
// A CEL expression reads args, steps.<name>, item.<name>, outcome and run.<fact>; a
// name that is no identifier is written steps["my-step"]. [Template.CheckCEL] types
// these from their schemas: a misspelt property of a closed object, or text added
// to a number, is a compile-time problem. What no schema describes is dynamic.
//
// A number under a schema of type integer is an int, under number a double (3 is
// 3.0 there); without a schema it is what it looks like: an int without fraction
// and exponent, else a double. Integers past int64 are uints if they fit, else
// doubles. Numbers of different types compare with each other.
//
// Expressions are pure: no function reads a clock, and maps are gone through in
// the order of their keys. (Time zones given by name are looked up in the
// machine's database.) The work of one evaluation is bounded by [CostLimit].
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
	Outcome  Kind = "outcome"  // how the node ended that a cleanup is for
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
	// Default, when not nil, is the value where the pointed-at one is missing. It
	// is data: references in it are not evaluated.
	Default json.RawMessage
	// Value is the literal's value.
	Value json.RawMessage
	// Parts are the parts of a text; each is a template whose root is a string or a reference.
	Parts []*Template
	// Source is the CEL expression's text.
	Source string
	// Uses are the references that a CEL expression makes, by their place in it:
	// Kind Args, Step, Item, Outcome or Run, with Name; Pointer is "". Each is listed once,
	// with the place of its first use.
	Uses []Ref
	// At is the place of this reference in the template document (RFC 6901).
	At string
	// Offset and Length say where in its expression's text a use stands (bytes);
	// 0 for all other references.
	Offset, Length int

	fallback any      // Default, decoded
	value    any      // Value, decoded
	program  *program // of a CEL expression, once CheckCEL passed
}

// Env gives a template its values. Values are decoded JSON as canon.Decode makes
// it: nil, bool, string, json.Number, []any, map[string]any; they are shared and
// must not be changed. A value that is not there is reported by ok = false.
type Env interface {
	Args() (v any, err error)
	Step(name string) (v any, ok bool, err error)
	Previous(name string) (v any, ok bool, err error)
	Item(name string) (v any, ok bool, err error)
	// Outcome gives {"status": .., "failure": ..} in a cleanup.
	Outcome() (v any, ok bool, err error)
	// Run gives run_id, root_run_id, created_at, step_id, attempt, idempotency_key.
	Run() (v map[string]any, err error)
}

// Error is a failure to evaluate.
type Error struct {
	Code    string // unknown_reference, expression_failed, secret_unavailable
	At      string // place in the template document (RFC 6901); of an expression, its text's
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
	At      string // place in the template document (RFC 6901); of an expression, its text's
	Message string
	Hint    string // how to mend it; may be ""
	// Offset and Length say where in a CEL expression's text, in bytes; Length 0 if unknown.
	Offset, Length int
}
