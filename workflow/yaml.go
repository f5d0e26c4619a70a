package workflow

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/culm-dev/culm/internal/canon"
)

// parseYAML reads data as one YAML 1.2 document. The library gives nodes; what
// they mean is decided here, by the JSON subset of the YAML 1.2 core schema.
func parseYAML(data []byte, r *report) *value {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	err := dec.Decode(&doc)
	if err == io.EOF {
		r.add(EmptyDocument, span{}, "", "the file is empty").Expected = "a workflow definition"
		return nil
	}
	if err != nil {
		refuseYAML(err, data, r)
		return nil
	}
	w := &yamlWalker{report: r}
	v := w.value(doc.Content[0], "", 0)
	var next yaml.Node
	switch err := dec.Decode(&next); {
	case err == io.EOF:
	case err != nil:
		refuseYAML(err, data, r)
	default:
		r.add(MultipleDocuments, span{line: next.Line, col: next.Column}, "", "a second document begins here").
			Expected = "one workflow definition in one file"
	}
	return v
}

// refuseYAML reports why the library could not read the document.
func refuseYAML(err error, data []byte, r *report) {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		r.add(InvalidSyntax, span{}, "", "not YAML: %v", err)
		return
	}
	at := span{line: load.Mark.Line, col: load.Mark.Column}
	if at.line == 0 {
		at = controlAt(data)
	}
	switch {
	case strings.Contains(load.Message, "unknown anchor"):
		r.add(AliasRefused, at, "", "aliases are not read").Hint = "write the value out, or quote a string that begins with *"
	case strings.Contains(load.Message, "nesting") || strings.Contains(load.Message, "depth"):
		r.add(NestedTooDeeply, at, "", "values nest too deeply")
	default:
		e := r.add(InvalidSyntax, at, "", "not YAML: %s", load.Message)
		if load.ContextMsg != "" {
			e.Hint = load.ContextMsg
		}
		if load.ContextMark.Line > 0 && load.ContextMark.Line != at.line {
			e.Hint += " that begins on line " + strconv.Itoa(load.ContextMark.Line)
		}
	}
}

// controlAt is the place of the first character that YAML does not allow.
func controlAt(data []byte) span {
	line, col := 1, 1
	for _, c := range string(data) {
		switch {
		case c == '\n':
			line, col = line+1, 0
		case c < ' ' && c != '\t' && c != '\r', c == 0x7f, c == 0xfffe, c == 0xffff:
			return span{line, col, col + 1}
		}
		col++
	}
	return span{}
}

// yamlWalker turns nodes into values and refuses what JSON does not have.
type yamlWalker struct {
	report  *report
	tooDeep bool
	line    int // whose characters runes holds: one line may hold everything
	runes   []rune
}

// from is the source from a place to the end of its line.
func (w *yamlWalker) from(at span) []rune {
	lines := w.report.text.lines
	if at.line < 1 || at.line > len(lines) {
		return nil
	}
	if w.line != at.line {
		w.line, w.runes = at.line, []rune(lines[at.line-1])
	}
	if at.col < 1 || at.col > len(w.runes) {
		return nil
	}
	return w.runes[at.col-1:]
}

func (w *yamlWalker) value(n *yaml.Node, ptr string, depth int) *value {
	v := &value{at: w.span(n), ptr: ptr}
	if depth > maxDepth {
		if !w.tooDeep {
			w.report.at(v, NestedTooDeeply, "values nest more than %d levels deep", maxDepth)
		}
		w.tooDeep = true
		return v
	}
	if n.Anchor != "" {
		w.report.at(v, AliasRefused, "anchors are not read").Hint = "remove &" + n.Anchor + " and write the value out where it is needed"
	}
	switch n.Kind {
	case yaml.MappingNode:
		v.kind = objectKind
		w.checkTag(n, v, "!!map")
		w.mapping(n, v, depth)
	case yaml.SequenceNode:
		v.kind = arrayKind
		w.checkTag(n, v, "!!seq")
		for i, item := range n.Content {
			v.items = append(v.items, w.value(item, canon.AppendPointer(ptr, i), depth+1))
		}
	case yaml.AliasNode:
		w.report.at(v, AliasRefused, "aliases are not read").Hint = "write the value out, or quote a string that begins with *"
	default:
		w.scalar(n, v)
	}
	return v
}

func (w *yamlWalker) mapping(n *yaml.Node, v *value, depth int) {
	seen := map[string]span{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		m := member{name: key.Value, at: w.span(key)}
		ptr := canon.AppendPointer(v.ptr, m.name)
		if w.checkKey(key, m, ptr) {
			checkDuplicate(w.report, seen, m, ptr)
			m.value = w.value(n.Content[i+1], ptr, depth+1)
			v.members = append(v.members, m)
		}
	}
}

// checkKey reports keys that JSON does not have.
func (w *yamlWalker) checkKey(key *yaml.Node, m member, ptr string) bool {
	switch {
	case key.Kind == yaml.AliasNode:
		w.report.add(AliasRefused, m.at, ptr, "aliases are not read")
		return false
	case key.Kind != yaml.ScalarNode:
		w.report.add(InvalidKey, m.at, ptr, "a key must be a string")
		return false
	case key.Anchor != "":
		w.report.add(AliasRefused, m.at, ptr, "anchors are not read")
	case plain(key) && key.Value == "<<":
		w.report.add(MergeKeyRefused, m.at, ptr, "merge keys are not read").Hint = "write the fields out"
		return false
	case key.Style&yaml.TaggedStyle != 0 && key.Tag != "!!str":
		w.report.add(TagRefused, m.at, ptr, "the tag %s is not read", key.Tag)
	case plain(key):
		if k, _ := plainScalar(key.Value); k != stringKind {
			w.report.add(InvalidKey, m.at, ptr, "a key must be a string, and this is %s", k).Hint = "quote it: " + `"` + key.Value + `"`
		}
	}
	return true
}

