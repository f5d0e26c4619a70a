package diagram

import (
	"fmt"
	"slices"
	"strings"
)

// Mermaid is the plan as a Mermaid flowchart, which GitHub draws from a block in
// the language mermaid. See https://mermaid.js.org/syntax/flowchart.html.
func (p *Plan) Mermaid() string {
	m := &mermaid{}
	m.line("flowchart TD")
	m.indent++
	begin := m.node("([%s])", p.Ref)
	open := m.block(p.Root, []exit{{node: begin}})
	end := m.node("([%s])", "end")
	m.join(open, end)
	m.classes()
	return m.b.String()
}

// mermaid writes nodes and edges as the blocks are walked.
type mermaid struct {
	b      strings.Builder
	indent int
	nodes  int
	edges  []string // of the whole chart: written after all nodes, outside of frames
	states map[State][]string
}

// exit is where an edge begins whose end is not known yet.
type exit struct{ node, label string }

func (m *mermaid) line(format string, args ...any) {
	m.b.WriteString(strings.Repeat("  ", m.indent))
	fmt.Fprintf(&m.b, format+"\n", args...)
}

// node writes a node of a shape. Ids are numbers, since words such as "end" mean
// something else.
func (m *mermaid) node(shape, text string) string {
	m.nodes++
	id := fmt.Sprintf("n%d", m.nodes)
	m.line("%s"+shape, id, `"`+mermaidText(text)+`"`)
	return id
}

// join draws edges from all open ends to a node.
func (m *mermaid) join(from []exit, to string) {
	for _, e := range from {
		label := ""
		if e.label != "" {
			label = `|"` + mermaidText(e.label) + `"|`
		}
		m.edges = append(m.edges, fmt.Sprintf("%s -->%s %s", e.node, label, to))
	}
}

// block writes a block that what is open leads to, and gives what is open then.
func (m *mermaid) block(b *Block, open []exit) []exit {
	switch b.Kind {
	case Sequence:
		for _, part := range b.Parts {
			open = m.block(part.Block, open)
		}
		return open
	case Parallel:
		return m.parallel(b, open)
	case Choice:
		return m.choice(b, open)
	case Frame:
		return m.frame(b, open)
	}
	id := m.node(stepShape(b), stepText(b))
	if b.State != Unknown {
		if m.states == nil {
			m.states = map[State][]string{}
		}
		m.states[b.State] = append(m.states[b.State], id)
	}
	m.join(open, id)
	return []exit{{node: id}}
}

func (m *mermaid) parallel(b *Block, open []exit) []exit {
	name := strings.TrimSuffix(b.Name+": ", ": ")
	fork := m.node("((%s))", strings.TrimSpace(name+" +"))
	m.join(open, fork)
	var ends []exit
	for _, part := range b.Parts {
		ends = append(ends, m.block(part.Block, []exit{{node: fork}})...)
	}
	if len(ends) < 2 {
		return ends
	}
	wait := m.node("((%s))", "=")
	m.join(ends, wait)
	return []exit{{node: wait}}
}

func (m *mermaid) choice(b *Block, open []exit) []exit {
	question := m.node("{%s}", b.title())
	m.join(open, question)
	var ends []exit
	for _, part := range b.Parts {
		ends = append(ends, m.block(part.Block, []exit{{node: question, label: part.Label}})...)
	}
	if len(b.Parts) < 2 {
		ends = append(ends, exit{node: question, label: "else"})
	}
	return ends
}

func (m *mermaid) frame(b *Block, open []exit) []exit {
	for _, part := range b.Parts {
		m.nodes++
		title := b.title()
		before := open
		if part.Label != "" {
			title = strings.TrimPrefix(b.Name+": "+part.Label, ": ")
			open = labelled(open, part.Label)
		}
		m.line(`subgraph n%d["%s"]`, m.nodes, mermaidText(title))
		m.indent++
		open = m.block(part.Block, open)
		m.indent--
		m.line("end")
		if part.Skipped {
			open = append(open, before...)
		}
	}
	return open
}

// labelled are the same ends, of which those without a label have that one.
func labelled(open []exit, label string) []exit {
	list := slices.Clone(open)
	for i := range list {
		if list[i].label == "" {
			list[i].label = label
		}
	}
	return list
}

func stepShape(b *Block) string {
	switch b.Type {
	case "approval", "input", "event":
		return "[/%s/]" // waits for somebody
	case "sleep":
		return "(%s)"
	case "workflow":
		return "[[%s]]"
	}
	return "[%s]"
}

func stepText(b *Block) string {
	text := b.Name
	if b.State != Unknown {
		text = b.State.sign() + " " + text
	}
	return strings.Join(append([]string{text, b.Text}, b.Notes...), "\n")
}

// classes writes the edges, and the colours of states.
func (m *mermaid) classes() {
	for _, edge := range m.edges {
		m.line("%s", edge)
	}
	for _, c := range stateColours() {
		if ids := m.states[c.state]; len(ids) > 0 {
			m.line("classDef %s fill:%s,stroke:%s,color:#111", c.state.class(), c.fill, c.stroke)
			m.line("class %s %s", strings.Join(ids, ","), c.state.class())
		}
	}
}

// mermaidText writes a text as a quoted label: what would end it, or be Markdown
// or HTML in it, becomes an entity.
func mermaidText(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = mermaidEscape(shorten(oneLine(line), maxCaption))
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
	return strings.Join(lines, "<br>")
}

func mermaidEscape(text string) string {
	var b strings.Builder
	for _, c := range text {
		if strings.ContainsRune("\"#<>&`\\*~[]{};|%", c) {
			fmt.Fprintf(&b, "#%d;", c)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

// Characters that a line of a label, and the caption of a frame, have at most.
const (
	maxLabel   = 60
	maxCaption = 90
)
