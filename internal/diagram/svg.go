package diagram

import (
	"fmt"
	"strings"
)

// SVG is the plan as a picture: one that stands alone, loads nothing, runs
// nothing, follows the reader's light or dark colours, and says in words what it
// shows (title and desc, WAI-ARIA role img).
func (p *Plan) SVG() string {
	s := &sheet{id: "plan-" + slug(p.Ref)}
	body := column([]shape{
		pill(p.Ref, "name"), layout(p.Root), pill("end", "text"),
	})
	head := []line{{p.Ref, "title"}}
	if p.Description != "" {
		head = append(head, line{shorten(oneLine(p.Description), 110), "text"})
	}
	if p.Budgets != "" {
		head = append(head, line{p.Budgets, "note"})
	}
	top := margin + len(head)*lineHeight + margin/2
	width := body.w
	for _, l := range head {
		width = max(width, textWidth(l.text, l.class))
	}
	width += 2 * margin
	height := top + body.h + margin
	for i, l := range head {
		s.text(margin, margin+10+i*lineHeight, l)
	}
	body.draw(s, (width-body.w)/2, top)
	return p.document(s, width, height)
}

func (p *Plan) document(s *sheet, width, height int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="%s-title %s-desc">`+"\n",
		width, height, width, height, s.id, s.id)
	fmt.Fprintf(&b, "<title id=\"%s-title\">Plan of %s</title>\n", s.id, escape(oneLine(p.Ref)))
	fmt.Fprintf(&b, "<desc id=\"%s-desc\">%s</desc>\n", s.id, escapeLines(p.tree()))
	fmt.Fprintf(&b, "<style>%s</style>\n", style(p.Root.marked()))
	fmt.Fprintf(&b, `<defs><marker id="%s-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>`+"\n", s.id)
	fmt.Fprintf(&b, `<rect class="page" width="%d" height="%d" rx="10"/>`+"\n", width, height)
	b.WriteString(s.b.String())
	b.WriteString("</svg>\n")
	return b.String()
}

// marked reports whether the states of a run are shown.
func (b *Block) marked() bool {
	if b.State != Unknown {
		return true
	}
	for _, part := range b.Parts {
		if part.Block.marked() {
			return true
		}
	}
	return false
}

// line is a text and the class of its style.
type line struct{ text, class string }

// sheet takes what is drawn. Coordinates are pixels from the top left.
type sheet struct {
	b  strings.Builder
	id string // that no other picture on a page has
}

func (s *sheet) text(x, y int, l line) {
	fmt.Fprintf(&s.b, `<text x="%d" y="%d" class="%s">%s</text>`+"\n", x, y, l.class, escape(l.text))
}

func (s *sheet) middle(x, y int, l line) {
	fmt.Fprintf(&s.b, `<text x="%d" y="%d" class="%s" text-anchor="middle">%s</text>`+"\n", x, y, l.class, escape(l.text))
}

func (s *sheet) rect(x, y, w, h, round int, class string) {
	fmt.Fprintf(&s.b, `<rect x="%d" y="%d" width="%d" height="%d" rx="%d" class="%s"/>`+"\n", x, y, w, h, round, class)
}

// path draws a line through points, x before y, with round corners.
func (s *sheet) path(arrow bool, points ...int) {
	d := fmt.Sprintf("M%d %d", points[0], points[1])
	for i := 2; i < len(points); i += 2 {
		x, y := points[i], points[i+1]
		if i+2 < len(points) {
			fromX, fromY := towards(x, y, points[i-2], points[i-1])
			toX, toY := towards(x, y, points[i+2], points[i+3])
			d += fmt.Sprintf(" L%d %d Q%d %d %d %d", fromX, fromY, x, y, toX, toY)
			continue
		}
		d += fmt.Sprintf(" L%d %d", x, y)
	}
	tip := ""
	if arrow {
		tip = fmt.Sprintf(` marker-end="url(#%s-tip)"`, s.id)
	}
	fmt.Fprintf(&s.b, `<path class="line" d="%s"%s/>`+"\n", d, tip)
}

// towards is the point on the way from one to another at which a corner begins.
func towards(x, y, toX, toY int) (int, int) {
	const radius = 8
	step := func(from, to int) int {
		switch {
		case to > from:
			return from + min(radius, (to-from)/2)
		case to < from:
			return from - min(radius, (from-to)/2)
		}
		return from
	}
	return step(x, toX), step(y, toY)
}

// group begins a group whose title a reader sees when pointing at it.
func (s *sheet) group(title string) {
	fmt.Fprintf(&s.b, "<g><title>%s</title>\n", escape(oneLine(title)))
}

func (s *sheet) endGroup() { s.b.WriteString("</g>\n") }

// escape makes a text safe in XML, without the characters that XML cannot hold.
func escape(text string) string {
	text = strings.Map(func(c rune) rune {
		if c == 0xfffe || c == 0xffff || c < ' ' && c != '\n' {
			return '\ufffd'
		}
		return c
	}, text)
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace(text)
}

func escapeLines(lines []string) string { return escape(strings.Join(lines, "\n")) }

// slug is a text as part of an id.
func slug(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' {
			return c
		}
		return '-'
	}, text)
}

func (s *sheet) polygon(points []int, class string) {
	var at []string
	for i := 0; i < len(points); i += 2 {
		at = append(at, fmt.Sprintf("%d,%d", points[i], points[i+1]))
	}
	fmt.Fprintf(&s.b, `<polygon points="%s" class="%s"/>`+"\n", strings.Join(at, " "), class)
}

// split draws a line across a frame.
func (s *sheet) split(x, y, w int) {
	fmt.Fprintf(&s.b, `<path class="split" d="M%d %dh%d"/>`+"\n", x, y, w)
}
