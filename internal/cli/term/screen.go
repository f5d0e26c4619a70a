package term

import (
	"io"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
)

// Screen keeps a block of lines at the end of a terminal's output and draws it
// again in place. Each change is one write, so that a process that dies between
// two of them leaves whole lines and the cursor below them. It is safe for
// concurrent use.
type Screen struct {
	w    io.Writer
	size func() (columns, lines int)

	mu    sync.Mutex
	drawn []int // the widths of the lines that stand there
}

// NewScreen draws on w, whose size is asked for at every change.
func NewScreen(w io.Writer, size func() (columns, lines int)) *Screen {
	return &Screen{w: w, size: size}
}

// Size is the terminal's size now.
func (s *Screen) Size() (columns, lines int) { return s.size() }

// Draw replaces the block. Lines are cut at the terminal's width, and what does
// not fit its height is left away at the end.
func (s *Screen) Draw(block []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	columns, lines := s.size()
	if most := max(lines-1, 1); len(block) > most {
		block = block[:most]
	}
	return s.replace(nil, block, columns)
}

// Above writes lines for good above the block.
func (s *Screen) Above(text ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	columns, _ := s.size()
	return s.replace(text, nil, columns)
}

// Leave writes the block a last time, whole, and lets it stand.
func (s *Screen) Leave(block []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	columns, _ := s.size()
	cut := make([]string, len(block))
	for i, line := range block {
		cut[i] = ansi.Truncate(line, columns, "…")
	}
	return s.replace(cut, nil, columns)
}

func (s *Screen) replace(above, block []string, columns int) error {
	var b strings.Builder
	b.WriteString(ansi.SetModeSynchronizedOutput)
	s.erase(&b, columns)
	for _, line := range above {
		b.WriteString(line)
		b.WriteString("\r\n")
	}
	s.drawn = s.drawn[:0]
	for _, line := range block {
		// The last column stays free: terminals differ in what writing there does.
		line = ansi.Truncate(line, max(columns-1, 1), "…")
		s.drawn = append(s.drawn, ansi.StringWidth(line))
		b.WriteString(line)
		b.WriteString("\r\n")
	}
	b.WriteString(ansi.ResetModeSynchronizedOutput)
	_, err := io.WriteString(s.w, b.String())
	return err
}

// erase goes back to where the block begins. A terminal that became narrower
// has wrapped its lines.
func (s *Screen) erase(b *strings.Builder, columns int) {
	rows := 0
	for _, width := range s.drawn {
		rows += max((width+columns-1)/columns, 1)
	}
	b.WriteByte('\r')
	if rows > 0 {
		b.WriteString(ansi.CursorUp(rows))
	}
	b.WriteString(ansi.EraseScreenBelow)
}
