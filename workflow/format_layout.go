package workflow

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// formatYAML lays a YAML document out. It moves lines, rather than writing the
// document anew from what it means: comments, quotes and the line breaks of long
// values are the author's, and a library that writes YAML loses some of them.
func formatYAML(data []byte) ([]byte, error) {
	if strings.ContainsAny(string(data), "\u0085\u2028\u2029") {
		return nil, fmt.Errorf("%w: it holds a line break that only YAML knows, such as U+2028; write it as an escape", ErrLayout)
	}
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&doc); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLayout, err)
	}
	l := newLayout(data)
	root := doc.Content[0]
	l.protect(root, 0)
	first, last := l.document(root)
	w := &tidyWriter{layout: l}
	for _, line := range l.lines[:first] {
		w.add(strings.TrimRight(line, " \t"))
	}
	if l.opens(root) {
		entries, foot := l.entries(root, definitionPart, first, last)
		// What stands above all is about the document, not about its first field.
		w.lead(entries[0].lead, 0)
		entries[0].lead = nil
		w.entries(entries, foot, definitionPart, 0)
	} else {
		w.asWritten(first, last)
	}
	for _, line := range l.lines[last+1:] {
		w.add(strings.TrimRight(line, " \t"))
	}
	return w.document(), nil
}

// layout is a document as lines, and which of them belong to a text.
type layout struct {
	lines []string // counted from 0; nodes count from 1
	// inText marks lines that a quoted text or a block of text goes on in:
	// nothing in them is a comment, and blank ones count.
	inText []bool
	blocks map[*yaml.Node]textBlock
	last   struct{ line, column, offset int } // see offset
}

// textBlock is where the content of a literal or folded text stands.
type textBlock struct {
	last   int // line; that of the header if it is empty
	indent int // of the content
	digit  int // that the header says; 0 if it says none
}

func newLayout(data []byte) *layout {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data))
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return &layout{lines: lines, inText: make([]bool, len(lines)), blocks: map[*yaml.Node]textBlock{}}
}

// document is the range of lines of the root: what stands before the last
// directive or marker above it, and from a marker of the end on, is outside.
func (l *layout) document(root *yaml.Node) (first, last int) {
	for i := range min(root.Line, len(l.lines)) {
		if strings.HasPrefix(l.lines[i], "---") && i+1 < root.Line {
			first = i + 1
		}
	}
	for i := root.Line; i < len(l.lines); i++ {
		if l.lines[i] == "..." || strings.HasPrefix(l.lines[i], "... ") {
			return first, i - 1
		}
	}
	return first, len(l.lines) - 1
}

// protect finds the texts below a node. parent is the indentation of the block
// that it stands in.
func (l *layout) protect(n *yaml.Node, parent int) {
	switch {
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		l.protectBlock(n, parent)
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		l.protectQuoted(n)
	default:
		if n.Style&yaml.FlowStyle == 0 {
			parent = n.Column - 1
		}
		for _, child := range n.Content {
			l.protect(child, parent)
		}
	}
}

var blockHeader = regexp.MustCompile(`[|>]([-+]?)([1-9]?)([-+]?)[ \t]*(?:[ \t]#.*)?$`)

func (l *layout) protectBlock(n *yaml.Node, parent int) {
	at := n.Line - 1
	header := blockHeader.FindStringSubmatch(l.lines[at])
	if header == nil {
		return // the header stands elsewhere, behind a tag
	}
	b := textBlock{last: at, indent: -1}
	if header[2] != "" {
		b.digit = int(header[2][0] - '0')
		b.indent = parent + b.digit
	}
	keep := header[1] == "+" || header[3] == "+"
	for i := at + 1; i < len(l.lines); i++ {
		blank := isBlank(l.lines[i])
		if b.indent < 0 && !blank {
			b.indent = max(indentOf(l.lines[i]), parent+1)
		}
		if !blank && indentOf(l.lines[i]) < b.indent {
			break
		}
		if !blank || keep {
			b.last = i
		}
	}
	for i := at + 1; i <= b.last; i++ {
		l.inText[i] = true
	}
	l.blocks[n] = b
}

func (l *layout) protectQuoted(n *yaml.Node) {
	at := n.Line - 1
	start := l.offset(at, n.Column)
	if start < 0 || start >= len(l.lines[at]) {
		return
	}
	quote := l.lines[at][start]
	if quote != '"' && quote != '\'' {
		return // a tag stands before it
	}
	for i, from := at, start+1; i < len(l.lines); i, from = i+1, 0 {
		if i > at {
			l.inText[i] = true
		}
		if closing(l.lines[i][from:], quote) >= 0 {
			return
		}
	}
}

// closing is where a quoted text ends in the rest of a line; -1 if it goes on.
func closing(rest string, quote byte) int {
	for i := 0; i < len(rest); i++ {
		switch {
		case rest[i] == '\\' && quote == '"':
			i++
		case rest[i] != quote:
		case quote == '\'' && i+1 < len(rest) && rest[i+1] == '\'':
			i++
		default:
			return i
		}
	}
	return -1
}

// offset is the byte at which a column, counted in characters from 1, stands in
// a line; -1 if the line is shorter. It counts from the last place that was asked
// for, if that is before it: one line may hold everything.
func (l *layout) offset(line, column int) int {
	if line < 0 || line >= len(l.lines) {
		return -1
	}
	at, reached := 0, 1
	if l.last.line == line && l.last.column > 0 && l.last.column <= column {
		at, reached = l.last.offset, l.last.column
	}
	for ; reached < column; reached++ {
		if at >= len(l.lines[line]) {
			return -1
		}
		_, n := utf8.DecodeRuneInString(l.lines[line][at:])
		at += n
	}
	l.last.line, l.last.column, l.last.offset = line, column, at
	return at
}