// plain reports whether a scalar was written without quotes and tag.
func plain(n *yaml.Node) bool {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Kind == yaml.ScalarNode && n.Style&(quoted|yaml.TaggedStyle) == 0
}

func (w *yamlWalker) scalar(n *yaml.Node, v *value) {
	v.kind, v.text = stringKind, n.Value
	if plain(n) {
		v.kind, v.text = plainScalar(n.Value)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		w.tagged(n, v)
	}
	if v.kind != numberKind {
		return
	}
	if v.text == "" {
		w.report.at(v, InvalidNumber, "%s is not a number that JSON has", n.Value).Hint = "quote it if it is meant as a string"
		v.text = "0"
	}
	checkFinite(w.report, v)
}

// tagged reads a scalar with an explicit tag, of which the standard ones are
// allowed where the value fits.
func (w *yamlWalker) tagged(n *yaml.Node, v *value) {
	if n.Tag == "!!str" {
		return
	}
	want, standard := map[string]kind{"!!null": nullKind, "!!bool": boolKind, "!!int": numberKind, "!!float": numberKind}[n.Tag]
	k, text := plainScalar(n.Value)
	if standard && k == want {
		v.kind, v.text = k, text
		return
	}
	e := w.report.at(v, TagRefused, "the tag %s is not read here", n.Tag)
	e.Expected = "a plain value, or one of the tags !!str, !!int, !!float, !!bool, !!null before a value of that type"
}

func (w *yamlWalker) checkTag(n *yaml.Node, v *value, want string) {
	if n.Style&yaml.TaggedStyle != 0 && n.Tag != want {
		w.report.at(v, TagRefused, "the tag %s is not read here", n.Tag)
	}
}

var (
	yamlInt   = regexp.MustCompile(`^[-+]?[0-9]+$`)
	yamlFloat = regexp.MustCompile(`^([-+]?)(\.[0-9]+|[0-9]+(?:\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	yamlInf   = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// plainScalar is what an unquoted scalar means. yes, no, on and off are strings,
// as YAML 1.2 says; so are octal and hexadecimal integers, which JSON does not
// have. A number that is not finite has an empty text.
func plainScalar(s string) (kind, string) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nullKind, ""
	case "true", "True", "TRUE":
		return boolKind, "true"
	case "false", "False", "FALSE":
		return boolKind, "false"
	}
	switch {
	case yamlInt.MatchString(s):
		return numberKind, jsonInt(s)
	case yamlFloat.MatchString(s):
		return numberKind, jsonFloat(s)
	case yamlInf.MatchString(s):
		return numberKind, ""
	}
	return stringKind, s
}

// jsonInt spells an integer as JSON does, keeping its digits.
func jsonInt(s string) string {
	negative := strings.HasPrefix(s, "-")
	s = strings.TrimLeft(strings.TrimLeft(s, "+-"), "0")
	switch {
	case s == "":
		return "0"
	case negative:
		return "-" + s
	}
	return s
}

// jsonFloat spells a float as JSON does: with digits before and after the point.
func jsonFloat(s string) string {
	parts := yamlFloat.FindStringSubmatch(s)
	sign, number, exponent := parts[1], parts[2], parts[3]
	if sign == "+" {
		sign = ""
	}
	whole, fraction, _ := strings.Cut(number, ".")
	out := sign + strings.TrimPrefix(jsonInt(whole), "-")
	if fraction != "" {
		out += "." + fraction
	}
	return out + exponent
}

// span is where a node stands. Where it ends is known for scalars and keys that
// stand on one line.
func (w *yamlWalker) span(n *yaml.Node) span {
	at := span{line: n.Line, col: n.Column}
	if n.Style&yaml.FlowStyle != 0 && n.Style&yaml.TaggedStyle == 0 && n.Anchor == "" {
		if n := flowLength(w.from(at)); n > 0 {
			at.end = at.col + n
		}
		return at
	}
	if n.Kind != yaml.ScalarNode || n.Style&yaml.TaggedStyle != 0 || n.Anchor != "" {
		return at
	}
	rest := w.from(at)
	if n := scalarLength(rest, n.Value); n > 0 {
		at.end = at.col + n
	}
	return at
}

// flowLength is how many characters a flow collection takes, if it ends on the
// line where it begins; else 0.
func flowLength(rest []rune) int {
	depth := 0
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"', '\'':
			i += max(scalarLength(rest[i:], ""), 1) - 1
		}
		if depth == 0 {
			return i + 1
		}
	}
	return 0
}

// scalarLength is how many characters a scalar takes on its line; 0 if unknown.
func scalarLength(rest []rune, content string) int {
	if len(rest) == 0 {
		return 0
	}
	quote := rest[0]
	if quote != '"' && quote != '\'' {
		n := utf8.RuneCountInString(content)
		if n <= len(rest) && string(rest[:n]) == content {
			return n
		}
		return 0
	}
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] == '\\' && quote == '"':
			i++
		case rest[i] != quote:
		case quote == '\'' && i+1 < len(rest) && rest[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return 0
}
