package diagram

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// textWidth is how wide a text is at most, in pixels. Which font a reader has is
// not known: this is what the widest of the usual ones need.
func textWidth(text, class string) int {
	thousandths := 0
	for _, c := range text {
		thousandths += runeWidth(c)
	}
	size := map[string]int{"name": 13, "title": 15, "note": 11}[class]
	if size == 0 {
		size = 12
	}
	if class == "name" || class == "title" {
		thousandths += thousandths / 12 // bold
	}
	return (thousandths*size + 999) / 1000
}

// runeWidth is the width of a character in thousandths of the font's size.
func runeWidth(c rune) int {
	switch {
	case c >= 0x80:
		return max(680, 1000*ansi.StringWidth(string(c))/2+100)
	case strings.ContainsRune("ijl.,:;'|!I", c):
		return 350
	case strings.ContainsRune("ft()[]{}/- \"r", c):
		return 440
	case strings.ContainsRune("mwMW@%", c):
		return 960
	case c >= 'A' && c <= 'Z', c == '_', strings.ContainsRune("+=<>~#&", c):
		return 760
	}
	return 630
}