func isBlank(line string) bool { return strings.Trim(line, " \t") == "" }

func isComment(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") }

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// silent reports a line that is only blank or a comment.
func (l *layout) silent(i int) bool {
	return !l.inText[i] && (isBlank(l.lines[i]) || isComment(l.lines[i]))
}

// lastContent is the last line in a range that is neither blank nor a comment.
func (l *layout) lastContent(from, to int) int {
	for to > from && l.silent(to) {
		to--
	}
	return to
}

// splitAt divides what stands between an entry that begins on a line and the
// next one, or the end: from the line that it gives on, comments and blank lines
// are no longer the entry's. Comments that stand deeper are.
func (l *layout) splitAt(entry, next, column int) int {
	end := l.lastContent(entry, next-1)
	at := next
	for i := end + 1; i < next; i++ {
		if isComment(l.lines[i]) && indentOf(l.lines[i]) <= column {
			at = i
			break
		}
	}
	for at-1 > end && isBlank(l.lines[at-1]) {
		at--
	}
	return at
}

// startOf is where the entries of a block begin, from 0.
func startOf(n *yaml.Node) int { return n.Column - 1 }

// opens reports whether a node is a mapping or list whose entries stand on lines
// of their own, in a way that can be taken apart.
func (l *layout) opens(n *yaml.Node) bool {
	if n.Style&(yaml.FlowStyle|yaml.TaggedStyle) != 0 || len(n.Content) == 0 {
		return false
	}
	switch n.Kind {
	case yaml.MappingNode:
		return l.heads(n) != nil
	case yaml.SequenceNode:
		return l.dashes(n) != nil
	}
	return false
}

// head is where an entry begins: its line, and the bytes of its key and colon.
type head struct{ line, from, to int }

// heads finds the keys of a mapping; nil if one is written in a way that is not
// understood here.
func (l *layout) heads(n *yaml.Node) []head {
	var heads []head
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		at := key.Line - 1
		from := l.offset(at, key.Column)
		if from < 0 || key.Column != n.Column || i > 0 && !isBlank(l.lines[at][:from]) || i == 0 && strings.Trim(l.lines[at][:from], " -") != "" {
			return nil
		}
		length := scalarBytes(l.lines[at][from:], key)
		if length <= 0 {
			return nil
		}
		rest := l.lines[at][from+length:]
		trimmed := strings.TrimLeft(rest, " \t")
		if !strings.HasPrefix(trimmed, ":") {
			return nil
		}
		heads = append(heads, head{line: at, from: from, to: from + length + len(rest) - len(trimmed) + 1})
	}
	return heads
}

// scalarBytes is how many bytes a scalar takes at the beginning of a text; 0 if
// it is written in another way than it reads, or goes on in the next line.
func scalarBytes(text string, n *yaml.Node) int {
	if n.Kind != yaml.ScalarNode || text == "" {
		return 0
	}
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		return 0
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		if text[0] != '"' && text[0] != '\'' {
			return 0
		}
		if end := closing(text[1:], text[0]); end >= 0 {
			return end + 2
		}
	case n.Value != "" && strings.HasPrefix(text, n.Value):
		return len(n.Value)
	}
	return 0
}

// dashes finds the dashes of a list; nil if one cannot be found.
func (l *layout) dashes(n *yaml.Node) []head {
	var heads []head
	next := n.Line - 1
	for i, item := range n.Content {
		at := item.Line - 1
		for ; at > next && (l.silent(at) || !dashAt(l.lines[at], startOf(n))); at-- {
		}
		if !dashAt(l.lines[at], startOf(n)) || i > 0 && indentOf(l.lines[at]) != startOf(n) || emptyScalar(item) {
			return nil
		}
		heads = append(heads, head{line: at, from: startOf(n), to: startOf(n) + 1})
		next = at + 1
	}
	return heads
}

func emptyScalar(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Value == "" && plain(n) }

// dashAt reports whether an item of a list begins in a column, which no text
// stands before.
func dashAt(line string, column int) bool {
	if column >= len(line) || line[column] != '-' || strings.Trim(line[:column], " -") != "" {
		return false
	}
	return column+1 == len(line) || line[column+1] == ' ' || line[column+1] == '\t'
}

// entry is a field of a mapping or an item of a list, with its lines.
type entry struct {
	name  string
	lead  []string // comments and blank lines above
	head  string   // "name:" or "-"
	value *yaml.Node
	// rest is what stands behind the head on its line, first is the line of the
	// head, column where that begins, last the last line of the entry.
	rest                string
	first, column, last int
}

// entries takes a mapping or list apart, whose lines are those from first to
// last. foot is what stands below all of them.
func (l *layout) entries(n *yaml.Node, is part, first, last int) (entries []entry, foot []string) {
	heads, step := l.dashes, 1
	if n.Kind == yaml.MappingNode {
		heads, step = l.heads, 2
	}
	found := heads(n)
	for i, h := range found {
		e := entry{head: "-", value: n.Content[i*step+step-1], first: h.line, column: startOf(n)}
		if step == 2 {
			e.name = n.Content[i*step].Value
			e.head = strings.TrimRight(l.lines[h.line][h.from:h.to-1], " \t") + ":"
		}
		e.rest = l.lines[h.line][h.to:]
		e.lead = slices.Clone(l.lines[first:max(h.line, first)])
		next := last + 1
		if i+1 < len(found) {
			next = found[i+1].line
		}
		first = l.splitAt(h.line, next, startOf(n))
		e.last = first - 1
		entries = append(entries, e)
	}
	return entries, l.lines[first : last+1]
}
