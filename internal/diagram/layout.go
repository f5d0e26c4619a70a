package diagram

import (
	"strings"
)

// Measures, in pixels.
const (
	margin     = 24
	padding    = 14 // inside of boxes and frames
	lineHeight = 18
	below      = 30 // between what follows one another: the length of an arrow
	beside     = 26 // between what stands side by side
	fork       = 34 // between a question or bar and what it leads to
	join       = 26
	widest     = 1150 // of what stands side by side; more goes into rows
)

// shape is something with a size that draws itself at a place. Lines enter it at
// the middle of its top, and leave it at the middle of its bottom.
type shape struct {
	w, h int
	draw func(s *sheet, x, y int)
}

func layout(b *Block) shape {
	switch b.Kind {
	case Sequence:
		var parts []shape
		for _, part := range b.Parts {
			parts = append(parts, layout(part.Block))
		}
		return column(parts)
	case Parallel:
		return parallel(b)
	case Choice:
		return choice(b)
	case Frame:
		return frame(b)
	}
	return box(b)
}

// column is shapes from top to bottom, with arrows between them.
func column(parts []shape) shape {
	w, h := 0, -below
	for _, p := range parts {
		w, h = max(w, p.w), h+p.h+below
	}
	return shape{w, max(h, 0), func(s *sheet, x, y int) {
		for i, p := range parts {
			if i > 0 {
				s.path(true, x+w/2, y, x+w/2, y+below)
				y += below
			}
			p.draw(s, x+(w-p.w)/2, y)
			y += p.h
		}
	}}
}

// box is a step.
func box(b *Block) shape {
	name := b.Name
	if b.State != Unknown {
		name = b.State.sign() + " " + name
	}
	lines := []line{{shorten(oneLine(name), maxLabel), "name"}, {shorten(oneLine(b.Text), maxLabel), "text"}}
	for _, note := range b.Notes {
		lines = append(lines, line{note, "note"})
	}
	w := 110
	for _, l := range lines {
		w = max(w, textWidth(l.text, l.class)+2*padding+6)
	}
	h := len(lines)*lineHeight + padding
	class := "step"
	if b.State != Unknown {
		class += " is-" + b.State.class()
	}
	return shape{w, h, func(s *sheet, x, y int) {
		s.group(b.words())
		s.rect(x, y, w, h, 8, class)
		s.rect(x+6, y+7, 4, h-14, 2, "type-"+string(b.Type))
		for i, l := range lines {
			s.text(x+padding+6, y+padding/2+13+i*lineHeight, l)
		}
		s.endGroup()
	}}
}

// words are all that there is to say of a block.
func (b *Block) words() string {
	words := append([]string{b.title()}, b.Notes...)
	if b.State != Unknown {
		words = append(words, string(b.State))
	}
	return strings.Join(words, "; ")
}

func pill(text, class string) shape {
	text = shorten(oneLine(text), maxLabel)
	w := textWidth(text, class) + 2*padding
	return shape{w, 28, func(s *sheet, x, y int) {
		s.rect(x, y, w, 28, 14, "end")
		s.middle(x+w/2, y+18, line{text, class})
	}}
}

// sideBySide is shapes in a row, and where the middle of each is.
func sideBySide(parts []shape) (w, h int, middles []int) {
	w = -beside
	for _, p := range parts {
		middles = append(middles, w+beside+p.w/2)
		w, h = w+beside+p.w, max(h, p.h)
	}
	return max(w, 0), h, middles
}

func parallel(b *Block) shape {
	var parts []shape
	for _, part := range b.Parts {
		parts = append(parts, layout(part.Block))
	}
	w, h, middles := sideBySide(parts)
	if w > widest {
		return framed(b, grid(parts), "frame")
	}
	rowWidth := w
	name := shorten(oneLine(b.Name), maxLabel)
	first, last := middles[0]-padding, middles[len(middles)-1]+padding
	if name != "" { // it stands behind the bar
		w = max(w, 2*(last-w/2+textWidth(name, "caption")+padding))
	}
	return shape{w, 4 + join + h + join + 4, func(s *sheet, x, y int) {
		left := x + (w-rowWidth)/2
		s.rect(left+first, y, last-first, 4, 2, "bar")
		if name != "" {
			s.text(left+last+6, y+6, line{name, "caption"})
		}
		bottom := y + 4 + join + h + join
		for i, p := range parts {
			at, top := left+middles[i], y+4+join
			s.path(true, at, y+4, at, top)
			p.draw(s, at-p.w/2, top)
			s.path(false, at, top+p.h, at, bottom)
		}
		s.rect(left+first, bottom, last-first, 4, 2, "bar")
	}}
}

