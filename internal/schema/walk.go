package schema

import "slices"

// walkLimit bounds how many schemas one question may visit. References may go
// round in circles and alternatives multiply; whoever writes a schema that needs
// more gets "unknown".
const walkLimit = 2000

// walk answers one question over a schema and all that hold with it.
type walk struct{ left int }

func newWalk() *walk { return &walk{left: walkLimit} }

// enter reports whether one more schema may be visited.
func (w *walk) enter() bool {
	w.left--
	return w.left >= 0
}

// finding is what is known of a place: the schemas that hold there, all of them.
type finding struct {
	verdict Verdict
	parts   []*Schema // of Known
}

func known(parts ...*Schema) finding {
	if slices.ContainsFunc(parts, func(s *Schema) bool { return s.never }) {
		return finding{verdict: Excluded}
	}
	return finding{verdict: Known, parts: parts}
}

// both joins findings that hold together.
func both(a, b finding) finding {
	if a.verdict == Excluded || b.verdict == Excluded {
		return finding{verdict: Excluded}
	}
	if a.verdict == Unknown {
		return b
	}
	if b.verdict == Unknown {
		return a
	}
	return known(append(slices.Clone(a.parts), b.parts...)...)
}

// either joins findings of which one holds.
func either(a, b finding) finding {
	if a.verdict == Excluded {
		return b
	}
	if b.verdict == Excluded {
		return a
	}
	if a.verdict == Unknown || b.verdict == Unknown {
		return finding{}
	}
	return known(AnyOf(allOf(a.parts...), allOf(b.parts...)))
}

// find asks a question of the schema itself and of all that hold with it.
func (w *walk) find(s *Schema, own func(*Schema) (*Schema, Verdict)) finding {
	if s == nil || !w.enter() {
		return finding{}
	}
	var f finding
	switch found, verdict := own(s); verdict {
	case Known:
		f = known(found)
	default:
		f.verdict = verdict
	}
	for _, part := range s.all {
		f = both(f, w.find(part, own))
	}
	for _, choice := range s.choices {
		alternatives := finding{verdict: Excluded}
		for _, part := range choice {
			alternatives = either(alternatives, w.find(part, own))
		}
		f = both(f, alternatives)
	}
	return f
}

func (w *walk) types(s *Schema) TypeSet {
	if s == nil || !w.enter() {
		return AllTypes
	}
	if s.never {
		return 0
	}
	types := s.rules.types
	if s.values != nil {
		var of TypeSet
		for _, value := range s.values {
			of |= TypesOf(value)
		}
		types &= of
	}
	for _, part := range s.all {
		types &= w.types(part)
	}
	for _, choice := range s.choices {
		var any TypeSet
		for _, part := range choice {
			any |= w.types(part)
		}
		types &= any
	}
	return types
}

func (w *walk) names(s *Schema, found map[string]bool) {
	if s == nil || !w.enter() {
		return
	}
	for name, property := range s.properties {
		if !property.never {
			found[name] = true
		}
	}
	for _, value := range s.values {
		members, _ := value.(map[string]any)
		for name := range members {
			found[name] = true
		}
	}
	for _, part := range s.all {
		w.names(part, found)
	}
	for _, choice := range s.choices {
		for _, part := range choice {
			w.names(part, found)
		}
	}
}

func (w *walk) closed(s *Schema) bool {
	if s == nil || !w.enter() {
		return false
	}
	if s.never || s.values != nil || s.undeclared().verdict == Excluded || !s.rules.types.Has(ObjectType) {
		return true
	}
	if slices.ContainsFunc(s.all, w.closed) {
		return true
	}
	return slices.ContainsFunc(s.choices, func(choice []*Schema) bool {
		return !slices.ContainsFunc(choice, func(part *Schema) bool { return !w.closed(part) })
	})
}

func (w *walk) required(s *Schema) map[string]bool {
	found := map[string]bool{}
	if s == nil || !w.enter() {
		return found
	}
	for _, name := range s.rules.required {
		found[name] = true
	}
	for _, part := range s.all {
		for name := range w.required(part) {
			found[name] = true
		}
	}
	for _, choice := range s.choices {
		for name := range w.requiredByAll(choice) {
			found[name] = true
		}
	}
	return found
}

// requiredByAll are the names that every alternative which may be an object
// requires.
func (w *walk) requiredByAll(choice []*Schema) map[string]bool {
	var common map[string]bool
	for _, part := range choice {
		if !w.types(part).Has(ObjectType) {
			continue
		}
		names := w.required(part)
		if common == nil {
			common = names
			continue
		}
		for name := range common {
			if !names[name] {
				delete(common, name)
			}
		}
	}
	return common
}
