package diagram

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// Text is the plan as a tree.
func (p *Plan) Text() string {
	var b strings.Builder
	b.WriteString(p.Ref)
	if p.Description != "" {
		b.WriteString("  " + oneLine(p.Description))
	}
	b.WriteString("\n")
	if p.Budgets != "" {
		b.WriteString(p.Budgets + "\n")
	}
	b.WriteString("\n" + strings.Join(p.tree(), "\n") + "\n")
	return b.String()
}

// row is a line of the tree: what stands in front of its name, and behind.
type row struct {
	name, text string
	step       bool
}

func (p *Plan) tree() []string {
	var rows []row
	for _, part := range flat(p.Root) {
		rows = append(rows, part.rows("", "")...)
	}
	width := 0
	for _, r := range rows {
		if r.step {
			width = max(width, min(ansi.StringWidth(r.name), maxNameWidth))
		}
	}
	lines := make([]string, len(rows))
	for i, r := range rows {
		gap := ""
		if r.step {
			gap = strings.Repeat(" ", max(width-ansi.StringWidth(r.name), 0)+2)
		}
		lines[i] = strings.TrimRight(r.name+gap+r.text, " ")
	}
	return lines
}

const maxNameWidth = 48

// rows are the lines of a block. lead stands before its own line, below before
// those under it.
func (b *Block) rows(lead, below string) []row {
	if b.Kind == Step {
		text := strings.Join(append([]string{b.Text}, b.Notes...), " · ")
		return []row{{name: lead + sign(b.State) + oneLine(b.Name), text: oneLine(text), step: true}}
	}
	title := b.title()
	if b.Kind == Sequence {
		title = "one after the other"
	}
	if b.Kind == Frame && len(b.Notes) > 0 {
		title += " · " + strings.Join(b.Notes, " · ")
	}
	rows := []row{{name: lead + sign(b.State) + oneLine(title)}}
	branches := b.branches()
	for i, part := range branches {
		fork, stem := "├─ ", "│  "
		if i == len(branches)-1 {
			fork, stem = "└─ ", "   "
		}
		rows = append(rows, part.rows(below+fork, below+stem)...)
	}
	return rows
}

// branches are the parts as the tree shows them: a sequence's own line is left
// out where its parts can stand below the block itself.
func (b *Block) branches() []Part {
	var list []Part
	for i, part := range b.Parts {
		if b.Kind != Frame || part.Label != "" && i > 0 {
			list = append(list, part)
			continue
		}
		list = append(list, flat(part.Block)...)
	}
	return list
}

func (p Part) rows(lead, below string) []row {
	if p.Label == "" {
		return p.Block.rows(lead, below)
	}
	if p.Block.Kind == Step {
		return p.Block.rows(lead+p.Label+": ", below)
	}
	inner := &Block{Kind: Frame, Text: p.Label, Parts: []Part{{Block: p.Block}}}
	return inner.rows(lead, below)
}

func sign(s State) string {
	if s == Unknown {
		return ""
	}
	return s.sign() + " "
}

// oneLine is a text without line breaks, control characters, and those that turn
// the direction of what follows.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(c rune) bool {
		turns := c == 0x200e || c == 0x200f || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069
		return c == ' ' || unicode.IsControl(c) || c == 0x2028 || c == 0x2029 || turns
	}), " ")
}
