package workflow

import (
	"strings"
	"unicode/utf8"
)

// inside is the place of a part of a string, n bytes at an offset of its
// content, where the document shows it as it is: on one line without escapes, or
// in a literal block. Elsewhere it is the place of the whole string.
func (t *text) inside(v *value, offset, n int) span {
	if v.kind != stringKind || offset < 0 || offset > len(v.text) {
		return v.at
	}
	rest := string(t.from(v.at))
	if strings.HasPrefix(rest, "|") {
		return t.insideBlock(v, offset, n)
	}
	skip := 0
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		skip = 1
	}
	if !strings.HasPrefix(rest[skip:], v.text) {
		return v.at
	}
	return column(v.at.line, v.at.col+skip, v.text, offset, n)
}

// insideBlock is inside for a literal block: its lines follow the line of the
// indicator, each with the same indentation.
func (t *text) insideBlock(v *value, offset, n int) span {
	before := v.text[:offset]
	number := v.at.line + 1 + strings.Count(before, "\n")
	start := strings.LastIndexByte(before, '\n') + 1
	content, _, _ := strings.Cut(v.text[start:], "\n")
	if number > len(t.lines) || !strings.HasSuffix(t.lines[number-1], content) {
		return v.at
	}
	indent := len(t.lines[number-1]) - len(content)
	return column(number, 1+indent, content, offset-start, n)
}

// column is the place of n bytes at an offset of a text that begins at col.
func column(line, col int, content string, offset, n int) span {
	offset = min(offset, len(content))
	n = min(n, len(content)-offset)
	s := span{line: line, col: col + utf8.RuneCountInString(content[:offset])}
	if n > 0 {
		s.end = s.col + utf8.RuneCountInString(content[offset:offset+n])
	}
	return s
}

// masked is the text without the strings that look like credentials.
func (t *text) masked(secrets []foundSecret) *text {
	out := &text{name: t.name, lines: append([]string(nil), t.lines...)}
	for _, s := range secrets {
		out.hide(s.v.at)
	}
	return out
}

// hide masks a string. One that ends on another line, or nobody knows where, is
// masked with everything below it that is indented more than its own line.
func (t *text) hide(at span) {
	if t.from(at) == nil {
		return
	}
	if at.end > 0 {
		t.mask(at.line, at.col-1, at.end-1)
		return
	}
	t.mask(at.line, at.col-1, -1)
	indent := indentation(t.lines[at.line-1])
	for n := at.line + 1; n <= len(t.lines); n++ {
		if strings.TrimSpace(t.lines[n-1]) != "" && indentation(t.lines[n-1]) <= indent {
			return
		}
		t.mask(n, 0, -1)
	}
}

// mask replaces the characters of a line from a column, from 0, up to another;
// -1 is its end.
func (t *text) mask(line, from, to int) {
	runes := []rune(t.lines[line-1])
	if to < 0 || to > len(runes) {
		to = len(runes)
	}
	for i := from; i < to; i++ {
		if runes[i] != ' ' && runes[i] != '\t' {
			runes[i] = '*'
		}
	}
	t.lines[line-1] = string(runes)
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
