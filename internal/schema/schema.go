// Package schema compiles JSON Schema 2020-12, checks values against it, and
// reasons about schemas without a value: what may stand at a place, and which
// types it may have.
//
// Schemas never reach outside their document: a reference to anything but the
// document itself and the standard metaschemas is a [Problem]. Patterns are
// RE2, formats are asserted, defaults are documentation only, and keywords that
// the standard does not know are annotations.
//
// Reasoning is sound, not complete: it follows references inside the document,
// allOf, anyOf and oneOf, and says "unknown" or "any type" where it is not sure;
// what it excludes is impossible indeed.
//
// A [Schema] is immutable and safe for concurrent use. A nil *Schema is the
// schema of which nothing is known, the same as [Any].
package schema

import (
	"encoding/json"
	"regexp"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/culm-dev/culm/internal/canon"
)

// Problem is something wrong with a schema, or with a value under a schema.
type Problem struct {
	At      string // RFC 6901 pointer into the schema, or into the value
	Message string // one line, without the place
}

// Schema is a JSON Schema: a compiled document, a part of one, or one made of
// others by a constructor such as [AnyOf].
type Schema struct {
	// source is the decoded JSON of a document or of a part of one; made tells
	// that there is none, because a constructor made the schema.
	source any
	made   bool
	// root is the decoded document that source is a part of.
	root any
	// validator is the compiled form of source; nil if made.
	validator func() (*jsonschema.Schema, error)

	rules
}

// rules are the keywords that reasoning understands. The zero value of a field
// means that the keyword is absent, but for types, which is never absent.
type rules struct {
	types  TypeSet
	values []any // of const or enum; nil if absent
	never  bool  // the schema false

	// all are schemas that hold too: $ref and allOf. Each of choices is a set of
	// which one holds: anyOf and oneOf.
	all     []*Schema
	choices [][]*Schema
	// opaque: there are keywords that reasoning does not look into, but which
	// may describe further properties.
	opaque bool

	properties  map[string]*Schema
	patterns    []pattern
	additional  *Schema
	unevaluated bool // unevaluatedProperties: false
	required    []string

	prefix   []*Schema
	items    *Schema
	minItems int
	maxItems *int
}

type pattern struct {
	re     *regexp.Regexp
	schema *Schema
}

// Compile reads and checks one schema. It returns either a schema or every
// problem found, never both.
func Compile(raw json.RawMessage) (*Schema, []Problem) {
	doc, err := canon.Decode(raw)
	if err != nil {
		return nil, []Problem{{Message: err.Error()}}
	}
	if problems := checkDialect(doc); len(problems) > 0 {
		return nil, problems
	}
	compiled, err := compileAt(doc, "")
	if err != nil {
		return nil, compileProblems(doc, err)
	}
	d := &document{root: doc, parts: map[string]*Schema{}}
	s := d.parse("", doc)
	s.validator = func() (*jsonschema.Schema, error) { return compiled, nil }
	return s, nil
}

// Default is the input schema of a definition that declares none: an object
// with whatever members.
func Default() *Schema {
	source := map[string]any{"type": "object", "additionalProperties": true}
	d := &document{root: source, parts: map[string]*Schema{}}
	return d.parse("", source)
}

// Raw is the schema as canonical JSON. Of a part of a document that refers to
// the document's $defs it brings these along; other references keep meaning a
// place in the document that the part was taken from.
func (s *Schema) Raw() json.RawMessage {
	raw, err := canon.Encode(s.describe())
	if err != nil { // a schema is decoded JSON throughout
		return json.RawMessage("true")
	}
	return raw
}

// describe gives the schema as decoded JSON.
func (s *Schema) describe() any {
	if s == nil {
		return true
	}
	if s.made {
		return s.describeMade()
	}
	part, ok := s.source.(map[string]any)
	root, _ := s.root.(map[string]any)
	defs, hasDefs := root["$defs"]
	if _, own := part["$defs"]; !ok || own || !hasDefs || !refers(part) {
		return s.source
	}
	whole := map[string]any{"$defs": defs}
	for name, value := range part {
		whole[name] = value
	}
	return whole
}

// refers reports whether $ref is used anywhere in a decoded schema.
func refers(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["$ref"].(string); ok {
			return true
		}
		for _, member := range v {
			if refers(member) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if refers(item) {
				return true
			}
		}
	}
	return false
}
