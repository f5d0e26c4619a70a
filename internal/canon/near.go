package canon

import (
	"strings"
	"unicode/utf8"
)

// Near returns the candidate that word was most likely meant to be: the closest
// by edit distance (insertions, deletions, substitutions and swaps of
// neighbours; letter case weighs nothing), or "" when none is close. Of equals
// the first wins.
func Near(word string, candidates []string) string {
	// A third of the word may be wrong, but always one letter, and never more
	// than a reader would recognise.
	allowed := min(max(utf8.RuneCountInString(word)/3, 1), 4)
	best, bestDistance := "", allowed+1
	for _, candidate := range candidates {
		length := utf8.RuneCountInString(candidate) - utf8.RuneCountInString(word)
		if candidate == word || max(length, -length) > allowed {
			continue
		}
		d := distance(strings.ToLower(word), strings.ToLower(candidate))
		if d < bestDistance && d < utf8.RuneCountInString(candidate) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance is the optimal string alignment distance.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before []int // the row before the previous one
	previous := make([]int, len(y)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(previous[j]+1, row[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, previous = previous, row
	}
	return previous[len(y)]
}
