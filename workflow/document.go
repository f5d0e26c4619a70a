package workflow

import (
	"encoding/json"
	"fmt"

	"github.com/culm-dev/culm/internal/canon"
)

// Document is a YAML or JSON document that is no definition, such as one that
// stands beside a definition. It is read by the rules of [Load], and its values
// know where they stand. What [Value]'s methods find wrong with it is collected:
// after decoding all of it, ask for [Document.Errors].
type Document struct {
	root *value
	d    *decoder
}

// LoadDocument reads a document. The error is [Errors] if its form is wrong; the
// document is nil only if nothing of it could be read.
func LoadDocument(name string, data []byte) (*Document, error) {
	root, r := parse(name, data)
	for _, e := range r.list {
		if e.Code == EmptyDocument || e.Code == MultipleDocuments {
			e.Expected = "one document"
		}
	}
	if root == nil {
		return nil, r.sorted()
	}
	doc := &Document{root, &decoder{report: r}}
	if !r.clean() {
		return doc, r.sorted()
	}
	return doc, nil
}

// LoadDocumentFile reads a document from a file; see [LoadDocument]. An error in
// opening or reading the file is wrapped and is not [Errors].
func LoadDocumentFile(path string) (*Document, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	return LoadDocument(path, data)
}

// Root is the whole document.
func (d *Document) Root() Value { return Value{d.root, d.d} }

// Errors are those found so far, in the order of the file; nil if there are none.
func (d *Document) Errors() Errors {
	if d.d.report.clean() {
		return nil
	}
	return d.d.report.sorted()
}

// Value is a value of a [Document], or an absent one, of which all methods give
// the zero value. One of another type than the method asks for is reported, and
// gives the zero value too.
type Value struct {
	v *value
	d *decoder
}

// Member is a member of an object, in the order of the document.
type Member struct {
	Name string
	Value
}

// Present reports whether there is such a value.
func (v Value) Present() bool { return v.v != nil }

// IsObject reports whether the value is an object.
func (v Value) IsObject() bool { return v.v != nil && v.v.kind == objectKind }

// IsList reports whether the value is a list.
func (v Value) IsList() bool { return v.v != nil && v.v.kind == arrayKind }

// IsString reports whether the value is a string.
func (v Value) IsString() bool { return v.v != nil && v.v.kind == stringKind }

// Fields reports whether the value is an object, and checks that it has no fields
// but these, and all that are needed. What names it in messages: "a case".
func (v Value) Fields(what string, needed, others []string) bool {
	if v.v == nil || !v.d.is(v.v, objectKind) {
		return false
	}
	v.d.fields(v.v, what, append(required(needed...), optional(others...)...), nil)
	return true
}

// Get is a member of an object.
func (v Value) Get(name string) Value { return Value{v.v.get(name), v.d} }

// Members are those of an object.
func (v Value) Members() []Member {
	if v.v == nil || !v.d.is(v.v, objectKind) {
		return nil
	}
	list := make([]Member, len(v.v.members))
	for i, m := range v.v.members {
		list[i] = Member{m.name, Value{m.value, v.d}}
	}
	return list
}

// Items are those of a list.
func (v Value) Items() []Value {
	if v.v == nil || !v.d.is(v.v, arrayKind) {
		return nil
	}
	list := make([]Value, len(v.v.items))
	for i, item := range v.v.items {
		list[i] = Value{item, v.d}
	}
	return list
}

// Text is a string that is not empty.
func (v Value) Text() string { return v.d.name(v.v) }

// Texts is a list of strings that are not empty.
func (v Value) Texts() []string { return v.d.strings(v.v) }

// Bool is a boolean.
func (v Value) Bool() bool {
	return v.v != nil && v.d.is(v.v, boolKind) && v.v.text == "true"
}

// Whole is a whole number from low to high.
func (v Value) Whole(low, high int64) int64 {
	n, _ := v.d.integer(v.v, InvalidValue, low, high)
	return n
}

// OneOf is a string that is one of these.
func (v Value) OneOf(what string, these ...string) string {
	text := v.Text()
	for _, other := range these {
		if text == other {
			return text
		}
	}
	if text != "" {
		e := v.Refuse(InvalidValue, "%q is no %s", text, what)
		e.Near, e.Expected = near(text, these), oneOf(these)
	}
	return ""
}

// JSON is the value in canonical form; nil if it is absent.
func (v Value) JSON() json.RawMessage { return v.d.raw(v.v) }

// Refuse reports an error about the value. The caller may fill in what was
// expected and the like.
func (v Value) Refuse(code Code, format string, args ...any) *Error {
	return v.d.report.at(v.v, code, format, args...)
}

// RefuseName reports an error about the name of a member of the value.
func (v Value) RefuseName(name string, code Code, format string, args ...any) *Error {
	at := v.v.at
	for _, m := range v.v.members {
		if m.name == name {
			at = m.at
		}
	}
	return v.d.report.add(code, at, canon.AppendPointer(v.v.ptr, name), format, args...)
}
