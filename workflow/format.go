package workflow

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// ErrLayout is a document that is valid, but laid out in a way that [Format]
// cannot tidy without a danger of changing what it means.
var ErrLayout = errors.New("the layout cannot be tidied safely")

// Format gives a document in its tidy form: fields in the order in which the
// documentation has them (the plan above the steps or below them), two spaces for each level, one blank line at most, no
// white space at the ends of lines. YAML stays YAML, with its comments, quotes,
// shorthand and line breaks as the author chose them; JSON stays JSON. What
// stands in arguments, templates and schemas keeps its order.
//
// A tidy document is its own tidy form, and it means what it meant: the hash of
// the definition is the same, which Format itself makes sure of. The error is
// [Errors] if the document cannot be loaded, else it wraps [ErrLayout]. For the
// name see [Load].
func Format(name string, data []byte) ([]byte, error) {
	src, err := Load(name, data)
	if err != nil {
		return nil, err
	}
	want, err := src.def.Hash()
	if err != nil {
		return nil, fmt.Errorf("hash %s: %w", name, err)
	}
	tidy, err := format(name, data, src.root)
	if err != nil {
		return nil, err
	}
	again, err := Load(name, tidy)
	if err != nil {
		return nil, fmt.Errorf("%w: it would no longer load", ErrLayout)
	}
	if got, err := again.def.Hash(); err != nil || got != want {
		return nil, fmt.Errorf("%w: it would mean something else", ErrLayout)
	}
	return tidy, nil
}

func format(name string, data []byte, root *value) ([]byte, error) {
	if looksLikeJSON(name, data) {
		if _, ok := parseJSON(trimMark(data), &report{text: newText(name, nil, false)}); ok {
			return formatJSON(root), nil
		}
	}
	return formatYAML(trimMark(data))
}

// trimMark takes a byte order mark away.
func trimMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

// part is what a value in a document is, as far as the order of fields goes.
type part int

const (
	dataPart       part = iota // a template, a schema, or no object at all
	definitionPart             // the whole document
	stepsPart                  // the list of steps
	stepPart
	planPart // a node, or a list of nodes
	budgetsPart
)

// inside is what the value of a field is; "" is the field of an item of a list.
func (p part) inside(field string) part {
	switch {
	case p == definitionPart && field == "steps":
		return stepsPart
	case p == definitionPart && field == "plan":
		return planPart
	case p == definitionPart && field == "budgets":
		return budgetsPart
	case p == stepsPart && field == "":
		return stepPart
	case p == planPart && (field == "" || holdsNodes(field)):
		return planPart
	}
	return dataPart
}

// holdsNodes reports whether a field of a plan node, written in either form, is a
// node or a list of nodes.
func holdsNodes(field string) bool {
	for _, form := range nodeForms() {
		for _, f := range form.fields {
			if f.name == field {
				return slices.Contains(nodeChildren(), f.canonical)
			}
		}
	}
	return false
}

// nodeChildren are the canonical fields of plan nodes that hold nodes.
func nodeChildren() []string {
	return []string{"nodes", "then_branch", "else_branch", "body", "node", "cleanup", "on_failure"}
}

// order is the order of the fields of an object; nil leaves it as it is. The
// names are those that it has, typ is the value of its field type.
func (p part) order(names []string, typ string) []string {
	switch p {
	case definitionPart:
		return fieldNames(definitionFields())
	case budgetsPart:
		var order []string
		for _, f := range budgetFields() {
			order = append(order, f.name)
		}
		return order
	case stepPart:
		return stepOrder(StepType(typ))
	case planPart:
		return nodeOrder(names, typ)
	}
	return nil
}

// stepOrder puts what a step is first, then what is its own, then what becomes of
// its outcome.
func stepOrder(t StepType) []string {
	first := []string{"id", "type", "description"}
	last := []string{"output_schema", "timeout_ms", "failure", "on_unknown"}
	own := slices.DeleteFunc(fieldNames(stepFields(t)), func(name string) bool {
		return slices.Contains(first, name) || slices.Contains(last, name)
	})
	return slices.Concat(first, own, last)
}

// nodeOrder is the order of the form that a plan node is written in.
func nodeOrder(names []string, typ string) []string {
	for _, form := range nodeForms() {
		if form.key == "" && string(form.typ) == typ || form.key != "" && slices.Contains(names, form.key) {
			return append([]string{"type", "id"}, form.order()...)
		}
	}
	return nil
}

// order is the order of a form's fields: what is small about a map stands above
// its body.
func (form nodeForm) order() []string {
	var order []string
	body := 0
	for i, f := range form.fields {
		if form.typ != MapNode || f.canonical != "concurrency" && f.canonical != "tolerate" {
			order = append(order, f.name)
			body = i
			continue
		}
		order = slices.Insert(order, body, f.name)
		body++
	}
	return order
}

// sorted gives the positions of fields in their tidy order. The plan may stand
// above the steps or below, as the author likes.
func (p part) sorted(names []string, typ string) []int {
	positions := make([]int, len(names))
	for i := range positions {
		positions[i] = i
	}
	order := p.order(names, typ)
	if order == nil {
		return positions
	}
	rank := func(i int) int {
		at := slices.Index(order, names[i])
		switch {
		case at < 0:
			return len(order)
		case p == definitionPart && names[i] == "plan":
			return slices.Index(order, "steps")
		}
		return at
	}
	slices.SortStableFunc(positions, func(a, b int) int { return rank(a) - rank(b) })
	return positions
}
