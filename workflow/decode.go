package workflow

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/culm-dev/culm/internal/canon"
)

// decoder turns a document into a definition and reports everything in it that
// does not fit. It goes on after an error, with the field left empty.
type decoder struct {
	report *report
	// pinned: the document is part of a bundle: shorthand is refused, and null
	// stands for an optional field that is absent.
	pinned bool
	// places are the values of the plan by their pointer in the canonical form,
	// which shorthand makes another than the one in the document.
	places map[string]*value
	lost   lost
}

// lost tells what could not be read, so that its absence is not held against
// the rest of the definition.
type lost struct {
	names bool // the id of a step or node
	nodes bool // a part of the plan
}

// fieldRule is a field that an object may have.
type fieldRule struct {
	name     string // as written
	required bool
}

func required(names ...string) []fieldRule { return rules(true, names) }
func optional(names ...string) []fieldRule { return rules(false, names) }

func rules(must bool, names []string) []fieldRule {
	list := make([]fieldRule, len(names))
	for i, name := range names {
		list[i] = fieldRule{name, must}
	}
	return list
}

// fields checks which fields an object has. Those in elsewhere exist, but not in
// this object; what names it in messages, such as "a tool step".
func (d *decoder) fields(v *value, what string, allowed []fieldRule, elsewhere []string) {
	names := make([]string, len(allowed))
	for i, rule := range allowed {
		names[i] = rule.name
	}
	for _, m := range v.members {
		if slices.Contains(names, m.name) {
			continue
		}
		ptr := canon.AppendPointer(v.ptr, m.name)
		if slices.Contains(elsewhere, m.name) {
			d.report.add(FieldNotAllowed, m.at, ptr, "%q is not a field of %s", m.name, what).Expected = oneOf(names)
			continue
		}
		e := d.report.add(UnknownField, m.at, ptr, "%s has no field %q", what, m.name)
		e.Near = near(m.name, names)
		e.Expected = oneOf(names)
	}
	for _, rule := range allowed {
		if rule.required && d.get(v, rule.name) == nil {
			d.report.at(v, MissingField, "%s needs the field %q", what, rule.name)
		}
	}
}

// near is the candidate that a word was probably meant to be: by spelling, or
// because it is the only one that the word begins or is the beginning of. Among
// very many it does not look: a document of thousands of mistakes must not take
// minutes.
func near(word string, candidates []string) string {
	const tooMany = 500
	if len(candidates) > tooMany {
		return ""
	}
	if close := canon.Near(word, candidates); close != "" || len(word) < 3 {
		return close
	}
	found := ""
	for _, c := range candidates {
		if c == "" || c == word || !strings.HasPrefix(c, word) && !strings.HasPrefix(word, c) {
			continue
		}
		if found != "" {
			return ""
		}
		found = c
	}
	return found
}

// oneOf lists alternatives for a message.
func oneOf(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "one of " + strings.Join(names, ", ")
}

// get is the member of an object, nil if it is absent. In a bundle null
// means absent too.
func (d *decoder) get(v *value, name string) *value {
	m := v.get(name)
	if m != nil && m.kind == nullKind && d.pinned {
		return nil
	}
	return m
}

// is reports a value that is not of the kind.
func (d *decoder) is(v *value, k kind) bool {
	if v.kind == k {
		return true
	}
	e := d.report.at(v, WrongType, "%s cannot stand here", v.kind)
	e.Expected = k.String()
	if k == stringKind && (v.kind == numberKind || v.kind == boolKind) {
		e.Hint = "quote it"
	}
	return false
}

// str is a string field; "" if it is absent or wrong.
func (d *decoder) str(v *value) string {
	if v == nil || !d.is(v, stringKind) {
		return ""
	}
	return v.text
}

// name is a string field that may not be empty.
func (d *decoder) name(v *value) string {
	if v == nil || !d.is(v, stringKind) {
		return ""
	}
	if v.text == "" {
		d.report.at(v, InvalidValue, "the value is empty").Expected = "a name"
	}
	return v.text
}

