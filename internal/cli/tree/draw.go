package tree

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/culm-dev/culm/internal/cli/term"
)

// Fit shortens rows to at most the given number of lines. Stretches of what is
// over and of what is to come give way first; what goes on, failed or is in
// doubt stays as long as there is room.
func Fit(rows []Row, lines int) []Row {
	if len(rows) <= lines {
		return rows
	}
	for _, mark := range []Mark{Done, Pending} {
		rows = fold(rows, mark, len(rows)-lines)
		if len(rows) <= lines {
			return rows
		}
	}
	rows = loudest(rows, max(lines-1, 1))
	return append(rows, Row{Mark: Note, Name: "… and more"})
}

// fold replaces stretches of rows that are alike by one, beginning at the top,
// until enough lines are saved.
func fold(rows []Row, mark Mark, save int) []Row {
	var out []Row
	for i := 0; i < len(rows); {
		j := i
		for j < len(rows) && alike(rows[j], mark) {
			j++
		}
		n := j - i
		if n == 0 {
			out = append(out, rows[i])
			i++
			continue
		}
		if n == 1 || save <= 0 {
			out = append(out, rows[i:j]...)
			i = j
			continue
		}
		cut := min(n, save+1)
		out = append(out, Row{Mark: mark, Depth: rows[i].Depth, Name: foldedName(mark, steps(rows[i:i+cut]))})
		out = append(out, rows[i+cut:j]...)
		save -= cut - 1
		i = j
	}
	return out
}

func alike(r Row, mark Mark) bool {
	return r.Mark == mark || mark == Done && r.Mark == Skipped
}

func steps(rows []Row) int {
	n := 0
	for _, r := range rows {
		if !r.Group {
			n++
		}
	}
	return n
}

func foldedName(mark Mark, n int) string {
	if mark == Done {
		return fmt.Sprintf("… %s done", plural(n, "step"))
	}
	return fmt.Sprintf("… %s to come", plural(n, "step"))
}

// loudest keeps the given number of rows, in their order, the most important
// first. Steps come before the headings above them.
func loudest(rows []Row, keep int) []Row {
	chosen := make([]bool, len(rows))
	choose := func(group bool, marks ...Mark) {
		for _, mark := range marks {
			for i, r := range rows {
				if keep > 0 && !chosen[i] && r.Mark == mark && r.Group == group {
					chosen[i] = true
					keep--
				}
			}
		}
	}
	choose(false, Doubt, Failed, Running, Waiting, Cancelled)
	choose(true, Doubt, Failed, Running, Waiting, Cancelled)
	choose(false, Note, Done, Skipped, Pending)
	choose(true, Done, Skipped, Pending)
	var out []Row
	for i, r := range rows {
		if chosen[i] {
			out = append(out, r)
		}
	}
	return out
}

// Pen is how rows are drawn.
type Pen struct {
	term.Palette
	Width int // of a line, in columns
	// Turn is the time by which what runs turns; zero draws it still.
	Turn time.Time
}

// Lines draws rows as a table: name, detail, and what there is to say.
func Lines(rows []Row, p Pen) []string {
	nameWidth, detailWidth := 0, 0
	for _, r := range rows {
		if r.Group || r.Mark == Note {
			continue
		}
		nameWidth = max(nameWidth, 2*r.Depth+ansi.StringWidth(term.Clean(r.Name)))
		detailWidth = max(detailWidth, ansi.StringWidth(term.Clean(r.Detail)))
	}
	nameWidth = min(nameWidth, max(p.Width*2/5, 12))
	detailWidth = min(detailWidth, max(p.Width/5, 8))
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = ansi.Truncate(r.line(nameWidth, detailWidth, p), p.Width, "…")
	}
	return lines
}

func (r Row) line(nameWidth, detailWidth int, p Pen) string {
	var b strings.Builder
	b.WriteString(" " + r.glyph(p) + " " + strings.Repeat("  ", r.Depth))
	name, info := term.Clean(r.Name), strings.TrimSpace(term.Clean(r.Info))
	said := strings.TrimSpace(term.Clean(term.LastShown(r.Said)))
	if r.Group || r.Mark == Note {
		b.WriteString(p.Faint(strings.TrimRight(name+"  "+info, " ")))
		return b.String()
	}
	name = ansi.Truncate(name, max(nameWidth-2*r.Depth, 4), "…")
	b.WriteString(r.paintName(p, name))
	b.WriteString(pad(nameWidth - 2*r.Depth - ansi.StringWidth(name)))
	if detailWidth > 0 {
		detail := ansi.Truncate(term.Clean(r.Detail), detailWidth, "…")
		b.WriteString("  " + p.Faint(detail) + pad(detailWidth-ansi.StringWidth(detail)))
	}
	if info != "" {
		b.WriteString("  " + r.paintInfo(p, info))
	}
	if said != "" {
		b.WriteString("  " + p.Faint(said))
	}
	return strings.TrimRight(b.String(), " ")
}

func pad(n int) string { return strings.Repeat(" ", max(n, 0)) }

func (r Row) paintName(p Pen, name string) string {
	switch r.Mark {
	case Running, Waiting, Failed, Doubt:
		return p.Bold(name)
	case Pending, Skipped:
		return p.Faint(name)
	}
	return name
}

func (r Row) paintInfo(p Pen, info string) string {
	switch r.Mark {
	case Failed:
		return p.Bad(info)
	case Doubt, Waiting:
		return p.Warn(info)
	case Done, Skipped, Cancelled:
		return p.Faint(info)
	}
	return info
}

// glyph is the sign at the beginning of a row.
func (r Row) glyph(p Pen) string {
	switch r.Mark {
	case Skipped:
		return p.Faint("-")
	case Done:
		return p.Good("✓")
	case Note:
		return " "
	case Cancelled:
		return p.Faint("⊘")
	case Waiting:
		return p.Warn("‖")
	case Running:
		return p.Busy(p.spinner())
	case Failed:
		return p.Bad("✗")
	case Doubt:
		return p.Warn("?")
	}
	return p.Faint("·")
}

// spinner turns with the time of the day, so that all that spins is in step.
func (p Pen) spinner() string {
	if p.Turn.IsZero() {
		return "▸"
	}
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	return string(frames[int(p.Turn.UnixMilli()/100)%len(frames)])
}
