package workflow

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// tidyWidth is how long a line of JSON may be before it is broken, in bytes.
const tidyWidth = 100

// formatJSON lays a JSON document out. Arrays and objects stay on one line if
// they were written on one and it is not too long.
func formatJSON(root *value) []byte {
	var b bytes.Buffer
	p := jsonPrinter{&b}
	p.value(root, definitionPart, 0, 0)
	b.WriteByte('\n')
	return b.Bytes()
}

type jsonPrinter struct{ *bytes.Buffer }

// value writes a value that begins in a column, on a line with that indentation.
func (p jsonPrinter) value(v *value, is part, indent, column int) {
	if v.kind != arrayKind && v.kind != objectKind {
		p.WriteString(jsonLine(v, is))
		return
	}
	if len(v.items)+len(v.members) == 0 || v.at.end > 0 && is != definitionPart {
		if line := jsonLine(v, is); column+len(line) < tidyWidth {
			p.WriteString(line)
			return
		}
	}
	inner := strings.Repeat(" ", indent+2)
	if v.kind == arrayKind {
		p.WriteString("[\n")
		for i, item := range v.items {
			p.WriteString(inner)
			p.value(item, is.inside(""), indent+2, indent+2)
			p.comma(i, len(v.items))
		}
		p.WriteString(inner[2:] + "]")
		return
	}
	p.WriteString("{\n")
	for i, m := range v.tidyMembers(is) {
		name := jsonString(m.name) + ": "
		p.WriteString(inner + name)
		p.value(m.value, is.inside(m.name), indent+2, indent+2+len(name))
		p.comma(i, len(v.members))
	}
	p.WriteString(inner[2:] + "}")
}

func (p jsonPrinter) comma(i, n int) {
	if i+1 < n {
		p.WriteByte(',')
	}
	p.WriteByte('\n')
}

// jsonLine is a value on one line.
func jsonLine(v *value, is part) string {
	var parts []string
	switch v.kind {
	case nullKind:
		return "null"
	case stringKind:
		return jsonString(v.text)
	case arrayKind:
		for _, item := range v.items {
			parts = append(parts, jsonLine(item, is.inside("")))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case objectKind:
		for _, m := range v.tidyMembers(is) {
			parts = append(parts, jsonString(m.name)+": "+jsonLine(m.value, is.inside(m.name)))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	default:
		return v.text
	}
}

func jsonString(s string) string {
	raw, err := jsontext.AppendQuote(nil, s)
	if err != nil { // only for what is not UTF-8, which was refused
		return `""`
	}
	return string(raw)
}

// tidyMembers are an object's fields in their tidy order.
func (v *value) tidyMembers(is part) []member {
	names := make([]string, len(v.members))
	typ := ""
	for i, m := range v.members {
		names[i] = m.name
		if m.name == "type" {
			typ = m.value.text
		}
	}
	members := make([]member, len(names))
	for to, from := range is.sorted(names, typ) {
		members[to] = v.members[from]
	}
	return members
}