// grid is shapes side by side in as many rows as it takes, without lines.
func grid(parts []shape) shape {
	var rows [][]shape
	used := widest
	for _, p := range parts {
		if used+beside+p.w > widest {
			rows, used = append(rows, nil), -beside
		}
		last := len(rows) - 1
		rows[last] = append(rows[last], p)
		used += beside + p.w
	}
	width, height := 0, -beside/2
	for _, r := range rows {
		w, h, _ := sideBySide(r)
		width, height = max(width, w), height+h+beside/2
	}
	return shape{width, height, func(s *sheet, x, y int) {
		for _, r := range rows {
			_, h, middles := sideBySide(r)
			for i, p := range r {
				p.draw(s, x+middles[i]-p.w/2, y)
			}
			y += h + beside/2
		}
	}}
}

// choice is a question, from which lines lead to the branches and on.
func choice(b *Block) shape {
	question := shorten(oneLine(b.title()), maxLabel)
	head := textWidth(question, "text") + 2*padding + 20
	const headHeight = 34
	var parts []shape
	var labels []string
	for _, part := range b.Parts {
		inner := layout(part.Block)
		parts = append(parts, widened(inner, 2*textWidth(part.Label, "label")+30))
		labels = append(labels, part.Label)
	}
	if len(parts) == 1 {
		parts, labels = append(parts, shape{80, 0, func(*sheet, int, int) {}}), append(labels, "else")
	}
	rowWidth, h, middles := sideBySide(parts)
	w := max(head, rowWidth)
	return shape{w, headHeight + fork + h + join, func(s *sheet, x, y int) {
		mid, left := x+w/2, x+(w-rowWidth)/2
		s.group(b.words())
		s.hexagon(mid-head/2, y, head, headHeight)
		s.middle(mid, y+headHeight/2+4, line{question, "text"})
		s.endGroup()
		turn, top, bottom := y+headHeight+10, y+headHeight+fork, y+headHeight+fork+h+join
		for i, p := range parts {
			at := left + middles[i]
			s.path(p.h > 0, mid, y+headHeight, mid, turn, at, turn, at, top)
			s.text(at+7, top-8, line{labels[i], "label"})
			p.draw(s, at-p.w/2, top)
			s.path(false, at, top+p.h, at, bottom-8, mid, bottom-8, mid, bottom)
		}
	}}
}

// widened is a shape in the middle of at least so much room.
func widened(inner shape, least int) shape {
	w := max(inner.w, least)
	return shape{w, inner.h, func(s *sheet, x, y int) { inner.draw(s, x+(w-inner.w)/2, y) }}
}

func (s *sheet) hexagon(x, y, w, h int) {
	const cut = 12
	points := []int{x + cut, y, x + w - cut, y, x + w, y + h/2, x + w - cut, y + h, x + cut, y + h, x, y + h/2}
	s.polygon(points, "ask")
}

// frame is what a caption says about what stands in it.
func frame(b *Block) shape {
	_, _, least := captionOf(b)
	if b.Key != "" {
		return framed(b, partsOf(b, least), "frame nested")
	}
	return framed(b, partsOf(b, least), "frame")
}

// partsOf are a frame's parts from top to bottom: those with a label are divided
// from what stands above, over the whole width of the frame, which is at least so wide.
func partsOf(b *Block, least int) shape {
	var inner []shape
	w, h := least, 0
	for _, part := range b.Parts {
		p := layout(part.Block)
		inner = append(inner, p)
		w, h = max(w, p.w, textWidth(part.Label, "label")), h+p.h
		if part.Label != "" {
			h += padding + lineHeight + padding/2
		}
	}
	return shape{w, h, func(s *sheet, x, y int) {
		for i, p := range inner {
			if label := b.Parts[i].Label; label != "" {
				y += padding
				if i > 0 {
					s.split(x-padding, y, w+2*padding)
				}
				s.text(x, y+lineHeight-2, line{label, "label"})
				y += lineHeight + padding/2
			}
			p.draw(s, x+(w-p.w)/2, y)
			y += p.h
		}
	}}
}

// captionOf is the caption of a block's frame, and how wide it is in all.
func captionOf(b *Block) (name, text string, width int) {
	name = shorten(oneLine(b.Name), maxLabel)
	if name != "" && b.State != Unknown {
		name = b.State.sign() + " " + name
	}
	text = shorten(oneLine(strings.Join(append([]string{b.Text}, b.Notes...), " · ")), maxCaption)
	return name, text, captionGap(name) + textWidth(text, "caption")
}

// captionGap is where the text of a caption begins.
func captionGap(name string) int {
	if name == "" {
		return 0
	}
	return textWidth(name, "name") + 8
}

// framed draws a frame with a block's caption around a shape.
func framed(b *Block, inner shape, class string) shape {
	name, text, least := captionOf(b)
	gap := captionGap(name)
	w := max(inner.w, least) + 2*padding
	h := lineHeight + padding + inner.h + padding
	if b.State != Unknown {
		class += " is-" + b.State.class()
	}
	return shape{w, h, func(s *sheet, x, y int) {
		s.group(b.words())
		s.rect(x, y, w, h, 10, class)
		if name != "" {
			s.text(x+padding, y+lineHeight, line{name, "name"})
		}
		s.text(x+padding+gap, y+lineHeight, line{text, "caption"})
		s.endGroup()
		inner.draw(s, x+(w-inner.w)/2, y+lineHeight+padding)
	}}
}
