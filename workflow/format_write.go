package workflow

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// tidyWriter writes the lines of a layout anew.
type tidyWriter struct {
	*layout
	out []string
	// dashes of items whose first line is still to come, and their indentation.
	dashes string
	indent int
	// glued: no blank line may follow what was just written.
	glued bool
}

func (w *tidyWriter) add(line string) {
	w.out = append(w.out, line)
	w.glued = false
}

// blank separates by one blank line, where one may stand.
func (w *tidyWriter) blank() {
	if len(w.out) > 0 && w.out[len(w.out)-1] != "" && !w.glued && w.dashes == "" {
		w.add("")
	}
}

// begin writes the first line of an entry.
func (w *tidyWriter) begin(text string, indent int) {
	if w.dashes != "" {
		text, indent = w.dashes+text, w.indent
		w.dashes = ""
	}
	w.add(spaces(indent) + text)
}

// lead writes comments and blank lines. Above the first line of an item they
// stand above its dash.
func (w *tidyWriter) lead(lines []string, indent int) {
	if w.dashes != "" {
		indent = w.indent
	}
	for _, line := range lines {
		if text := strings.Trim(line, " \t"); text == "" {
			w.blank()
		} else {
			w.add(spaces(indent) + text)
		}
	}
}

func (w *tidyWriter) entries(entries []entry, foot []string, is part, indent int) {
	names, typ := make([]string, len(entries)), ""
	for i, e := range entries {
		names[i] = e.name
		if e.name == "type" {
			typ = e.value.Value
		}
	}
	for _, i := range is.sorted(names, typ) {
		w.lead(entries[i].lead, indent)
		w.entry(entries[i], is.inside(names[i]), indent)
	}
	w.lead(foot, indent)
}

func (w *tidyWriter) entry(e entry, is part, indent int) {
	rest := strings.TrimLeft(e.rest, " \t")
	note := strings.HasPrefix(rest, "#")
	switch {
	case (note || rest == "") && w.opens(e.value):
		w.above(e, indent)
		w.inside(e, is, e.first+1, indent+2)
	case e.name == "" && e.head == "-" && w.compact(e, rest) && w.opens(e.value):
		w.above(e, indent)
		w.inside(e, is, e.first, indent+2)
	default:
		w.begin(e.head+w.firstLine(e, rest, is), indent)
		w.text(e, indent)
	}
}

// compact reports whether a list's item is a block that begins behind its dash.
func (w *tidyWriter) compact(e entry, rest string) bool {
	at := e.value.Line - 1
	return at == e.first && w.offset(at, e.value.Column) == len(w.lines[at])-len(rest)
}

// above writes what stands above the block of an entry: the line of its key, or
// nothing yet for a dash, which stands before the first line of the block.
func (w *tidyWriter) above(e entry, indent int) {
	note := strings.TrimRight(e.rest, " \t")
	if e.head == "-" {
		if w.dashes == "" {
			w.indent = indent
		}
		if text := strings.TrimLeft(note, " \t"); strings.HasPrefix(text, "#") {
			w.add(spaces(w.indent) + text)
		}
		w.dashes += "- "
		return
	}
	w.begin(e.head+note, indent)
	w.glued = true
}

func (w *tidyWriter) inside(e entry, is part, first, indent int) {
	entries, foot := w.layout.entries(e.value, is, first, e.last)
	w.entries(entries, foot, is, indent)
}

// firstLine is what stands behind an entry's head on its line.
func (w *tidyWriter) firstLine(e entry, rest string, is part) string {
	if rest == "" {
		return ""
	}
	goesOn := e.first+1 < len(w.lines) && w.inText[e.first+1]
	if _, block := w.blocks[e.value]; !goesOn || block {
		rest = strings.TrimRight(rest, " \t")
	}
	if strings.HasPrefix(rest, "#") {
		return strings.TrimRight(e.rest, " \t") // a comment keeps its column
	}
	at := len(w.lines[e.first]) - len(strings.TrimLeft(e.rest, " \t"))
	if e.value.Line-1 == e.first && w.offset(e.first, e.value.Column) == at {
		if text, length := w.flowLine(e.value, is, rest); length > 0 {
			rest = text + rest[length:]
		}
	}
	return " " + rest
}

// text writes the lines of an entry's value below the first.
func (w *tidyWriter) text(e entry, indent int) {
	end := w.lastContent(e.first, e.last)
	block, isBlock := w.blocks[e.value]
	collection := e.value.Kind != yaml.ScalarNode && e.value.Style&yaml.FlowStyle == 0
	edge := w.edge(e, end)
	for i := e.first + 1; i <= end; i++ {
		line := w.lines[i]
		switch {
		case isBlock && i >= e.value.Line && i <= block.last:
			w.add(block.moved(line, indent))
		case isBlank(line):
			w.add("")
		case collection:
			w.add(spaces(max(indentOf(line)-edge+indent+2, 0)) + strings.TrimLeft(line, " "))
		default:
			if !w.inText[i] && (i+1 == len(w.lines) || !w.inText[i+1]) {
				line = strings.TrimRight(line, " \t")
			}
			w.add(spaces(max(indentOf(line)-e.column+indent, indent+2)) + strings.TrimLeft(line, " "))
		}
	}
	w.glued = isBlock && end == block.last && end > e.first && isBlank(w.lines[end])
	w.lead(w.lines[end+1:e.last+1], indent)
}

