package file

import (
	"fmt"
	"strings"

	"github.com/culm-dev/culm/tool"
)

// applyEdits makes all edits in turn, and says how many places they changed. The
// path is for messages.
func applyEdits(path, text string, edits []edit) (string, int, error) {
	crlf := onlyCRLF(text)
	replaced := 0
	for i, e := range edits {
		if crlf {
			e.Old, e.New = toCRLF(e.Old), toCRLF(e.New)
		}
		n := strings.Count(text, e.Old)
		if why := e.refuses(text, n); why != "" {
			code := "several_matches"
			message := fmt.Sprintf("%sold stands %s in %q", place(edits, i), why, path)
			if n == 0 {
				code = "no_match"
				message += "; " + nearest(text, e.Old)
			} else {
				message += ", on " + lineNumbers(text, e.Old) + "; " + e.advice()
			}
			return "", 0, tool.Failed(code, false, message)
		}
		if len(text)+n*(len(e.New)-len(e.Old)) > maxEdit {
			return "", 0, tool.Failed("too_large", false, fmt.Sprintf("%s%q would become larger than %d MiB", place(edits, i), path, maxEdit>>20))
		}
		text = strings.ReplaceAll(text, e.Old, e.New)
		replaced += n
	}
	return text, replaced, nil
}

// refuses says why so many matches are not what was asked for; "" if they are.
func (e edit) refuses(text string, n int) string {
	switch {
	case n == 0:
		return "nowhere"
	case e.Count > 0 && n != e.Count:
		return fmt.Sprintf("%s, not %s", times(n), times(e.Count))
	case e.Count == 0 && !e.All && n > 1:
		return times(n)
	case e.Count == 0 && !e.All && strings.Index(text, e.Old) != strings.LastIndex(text, e.Old):
		return "more than once, overlapping itself"
	}
	return ""
}

func (e edit) advice() string {
	if e.Count > 0 {
		return "mend count, or give more of the text around it"
	}
	return "give more of the text around the one that is meant, or say all: true"
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// maxNamedLines is how many lines a message names.
const maxNamedLines = 10

// lineNumbers names the lines on which the matches of old begin.
func lineNumbers(text, old string) string {
	var lines []string
	line, more := 1, 0
	for {
		before, after, found := strings.Cut(text, old)
		if !found {
			break
		}
		line += strings.Count(before, "\n")
		if len(lines) < maxNamedLines {
			lines = append(lines, fmt.Sprint(line))
		} else {
			more++
		}
		line += strings.Count(old, "\n")
		text = after
	}
	word := "line "
	if len(lines) > 1 {
		word = "lines "
	}
	if more > 0 {
		return fmt.Sprintf("%s%s and %d more", word, strings.Join(lines, ", "), more)
	}
	return word + strings.Join(lines, ", ")
}

// onlyCRLF reports whether every line of a text that ends does so in CRLF.
func onlyCRLF(text string) bool {
	n := strings.Count(text, "\n")
	return n > 0 && n == strings.Count(text, "\r\n")
}

func toCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}
