package workflow_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// messy writes a value as YAML, in the layout of somebody who never heard of
// tidiness: any indentation, order, quotes, blank lines and comments.
type messy struct {
	rnd      *rand.Rand // one draw for all: thousands would be slow to shrink
	b        strings.Builder
	comments int
	// below is set after a literal text: what stands deeper would go on with it.
	below bool
}

func messyYAML(t *rapid.T, v any) string {
	m := &messy{rnd: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "layout"), 0))}
	m.silence(0)
	m.block(v, 0)
	m.silence(0)
	return m.b.String()
}

func (m *messy) pick(n int) int { return m.rnd.IntN(n) }

// silence writes blank lines and comments, somewhere about a column.
func (m *messy) silence(column int) {
	for range m.pick(6) - 2 {
		if m.below {
			m.b.WriteString(strings.Repeat(" ", m.pick(column+1)))
			m.comment()
			m.below = false
		}
		if m.pick(2) == 0 {
			m.b.WriteString(strings.Repeat(" ", m.pick(3)) + "\n")
			continue
		}
		m.b.WriteString(strings.Repeat(" ", max(0, column+m.pick(7)-3)))
		m.comment()
	}
}

// comment writes a comment that there is once, to the end of its line.
func (m *messy) comment() {
	m.comments++
	fmt.Fprintf(&m.b, "# note %d: \"x\n", m.comments)
}

func (m *messy) endLine() {
	m.b.WriteString(strings.Repeat(" ", m.pick(3)))
	if m.pick(5) == 0 {
		m.b.WriteString(" ")
		m.comment()
		return
	}
	m.b.WriteString("\n")
}

// block writes the entries of a collection, whose first line is begun already
// up to the column.
func (m *messy) block(v any, column int) {
	first := true
	next := func() {
		if !first {
			m.silence(column)
			m.b.WriteString(strings.Repeat(" ", column))
		}
		first = false
	}
	switch v := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		m.rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			next()
			m.below = false
			m.b.WriteString(m.inline(name) + []string{":", " :"}[m.pick(4)/3])
			m.value(v[name], column, column)
		}
	case []any:
		for _, item := range v {
			next()
			m.below = false
			m.b.WriteString("-")
			m.value(item, column, column+1)
		}
	}
}

// value writes what stands behind a key or dash of an entry in a column.
func (m *messy) value(v any, column, least int) {
	switch full(v) {
	case false:
		m.scalar(v, column)
		return
	case true:
		if m.pick(3) == 0 {
			m.b.WriteString(strings.Repeat(" ", 1+m.pick(3)) + m.inline(v))
			m.endLine()
			return
		}
	}
	if _, list := v.([]any); !list || least > column {
		least = column + 1
	}
	inner := least + m.pick(4)
	if least > column && m.isDash() && m.pick(2) == 0 { // behind the dash
		gap := 1 + m.pick(3)
		m.b.WriteString(strings.Repeat(" ", gap))
		m.block(v, column+1+gap)
		return
	}
	m.endLine()
	m.silence(inner)
	m.b.WriteString(strings.Repeat(" ", inner))
	m.block(v, inner)
}

// isDash reports whether a dash was written last.
func (m *messy) isDash() bool { return strings.HasSuffix(m.b.String(), "-") }

func full(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

func (m *messy) scalar(v any, column int) {
	text, isText := v.(string)
	if isText && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz \n#:") == "" && strings.Trim(text, " \n") != "" && m.pick(2) == 0 {
		m.literal(text, column)
		return
	}
	m.b.WriteString(strings.Repeat(" ", 1+m.pick(2)))
	if len(text) > 3 && ascii(text) && !strings.ContainsAny(text, "\\\" ") && m.pick(2) == 0 { // in quotes, over two lines
		cut := 1 + m.pick(len(text)-2)
		m.b.WriteString(`"` + text[:cut] + "\\\n" + strings.Repeat(" ", column+1+m.pick(3)) + text[cut:] + `"`)
		m.endLine()
		return
	}
	m.b.WriteString(m.inline(v))
	m.endLine()
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c < ' ' || c > '~' }) < 0
}

// literal writes a text as a literal block.
func (m *messy) literal(text string, column int) {
	indent := 1 + m.pick(4)
	header := " |"
	body := strings.TrimRight(text, "\n")
	if strings.HasPrefix(strings.TrimLeft(body, "\n"), " ") || m.pick(3) == 0 {
		header += strconv.Itoa(indent)
	}
	switch ends := len(text) - len(body); {
	case ends == 0:
		header += "-"
	case ends > 1:
		header += "+"
	}
	m.b.WriteString(header)
	m.endLine()
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			line = strings.Repeat(" ", column+indent) + line
		}
		m.b.WriteString(line + "\n")
	}
	m.b.WriteString(strings.Repeat("\n", max(len(text)-len(body)-1, 0)))
	m.below = true
}

// inline writes a value on one line.
func (m *messy) inline(v any) string {
	space := func() string { return strings.Repeat(" ", m.pick(3)) }
	switch v := v.(type) {
	case nil:
		return []string{"null", "~"}[m.pick(2)]
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return string(v)
	case string:
		if v != "" && strings.Trim(v, "abcdefghijklmnopqrstuvwxyz_") == "" && !slices.Contains([]string{"null", "true", "false"}, v) && m.pick(2) == 0 {
			return v
		}
		if ascii(v) && m.pick(2) == 0 {
			return "'" + strings.ReplaceAll(v, "'", "''") + "'"
		}
		raw, err := json.Marshal(v) // escapes U+2028 too
		if err != nil {
			panic(err) // a string can always be written
		}
		return strings.NewReplacer("\u0085", `\u0085`, "\ufeff", `\ufeff`, "\x7f", `\u007f`).Replace(string(raw))
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, space()+m.inline(item)+space())
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, space()+m.inline(name)+": "+space()+m.inline(v[name])+space())
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return ""
}
