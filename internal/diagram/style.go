package diagram

import (
	"fmt"
	"strings"
)

// stateColour is how a state looks on a light and on a dark page.
type stateColour struct {
	state                    State
	fill, stroke             string
	fillOnDark, strokeOnDark string
}

func stateColours() []stateColour {
	return []stateColour{
		{Skipped, "#f3f4f6", "#9ca3af", "#1f2937", "#6b7280"},
		{Done, "#dcfce7", "#16a34a", "#052e16", "#22c55e"},
		{Cancelled, "#e5e7eb", "#6b7280", "#1f2937", "#9ca3af"},
		{Failed, "#fee2e2", "#dc2626", "#450a0a", "#f87171"},
		{Waiting, "#fef3c7", "#d97706", "#451a03", "#fbbf24"},
		{Running, "#dbeafe", "#2563eb", "#172554", "#60a5fa"},
		{InDoubt, "#fae8ff", "#c026d3", "#4a044e", "#e879f9"},
	}
}

// typeColours are the bars that tell kinds of steps apart: readable on light and
// on dark, and never the only difference.
func typeColours() [][2]string {
	return [][2]string{
		{"tool", "#3b82f6"}, {"agent", "#a855f7"}, {"workflow", "#14b8a6"}, {"approval", "#f59e0b"},
		{"input", "#f59e0b"}, {"event", "#f59e0b"}, {"sleep", "#94a3b8"},
	}
}

// style is the style sheet of the picture. Fonts are the reader's own: an SVG
// that loads nothing works everywhere.
func style(states bool) string {
	var b strings.Builder
	b.WriteString(`
  text { font-family: system-ui, -apple-system, "Segoe UI", "Helvetica Neue", "DejaVu Sans", sans-serif; font-size: 13px; fill: #111827; }
  .page { fill: #ffffff; }
  .name { font-weight: 600; }
  .text, .note, .label, .caption { fill: #4b5563; font-size: 12px; }
  .note { font-size: 11px; }
  .title { font-size: 15px; font-weight: 600; }
  .step { fill: #ffffff; stroke: #9ca3af; }
  .frame { fill: #6b7280; fill-opacity: 0.06; stroke: #9ca3af; stroke-dasharray: 5 4; }
  .nested { stroke-dasharray: none; }
  .split { stroke: #9ca3af; stroke-dasharray: 5 4; }
  .ask { fill: #fffbeb; stroke: #d97706; }
  .line { fill: none; stroke: #6b7280; stroke-width: 1.5; }
  .tip, .bar { fill: #6b7280; }
  .end { fill: #f3f4f6; stroke: #9ca3af; }
`)
	for _, c := range typeColours() {
		fmt.Fprintf(&b, "  .type-%s { fill: %s; }\n", c[0], c[1])
	}
	if states {
		for _, c := range stateColours() {
			fmt.Fprintf(&b, "  .is-%s { fill: %s; stroke: %s; stroke-width: 2; }\n", c.state.class(), c.fill, c.stroke)
		}
	}
	b.WriteString(`  @media (prefers-color-scheme: dark) {
    text { fill: #f3f4f6; }
    .page { fill: #0b0f17; }
    .text, .note, .label, .caption { fill: #a8b0bd; }
    .step { fill: #161c27; stroke: #566070; }
    .frame { fill: #9ca3af; stroke: #566070; }
    .split { stroke: #566070; }
    .ask { fill: #2a1f08; stroke: #d9a13b; }
    .line { stroke: #8b95a5; }
    .tip, .bar { fill: #8b95a5; }
    .end { fill: #1b2230; stroke: #566070; }
`)
	if states {
		for _, c := range stateColours() {
			fmt.Fprintf(&b, "    .is-%s { fill: %s; stroke: %s; }\n", c.state.class(), c.fillOnDark, c.strokeOnDark)
		}
	}
	b.WriteString("  }\n")
	return b.String()
}
