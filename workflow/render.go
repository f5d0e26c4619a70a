package workflow

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// Render prints the errors as compilers do: the place and message, the line of
// source with the characters concerned underlined, and below it what was
// expected and what may help. color adds ANSI colours.
func (e Errors) Render(w io.Writer, color bool) error {
	p := &printer{color: color}
	for i := range e {
		if i > 0 {
			p.b.WriteByte('\n')
		}
		p.error(&e[i])
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// String is what Render prints without colours.
func (e Errors) String() string {
	var b strings.Builder
	_ = e.Render(&b, false) // a strings.Builder never fails
	return b.String()
}

// ANSI codes.
const (
	bold  = "1"
	red   = "1;31"
	blue  = "1;34"
	green = "1;32"
)

type printer struct {
	b     strings.Builder
	color bool
}

func (p *printer) paint(code, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p *printer) error(e *Error) {
	if place := e.Place(); place != "" {
		p.b.WriteString(p.paint(bold, visibleText(place)+":") + " ")
	}
	fmt.Fprintf(&p.b, "%s %s\n", p.paint(red, string(e.Code)+":"), p.paint(bold, visibleText(e.Message)))
	margin := p.source(e)
	p.note(margin, "expected ", e.Expected)
	if e.Near != "" {
		p.note(margin, "did you mean ", strconv.Quote(e.Near)+"?")
	}
	p.note(margin, "hint: ", e.Hint)
}

// note prints one line of advice.
func (p *printer) note(margin, lead, s string) {
	if s != "" {
		fmt.Fprintf(&p.b, "%s %s %s%s\n", margin, p.paint(blue, "="), lead, visibleText(s))
	}
}

// source prints the line concerned and marks the place in it. It returns the
// margin for what follows.
func (p *printer) source(e *Error) string {
	if e.text == nil || e.Line < 1 || e.Line > len(e.text.lines) {
		return "  "
	}
	number := strconv.Itoa(e.Line)
	margin := strings.Repeat(" ", max(len(number), 4))
	line, mark := excerpt([]rune(e.text.lines[e.Line-1]), e.Col-1, e.EndCol-1)
	bar := p.paint(blue, "|")
	fmt.Fprintf(&p.b, "%s %s %s\n", p.paint(blue, fmt.Sprintf("%*s", len(margin), number)), bar, line)
	fmt.Fprintf(&p.b, "%s %s %s\n", margin, bar, mark(p))
	return margin
}

const (
	excerptWidth = 100 // longer lines are cut to this around the place
	tabWidth     = 4
)

// excerpt shows a line and how to mark the characters from col up to end, from
// 0. Tabs become spaces, so that the mark stands below what it marks.
func excerpt(line []rune, col, end int) (shown string, mark func(p *printer) string) {
	col = min(max(col, 0), len(line))
	end = min(max(end, col+1), max(len(line), col+1))
	from, to := 0, len(line)
	lead, tail := "", ""
	if len(line) > excerptWidth {
		from = max(0, col-excerptWidth/3)
		to = min(len(line), from+excerptWidth)
		end = min(end, max(to, col+1))
	}
	if from > 0 {
		lead = "..."
	}
	if to < len(line) {
		tail = "..."
	}
	before, marked := expand(line[from:col]), expand(line[col:min(end, len(line))])
	shown = lead + before + marked + expand(line[min(end, to):to]) + tail
	return strings.TrimRight(shown, " "), func(p *printer) string {
		width := max(len([]rune(marked)), 1)
		under := "^" + strings.Repeat("~", width-1)
		return strings.Repeat(" ", len(lead)+len([]rune(before))) + p.paint(green, under)
	}
}

// expand makes every character of a line visible, one column wide but for tabs.
func expand(line []rune) string {
	return strings.ReplaceAll(visibleText(string(line)), "\t", strings.Repeat(" ", tabWidth))
}

// visibleText replaces what would move a terminal's cursor or change its state.
func visibleText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return '\ufffd'
	}, s)
}
