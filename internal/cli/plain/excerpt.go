package plain

import (
	"strings"
	"unicode/utf8"
)

// How much of either end of a text an excerpt has.
const (
	excerptLines = 20
	excerptBytes = 2 << 10
)

// Excerpt is what a page shows of a text: all of it if it is short, else its first
// and last lines and how many bytes there are between them. Long lines are cut.
func Excerpt(text string) (head, tail []string, between int64) {
	text = strings.TrimRight(text, "\n")
	if len(text) <= 2*excerptBytes && strings.Count(text, "\n") < 2*excerptLines {
		return strings.Split(text, "\n"), nil, 0
	}
	first := beginning(text)
	last := ending(text[len(first):])
	between = int64(len(text) - len(first) - len(last))
	return strings.Split(strings.TrimSuffix(first, "\n"), "\n"), strings.Split(last, "\n"), between
}

// beginning is the first lines of a text, whole ones if the first is not too long.
func beginning(text string) string {
	end := 0
	for range excerptLines {
		line, _, found := strings.Cut(text[end:], "\n")
		if !found || end+len(line)+1 > excerptBytes {
			break
		}
		end += len(line) + 1
	}
	if end == 0 {
		end = wholeBefore(text, min(excerptBytes, len(text)))
	}
	return text[:end]
}

// ending is the last lines of a text, whole ones if the last is not too long.
func ending(text string) string {
	begin := len(text)
	for range excerptLines {
		at := strings.LastIndexByte(text[:max(begin-1, 0)], '\n') + 1
		if at == 0 || len(text)-at > excerptBytes {
			break
		}
		begin = at
	}
	if begin == len(text) {
		begin = wholeBefore(text, max(len(text)-excerptBytes, 0))
	}
	return text[begin:]
}

// wholeBefore is the last place up to n that does not part a character.
func wholeBefore(text string, n int) int {
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}
