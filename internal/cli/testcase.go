package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/culm-dev/culm/internal/cli/term"
)

// show writes one case: how it went, and what is wrong with it, indented.
func (c testedCase) show(b *strings.Builder, palette term.Palette) {
	verdict := palette.Good("ok  ")
	if !c.OK {
		verdict = palette.Bad("FAIL")
	}
	fmt.Fprintf(b, "  %s  %s", verdict, term.Clean(c.Name))
	if notes := c.notes(); notes != "" {
		b.WriteString("  " + palette.Faint("("+notes+")"))
	}
	b.WriteByte('\n')
	for _, problem := range c.Problems {
		for i, line := range strings.Split(problem, "\n") {
			indent := "        "
			if i > 0 {
				indent += "  "
			}
			fmt.Fprintf(b, "%s%s\n", indent, term.Clean(strings.TrimRight(line, " ")))
		}
	}
}

// notes say how much time passed for the run, and how often the process died.
func (c testedCase) notes() string {
	var notes []string
	if passed := time.Duration(c.PassedMS) * time.Millisecond; passed >= time.Second {
		notes = append(notes, passed.Round(time.Second).String()+" of its time")
	}
	switch {
	case c.Crashes == 1:
		notes = append(notes, "died once")
	case c.Crashes > 1:
		notes = append(notes, fmt.Sprintf("died at %d places", c.Crashes))
	}
	return strings.Join(notes, ", ")
}