// choice is a string field with fixed values.
func (d *decoder) choice(v *value, allowed ...string) string {
	if v == nil || !d.is(v, stringKind) {
		return ""
	}
	if !slices.Contains(allowed, v.text) {
		e := d.report.at(v, InvalidValue, "%q is not a value of this field", v.text)
		e.Expected, e.Near = oneOf(allowed), near(v.text, allowed)
	}
	return v.text
}

// integer is a whole number between two bounds; ok is false if it is absent or
// wrong.
func (d *decoder) integer(v *value, code Code, low, high int64) (n int64, ok bool) {
	if v == nil || !d.is(v, numberKind) {
		return 0, false
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	if err == nil && n >= low && n <= high {
		return n, true
	}
	if err != nil && strings.ContainsAny(v.text, ".eE") {
		d.report.at(v, WrongType, "%s is not a whole number", v.text).Expected = bounds(low, high)
		return 0, false
	}
	d.report.at(v, code, "%s is out of range", v.text).Expected = bounds(low, high)
	return 0, false
}

func bounds(low, high int64) string {
	if high >= maxInteger {
		return fmt.Sprintf("a whole number, at least %d", low)
	}
	return fmt.Sprintf("a whole number from %d to %d", low, high)
}

const (
	maxInteger = 1<<53 - 1 // that every JSON reader keeps
	// maxMillis keeps every duration below what nanoseconds in 64 bits hold:
	// about 278 years.
	maxMillis   = 1 << 43
	maxRevision = math.MaxInt32
	maxBackoff  = 1000
)

// millis is a duration in milliseconds.
func (d *decoder) millis(v *value, low int64) *int64 {
	n, ok := d.integer(v, InvalidValue, low, maxMillis)
	if !ok {
		return nil
	}
	return &n
}

// small is an optional small integer.
func (d *decoder) small(v *value, low, high int64) *int {
	n, ok := d.integer(v, InvalidValue, low, high)
	if !ok {
		return nil
	}
	i := int(n)
	return &i
}

// whole is a required small integer, 0 if it is absent or wrong.
func (d *decoder) whole(v *value, low, high int64) int {
	if n := d.small(v, low, high); n != nil {
		return *n
	}
	return 0
}

// backoff is the factor by which a retry's delay grows.
func (d *decoder) backoff(v *value) *float64 {
	if v == nil || !d.is(v, numberKind) {
		return nil
	}
	f, err := strconv.ParseFloat(v.text, 64)
	if err != nil || f < 1 || f > maxBackoff {
		d.report.at(v, InvalidValue, "%s is out of range", v.text).Expected = fmt.Sprintf("a number from 1 to %d", maxBackoff)
		return nil
	}
	return &f
}

// strings is a list of non-empty strings.
func (d *decoder) strings(v *value) []string {
	if v == nil || !d.is(v, arrayKind) {
		return nil
	}
	list := make([]string, 0, len(v.items))
	for _, item := range v.items {
		list = append(list, d.name(item))
	}
	return list
}

// raw is a template: any JSON.
func (d *decoder) raw(v *value) json.RawMessage {
	if v == nil {
		return nil
	}
	return v.canonical()
}

// schema is a JSON Schema: an object or a boolean. Whether it is a valid one is
// checked by the compiler.
func (d *decoder) schema(v *value) json.RawMessage {
	if v == nil || v.kind != boolKind && !d.is(v, objectKind) {
		return nil
	}
	return v.canonical()
}

var (
	definitionID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	// nodeID excludes what the ids of step instances are put together with.
	nodeID = regexp.MustCompile(`^[^@\[\]#/:\x00-\x1f\x7f]{1,128}$`)
)

// id is the id of a step or node, or the name of an item.
func (d *decoder) id(v *value, what string) string {
	if v == nil || !d.is(v, stringKind) {
		return ""
	}
	switch {
	case v.text == "":
		d.report.at(v, EmptyID, "the %s is empty", what)
	case !nodeID.MatchString(v.text):
		d.report.at(v, InvalidID, "%q cannot be the %s", v.text, what).
			Expected = "up to 128 characters, none of them @ [ ] # / : or a control character"
	}
	return v.text
}
