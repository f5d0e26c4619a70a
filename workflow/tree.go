package workflow

import (
	"encoding/json"
	"strings"

	"github.com/culm-dev/culm/internal/canon"
)

// kind is the JSON type of a value.
type kind uint8

const (
	nullKind kind = iota
	boolKind
	numberKind
	stringKind
	arrayKind
	objectKind
)

// String names the kind as messages do, with its article.
func (k kind) String() string {
	switch k {
	case nullKind:
		return "nothing (null)"
	case boolKind:
		return "a boolean"
	case numberKind:
		return "a number"
	case stringKind:
		return "a string"
	case arrayKind:
		return "a list"
	default:
		return "an object"
	}
}

// span is a place in a file: line and columns from 1, in code points; end is the
// column after it, or 0 when only the beginning is known.
type span struct{ line, col, end int }

// value is a JSON value that knows where it was written.
type value struct {
	kind    kind
	text    string // a string's content, a number's digits, "true" or "false"
	items   []*value
	members []member
	at      span
	ptr     string // place in the document as written (RFC 6901)
}

// member is a field of an object.
type member struct {
	name  string
	at    span // of the name
	value *value
}

// get is the member of that name, or nil.
func (v *value) get(name string) *value {
	if v == nil {
		return nil
	}
	for i := range v.members {
		if v.members[i].name == name {
			return v.members[i].value
		}
	}
	return nil
}

// has reports whether there is a member of that name.
func (v *value) has(name string) bool { return v.get(name) != nil }

// child finds a member or element by its pointer token.
func (v *value) child(token string) *value {
	switch v.kind {
	case objectKind:
		return v.get(token)
	case arrayKind:
		if i, ok := canon.Index(token); ok && i < len(v.items) {
			return v.items[i]
		}
	}
	return nil
}

// find is the value that a pointer names inside v, or the nearest one around it.
func (v *value) find(pointer string) *value {
	tokens, err := canon.Tokens(pointer)
	if err != nil {
		return v
	}
	for _, token := range tokens {
		next := v.child(token)
		if next == nil {
			return v
		}
		v = next
	}
	return v
}

// decoded is the value in the form of [canon.Decode]. Of duplicate names, which
// are an error of their own, the first counts.
func (v *value) decoded() any {
	switch v.kind {
	case boolKind:
		return v.text == "true"
	case numberKind:
		return json.Number(v.text)
	case stringKind:
		return v.text
	case arrayKind:
		items := make([]any, len(v.items))
		for i, item := range v.items {
			items[i] = item.decoded()
		}
		return items
	case objectKind:
		members := make(map[string]any, len(v.members))
		for _, m := range v.members {
			if _, twice := members[m.name]; !twice {
				members[m.name] = m.value.decoded()
			}
		}
		return members
	default:
		return nil
	}
}

// canonical is the value as canonical JSON. It cannot fail for values that were
// read without an error; for others it is nil.
func (v *value) canonical() json.RawMessage {
	raw, err := canon.Encode(v.decoded())
	if err != nil {
		return nil
	}
	return raw
}

// text is the source of a document, by lines, for rendering errors.
type text struct {
	name  string
	lines []string // without their ends
}

// newText splits a document into lines. YAML knows more line breaks than JSON.
func newText(name string, data []byte, yaml bool) *text {
	breaks := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	if yaml {
		breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
	}
	return &text{name: name, lines: strings.Split(breaks.Replace(string(data)), "\n")}
}

// from is the source from a place to the end of its line.
func (t *text) from(at span) []rune {
	if at.line < 1 || at.line > len(t.lines) {
		return nil
	}
	line := []rune(t.lines[at.line-1])
	if at.col < 1 || at.col > len(line) {
		return nil
	}
	return line[at.col-1:]
}
