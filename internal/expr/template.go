package expr

import "encoding/json"

// Codes of problems and errors.
const (
	CodeInvalidJSON        = "invalid_json"        // the template is not one JSON document
	CodeMalformedReference = "malformed_reference" // known from, wrong keys or types
	CodeMalformedHandle    = "malformed_handle"    // a secret handle of the wrong form
	CodeExpressionInvalid  = "expression_invalid"  // CEL that does not parse or type-check
	CodeUnknownReference   = "unknown_reference"   // the value is not there
	CodeExpressionFailed   = "expression_failed"   // CEL failed at run time
	CodeSecretUnavailable  = "secret_unavailable"  // nobody resolves secrets here
)

// Template is a parsed template: a reference, an object or array of templates,
// or a scalar. It is immutable once [Template.CheckCEL] has run, and safe for
// concurrent use from then on.
type Template struct {
	value any    // the decoded document
	at    string // its place in the whole document

	// At most one of these is set; none for a scalar.
	ref    *Ref
	object map[string]*Template
	array  []*Template

	literal bool // there is no reference at any depth
}

// Raw is the template's document as canonical JSON.
func (t *Template) Raw() json.RawMessage { return encoded(t.value) }

// At is the place of this template in the document that was parsed (RFC 6901);
// "" for the whole.
func (t *Template) At() string { return t.at }

// Root is the reference that the whole template is, or nil.
func (t *Template) Root() *Ref { return t.ref }

// Object is the members of a template that is an object but no reference, else
// nil. The map must not be changed.
func (t *Template) Object() map[string]*Template { return t.object }

// Array is the elements of a template that is an array, else nil. The slice must
// not be changed.
func (t *Template) Array() []*Template { return t.array }

// IsLiteral reports whether the template holds no reference, so that it always
// evaluates to the same value. (A reference of kind Literal is a reference.)
func (t *Template) IsLiteral() bool { return t.literal }

// Literal is the value of a template without references (which may be null),
// and nil for one with references. The value must not be changed.
func (t *Template) Literal() any {
	if !t.literal {
		return nil
	}
	return t.value
}

// Refs yields every reference in the template in the order of the canonical
// document, where an object's members are sorted by name. A text comes before
// the references among its parts. Range over the method value:
//
//	for ref := range t.Refs { ... }
func (t *Template) Refs(yield func(*Ref) bool) { t.walk(yield) }

// walk reports whether the caller wants more.
func (t *Template) walk(yield func(*Ref) bool) bool {
	switch {
	case t.literal:
		return true
	case t.ref != nil:
		if !yield(t.ref) {
			return false
		}
		for _, part := range t.ref.Parts {
			if !part.walk(yield) {
				return false
			}
		}
		return true
	}
	for _, name := range sortedNames(t.object) {
		if !t.object[name].walk(yield) {
			return false
		}
	}
	for _, element := range t.array {
		if !element.walk(yield) {
			return false
		}
	}
	return true
}
