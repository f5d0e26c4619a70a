// Package term draws on terminals: colours where they are wanted, and a few
// lines that are drawn again and again in place. It sets no terminal mode and
// hides no cursor, so that a process that is killed leaves the shell as it was.
package term

import (
	"hash/fnv"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// Palette colours text, or leaves it alone: its zero value is colourless.
type Palette struct{ on bool }

// NewPalette colours if on.
func NewPalette(on bool) Palette { return Palette{on: on} }

// On reports whether the palette colours.
func (p Palette) On() bool { return p.on }

func (p Palette) style(s string, attrs ...ansi.Attr) string {
	if !p.on || s == "" {
		return s
	}
	return ansi.NewStyle(attrs...).Styled(s)
}

// Bold is for what is looked for first.
func (p Palette) Bold(s string) string { return p.style(s, ansi.AttrBold) }

// Faint is for what can be passed over.
func (p Palette) Faint(s string) string { return p.style(s, ansi.AttrFaint) }

// Good is for what succeeded.
func (p Palette) Good(s string) string { return p.style(s, ansi.AttrGreenForegroundColor) }

// Bad is for what failed.
func (p Palette) Bad(s string) string { return p.style(s, ansi.AttrRedForegroundColor) }

// Busy is for what goes on now.
func (p Palette) Busy(s string) string { return p.style(s, ansi.AttrCyanForegroundColor) }

// Warn is for what waits for someone.
func (p Palette) Warn(s string) string { return p.style(s, ansi.AttrYellowForegroundColor) }

// Tint tells things apart: one name always has the same colour.
func (p Palette) Tint(name string) func(string) string {
	colours := []ansi.Attr{
		ansi.AttrCyanForegroundColor, ansi.AttrYellowForegroundColor, ansi.AttrGreenForegroundColor,
		ansi.AttrMagentaForegroundColor, ansi.AttrBlueForegroundColor,
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	colour := colours[h.Sum32()%uint32(len(colours))]
	return func(s string) string { return p.style(s, colour) }
}

// IsTerminal reports whether w is a terminal that can redraw lines.
func IsTerminal(w io.Writer, env func(string) string) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && env("TERM") != "dumb"
}

// WantsColour reports whether to colour what is written to w: on a terminal,
// unless NO_COLOR is set to anything (https://no-color.org).
func WantsColour(w io.Writer, env func(string) string) bool {
	return env("NO_COLOR") == "" && IsTerminal(w, env)
}

// Size gives the size of the terminal w in columns and lines; 80 by 24 if it
// does not say.
func Size(w io.Writer) (columns, lines int) {
	if f, ok := w.(*os.File); ok {
		if c, l, err := term.GetSize(int(f.Fd())); err == nil && c > 0 && l > 0 {
			return c, l
		}
	}
	return 80, 24
}

// LastShown is what a terminal would show at last of a line in which a program
// went back to the beginning to write over what it had written.
func LastShown(line string) string {
	line = strings.TrimRight(line, "\r")
	return line[strings.LastIndexByte(line, '\r')+1:]
}

// Clean makes text of unknown origin safe to show on one line of a terminal:
// control and formatting characters, escape sequences with them, are replaced.
func Clean(s string) string {
	s = ansi.Strip(s)
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t' || c == '\r':
			return ' '
		case c < ' ' || c >= 0x7f && c < 0xa0 || isFormatting(c):
			return '\ufffd'
		}
		return c
	}, s)
}

// isFormatting tells of characters that change the order or the place of what
// is shown around them.
func isFormatting(c rune) bool {
	return c == 0x061c || c == 0xfeff ||
		c >= 0x200b && c <= 0x200f && c != 0x200d || // keep the joiner of emoji
		c >= 0x2028 && c <= 0x202e || c >= 0x2066 && c <= 0x2069
}
