package file

import (
	"fmt"
	"strconv"
	"strings"
)

// maxNearWork bounds how many lines are compared to find a near miss.
const maxNearWork = 20_000_000

// nearest says where in a text something like old stands, and what is different
// there: most often white space, or one line that has changed.
func nearest(text, old string) string {
	lines, wanted := splitLines(text), splitLines(old)
	if len(lines)*len(wanted) > maxNearWork {
		return "the text is too long to look for what comes close"
	}
	if at, same := closest(lines, wanted); same > 0 {
		return difference(lines, wanted, at)
	}
	if len(wanted) == 1 {
		return nearLine(lines, wanted[0])
	}
	return "nothing like it is there"
}

func splitLines(s string) []string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return lines
}

// closest is where most of the wanted lines stand, white space at their ends left
// aside, and how many of them do.
func closest(lines, wanted []string) (at, same int) {
	trimmed, want := trimAll(lines), trimAll(wanted)
	for i := range trimmed {
		n := 0
		for j := range min(len(want), len(trimmed)-i) {
			if want[j] != "" && trimmed[i+j] == want[j] {
				n++
			}
		}
		if n > same {
			at, same = i, n
		}
	}
	return at, same
}

func trimAll(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimSpace(line)
	}
	return out
}

// difference names the first line that keeps wanted from matching at a place.
func difference(lines, wanted []string, at int) string {
	for i, want := range wanted {
		if at+i >= len(lines) {
			return fmt.Sprintf("it begins on line %d, and the file ends before it does", at+1)
		}
		if got := lines[at+i]; strings.TrimSpace(got) != strings.TrimSpace(want) {
			return fmt.Sprintf("line %d comes closest, but line %d is %s, not %s", at+1, at+i+1, quoted(got), quoted(want))
		}
	}
	for i, want := range wanted {
		if got := lines[at+i]; !fits(got, want, i == 0, i == len(wanted)-1) {
			return fmt.Sprintf("on line %d only white space differs: it is %s, not %s", at+i+1, quoted(got), quoted(want))
		}
	}
	return fmt.Sprintf("line %d comes closest: the ends of its lines differ", at+1)
}

// fits reports whether a line holds what is wanted of it: of the first line the
// end, of the last the beginning.
func fits(line, want string, first, last bool) bool {
	switch {
	case first && last:
		return strings.Contains(line, want)
	case first:
		return strings.HasSuffix(line, want)
	case last:
		return strings.HasPrefix(line, want)
	}
	return line == want
}

// nearLine looks for a line that holds a part like the wanted one.
func nearLine(lines []string, want string) string {
	squeezed := strings.Join(strings.Fields(want), " ")
	if squeezed == "" {
		return "nothing like it is there"
	}
	for i, line := range lines {
		if strings.Contains(strings.Join(strings.Fields(line), " "), squeezed) {
			return fmt.Sprintf("on line %d only white space differs: it is %s", i+1, quoted(line))
		}
	}
	for i, line := range lines {
		if strings.Contains(strings.ToLower(line), strings.ToLower(want)) {
			return fmt.Sprintf("on line %d only capital letters differ: it is %s", i+1, quoted(line))
		}
	}
	// What begins alike is most likely what was meant.
	want = strings.TrimSpace(want)
	begin := want[:len(want)/2]
	for i, line := range lines {
		if len(begin) >= 4 && strings.Contains(line, begin) {
			return fmt.Sprintf("line %d comes closest: it is %s", i+1, quoted(line))
		}
	}
	return "nothing like it is there"
}

// quoted shows a line with its white space, cut if it is long.
func quoted(line string) string {
	const most = 100
	if r := []rune(line); len(r) > most {
		line = string(r[:most]) + "…"
	}
	return strconv.Quote(line)
}
