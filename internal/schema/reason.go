package schema

import (
	"slices"

	"github.com/culm-dev/culm/internal/canon"
)

// Verdict is what a schema says about a place in the values under it.
type Verdict int

// The verdicts.
const (
	// Unknown: the schema is silent about the place, or too complex to say.
	Unknown Verdict = iota
	// Known: the schema describes the place. A value need not have it.
	Known
	// Excluded: no value under the schema can have the place.
	Excluded
)

// At finds what the schema says about the place that an RFC 6901 pointer names
// in the values under it. The schema returned is never nil: it is [Any] for
// Unknown and [Never] for Excluded. A malformed pointer is Excluded.
func (s *Schema) At(pointer string) (*Schema, Verdict) {
	tokens, err := canon.Tokens(pointer)
	if err != nil {
		return Never(), Excluded
	}
	verdict := Known
	if s == nil {
		s, verdict = Any(), Unknown
	}
	for _, token := range tokens {
		if s, verdict = s.Child(token); verdict != Known {
			// Below the unknown everything is; below the excluded too.
			return s, verdict
		}
	}
	return s, verdict
}

// Child is At for one unescaped pointer token.
func (s *Schema) Child(token string) (*Schema, Verdict) {
	return s.find(func(s *Schema) (*Schema, Verdict) { return s.ownChild(token) })
}

// Additional describes the properties that Names does not list.
func (s *Schema) Additional() (*Schema, Verdict) {
	return s.find((*Schema).ownAdditional)
}

// Items describes every element of an array under the schema: [Any] when not
// known, [Never] when there can be none.
func (s *Schema) Items() *Schema {
	items, _ := s.find((*Schema).ownItems)
	return items
}

// Types is the set of types that a value may have: all when nothing is known,
// none when no value can satisfy the schema.
func (s *Schema) Types() TypeSet {
	w := newWalk()
	return w.types(s)
}

// MayBe reports whether a value under the schema can have one of the types.
func (s *Schema) MayBe(t TypeSet) bool { return s.Types().Has(t) }

// MustBe reports whether every value under the schema has one of the types. It
// is false for a schema that no value satisfies.
func (s *Schema) MustBe(t TypeSet) bool {
	types := s.Types()
	return types != 0 && types&^t == 0
}

// Names are the property names that the schema declares, in any of its
// alternatives, sorted.
func (s *Schema) Names() []string {
	found := map[string]bool{}
	w := newWalk()
	w.names(s, found)
	return sortedNames(found)
}

// Closed reports whether an object under the schema can have no properties but
// those of Names and those that match a pattern. It is false for a schema that
// allows no object.
func (s *Schema) Closed() bool {
	w := newWalk()
	return s.MayBe(ObjectType) && w.closed(s)
}

// Required are the properties that every object under the schema has, sorted.
func (s *Schema) Required() []string {
	w := newWalk()
	return sortedNames(w.required(s))
}

func (s *Schema) find(own func(*Schema) (*Schema, Verdict)) (*Schema, Verdict) {
	w := newWalk()
	f := w.find(s, own)
	switch {
	case f.verdict == Excluded:
		return Never(), Excluded
	case f.verdict == Unknown:
		return Any(), Unknown
	}
	found := allOf(f.parts...)
	if found.never {
		return Never(), Excluded
	}
	return found, Known
}

// ownChild judges by the schema's own keywords alone.
func (s *Schema) ownChild(token string) (*Schema, Verdict) {
	if s.values != nil {
		return s.valuesAt(token)
	}
	var asObject, asArray = finding{verdict: Excluded}, finding{verdict: Excluded}
	if s.types.Has(ObjectType) {
		asObject = s.property(token)
	}
	if i, ok := canon.Index(token); ok && s.types.Has(ArrayType) {
		asArray = s.element(i)
	}
	f := either(asObject, asArray)
	return allOf(f.parts...), f.verdict
}

func (s *Schema) valuesAt(token string) (*Schema, Verdict) {
	var found []any
	for _, value := range s.values {
		if child, ok := canon.Child(value, token); ok {
			found = append(found, child)
		}
	}
	if len(found) == 0 {
		return Never(), Excluded
	}
	return ofValues(found), Known
}

func (s *Schema) property(name string) finding {
	if s.never {
		return finding{verdict: Excluded}
	}
	var parts []*Schema
	if property, ok := s.properties[name]; ok {
		parts = append(parts, property)
	}
	for _, p := range s.patterns {
		if p.re.MatchString(name) {
			parts = append(parts, p.schema)
		}
	}
	if len(parts) == 0 {
		return s.undeclared()
	}
	return known(parts...)
}

// undeclared judges a property that no name and no pattern mentions.
func (s *Schema) undeclared() finding {
	if s.additional != nil {
		if s.additional.source == true {
			return finding{} // anything: as good as silence
		}
		return known(s.additional)
	}
	// Other applicators might evaluate it.
	if s.unevaluated && !s.opaque && len(s.all) == 0 && len(s.choices) == 0 {
		return finding{verdict: Excluded}
	}
	return finding{}
}

func (s *Schema) ownAdditional() (*Schema, Verdict) {
	if s.values != nil || s.never || !s.types.Has(ObjectType) {
		return Never(), Excluded
	}
	if len(s.patterns) > 0 {
		return Any(), Unknown
	}
	f := s.undeclared()
	return allOf(f.parts...), f.verdict
}

func (s *Schema) element(i int) finding {
	switch {
	case s.never, s.maxItems != nil && i >= *s.maxItems:
		return finding{verdict: Excluded}
	case i < len(s.prefix):
		return known(s.prefix[i])
	case s.items != nil:
		return known(s.items)
	}
	return finding{}
}

func (s *Schema) ownItems() (*Schema, Verdict) {
	switch {
	case s.values != nil:
		return Any(), Unknown
	case s.never || !s.types.Has(ArrayType):
		return Never(), Excluded
	case s.items == nil && s.maxItems != nil && *s.maxItems <= len(s.prefix):
		return AnyOf(s.prefix[:*s.maxItems]...), Known
	case s.items == nil:
		return Any(), Unknown
	case s.items.never && len(s.prefix) == 0:
		return Never(), Excluded
	case s.items.never:
		return AnyOf(s.prefix...), Known
	}
	return AnyOf(append(slices.Clone(s.prefix), s.items)...), Known
}