// edge is the column, from 0, at which a collection begins that is not taken apart.
func (w *tidyWriter) edge(e entry, end int) int {
	if e.value.Line-1 == e.first && e.value.Style&yaml.TaggedStyle == 0 {
		return startOf(e.value)
	}
	edge := -1
	for i := e.first + 1; i <= end; i++ {
		if in := indentOf(w.lines[i]); !w.silent(i) && !w.inText[i] && (edge < 0 || in < edge) {
			edge = in
		}
	}
	return edge
}

// moved is a line of the content of a text, whose entry has that indentation now.
func (b textBlock) moved(line string, indent int) string {
	to := indent + 2
	if b.digit > 0 {
		to = indent + b.digit
	}
	if len(line) <= b.indent && isBlank(line) {
		return ""
	}
	return spaces(to) + line[min(b.indent, indentOf(line)):]
}

// asWritten writes lines that are not taken apart.
func (w *tidyWriter) asWritten(first, last int) {
	for last > first && w.silent(last) && isBlank(w.lines[last]) {
		last--
	}
	for i := first; i <= last; i++ {
		line := w.lines[i]
		if !w.inText[i] && (i+1 == len(w.lines) || !w.inText[i+1]) {
			line = strings.TrimRight(line, " \t")
		}
		w.add(line)
	}
}

// document is all lines, with an end.
func (w *tidyWriter) document() []byte {
	end := len(w.out)
	for end > 0 && w.out[end-1] == "" && !w.glued {
		end--
	}
	return []byte(strings.Join(w.out[:end], "\n") + "\n")
}

// flowLine is a list or mapping in braces, if it stands on one line, and how many
// bytes it takes as written; 0 if it is to be left as it is.
func (l *layout) flowLine(n *yaml.Node, is part, source string) (text string, length int) {
	if n.Kind == yaml.ScalarNode {
		return "", 0
	}
	length = flowBytes(source)
	text, ok := l.flow(n, is)
	if !ok {
		return "", 0
	}
	return text, length
}

// flow is a value on one line, with one space after each comma and colon; ok is
// false if it is written in a way that is not understood here.
func (l *layout) flow(n *yaml.Node, is part) (text string, ok bool) {
	at := n.Line - 1
	from := l.offset(at, n.Column)
	if from < 0 || from >= len(l.lines[at]) || n.Style&yaml.TaggedStyle != 0 {
		return "", false
	}
	source := l.lines[at][from:]
	switch n.Kind {
	case yaml.ScalarNode:
		length := scalarBytes(source, n)
		return source[:length], length > 0
	case yaml.MappingNode:
		parts, ok := l.flowFields(n, is)
		return "{" + strings.Join(parts, ", ") + "}", ok && source[0] == '{'
	case yaml.SequenceNode:
		parts, ok := l.flowItems(n, is)
		return "[" + strings.Join(parts, ", ") + "]", ok && source[0] == '['
	}
	return "", false
}

func (l *layout) flowItems(n *yaml.Node, is part) (parts []string, ok bool) {
	for _, item := range n.Content {
		text, ok := l.flow(item, is.inside(""))
		if !ok || item.Line != n.Line {
			return nil, false
		}
		parts = append(parts, text)
	}
	return parts, true
}

func (l *layout) flowFields(n *yaml.Node, is part) (parts []string, ok bool) {
	var names []string
	typ := ""
	for i := 0; i < len(n.Content); i += 2 {
		name, item := n.Content[i], n.Content[i+1]
		key, keyOK := l.flow(name, dataPart)
		text, ok := l.flow(item, is.inside(name.Value))
		if !ok || !keyOK || item.Line != n.Line || name.Kind != yaml.ScalarNode {
			return nil, false
		}
		if name.Value == "type" {
			typ = item.Value
		}
		names, parts = append(names, name.Value), append(parts, key+": "+text)
	}
	ordered := make([]string, len(parts))
	for to, from := range is.sorted(names, typ) {
		ordered[to] = parts[from]
	}
	return ordered, true
}

// flowBytes is how many bytes a list or mapping in braces takes, if it ends on
// its line; else 0.
func flowBytes(source string) int {
	n := flowLength([]rune(source))
	if n == 0 {
		return 0
	}
	return len(string([]rune(source)[:n]))
}

func spaces(n int) string { return strings.Repeat(" ", n) }
