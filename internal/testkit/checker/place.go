package checker

import (
	"fmt"
	"strconv"
	"strings"
)

// place is a node's instance: the node in one activation of its definition and in
// one item or round of each map and repeat around it.
type place struct {
	prefix string // "" at the root, else "<instance of the workflow step>/"
	def    *definition
	node   *node
	index  []index // outermost first; as many as node.scopes
	outer  *place  // the workflow step that nests this activation; nil at the root
}

// index is one item of a map, or one round of a repeat.
type index struct {
	round bool
	n     int
}

// locate finds what a step's instance id names in the pinned definitions.
func (p *plan) locate(id string) (place, error) {
	at := place{def: p.root}
	segments := strings.Split(id, "/")
	for i, segment := range segments {
		name, suffix := cutSuffix(segment)
		at.node = at.def.byStep[name]
		if at.node == nil {
			return place{}, fmt.Errorf("no step %q in %s", name, ref(at.def.ID, at.def.Revision))
		}
		var err error
		if at.index, err = at.node.indexes(suffix); err != nil {
			return place{}, err
		}
		if i == len(segments)-1 {
			return at, nil
		}
		if at.node.step.Type != "workflow" {
			return place{}, fmt.Errorf("step %s runs no workflow", name)
		}
		outer := at
		at = place{
			prefix: strings.Join(segments[:i+1], "/") + "/",
			def:    p.nested(at.node.step),
			outer:  &outer,
		}
	}
	return at, nil
}

// locateNode finds the instance of a node that an event names by scope and path.
func (p *plan) locateNode(scope, path string) (place, error) {
	at := place{def: p.root}
	prefix, suffix := "", scope
	if i := strings.LastIndexByte(scope, '/'); i >= 0 {
		outer, err := p.locate(scope[:i])
		if err != nil {
			return place{}, err
		}
		if outer.node.step.Type != "workflow" {
			return place{}, fmt.Errorf("step %s runs no workflow", scope[:i])
		}
		prefix, suffix = scope[:i+1], scope[i+1:]
		at = place{prefix: prefix, def: p.nested(outer.node.step), outer: &outer}
	}
	at.node = at.def.nodes[path]
	if at.node == nil {
		return place{}, fmt.Errorf("no node %s in %s", path, ref(at.def.ID, at.def.Revision))
	}
	inner := at.node
	if inner.Type == "repeat" { // its decisions belong to a round
		inner = inner.Body
	}
	var err error
	at.index, err = inner.indexes(suffix)
	return at, err
}

// cutSuffix parts a segment of an instance id: "x@root[2]#0" is x and "@root[2]#0".
func cutSuffix(segment string) (name, suffix string) {
	if i := strings.IndexByte(segment, '@'); i >= 0 {
		return segment[:i], segment[i:]
	}
	return segment, ""
}

// indexes reads the scopes of an instance of this node, which must be as the plan
// has them.
func (n *node) indexes(suffix string) ([]index, error) {
	kinds := make([]bool, n.scopes) // whether a scope is a repeat's, outermost first
	k := n.scopes
	for m := n; m.parent != nil; m = m.parent {
		if m.parent.opensScope() {
			k--
			kinds[k] = m.parent.Type == "repeat"
		}
	}
	if n.scopes == 0 {
		if suffix != "" {
			return nil, fmt.Errorf("%q has scopes, its node has none", suffix)
		}
		return nil, nil
	}
	rest, ok := strings.CutPrefix(suffix, "@root")
	if !ok {
		return nil, fmt.Errorf("%q names no scope", suffix)
	}
	indexes := make([]index, 0, n.scopes)
	for _, round := range kinds {
		var x index
		var err error
		if x, rest, err = readIndex(rest, round); err != nil {
			return nil, fmt.Errorf("%q: %w", suffix, err)
		}
		indexes = append(indexes, x)
	}
	if rest != "" {
		return nil, fmt.Errorf("%q has more scopes than its node", suffix)
	}
	return indexes, nil
}

func readIndex(s string, round bool) (index, string, error) {
	open := "["
	if round {
		open = "#"
	}
	digits, ok := strings.CutPrefix(s, open)
	if !ok {
		return index{}, "", fmt.Errorf("expected %s at %q", open, s)
	}
	end := 0
	for end < len(digits) && digits[end] >= '0' && digits[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(digits[:end])
	if err != nil || strconv.Itoa(n) != digits[:end] {
		return index{}, "", fmt.Errorf("no number at %q", s)
	}
	rest := digits[end:]
	if !round {
		if rest, ok = strings.CutPrefix(rest, "]"); !ok {
			return index{}, "", fmt.Errorf("expected ] at %q", s)
		}
	}
	return index{round, n}, rest, nil
}

// suffix is the scopes as they stand in instance ids.
func suffix(indexes []index) string {
	if len(indexes) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("@root")
	for _, x := range indexes {
		if x.round {
			fmt.Fprintf(&b, "#%d", x.n)
		} else {
			fmt.Fprintf(&b, "[%d]", x.n)
		}
	}
	return b.String()
}

// id is the instance id of a step node's place.
func (p place) id() string { return p.prefix + p.node.Step + suffix(p.index) }

// key names a node's instance. Of a repeat it is that of one round.
func (p place) key() string { return p.prefix + suffix(p.index) + " " + p.node.path }

// at is another node of the same activation whose scopes are among this place's.
func (p place) at(n *node) place {
	p.node, p.index = n, p.index[:n.scopes]
	return p
}

// child is a child in the same scope; of a map or repeat, in item or round i.
func (p place) child(slot, i int) place {
	c := p
	c.node = p.node.children[slot]
	c.index = p.index[:len(p.index):len(p.index)]
	if p.node.opensScope() {
		c.index = append(c.index, index{p.node.Type == "repeat", i})
	}
	return c
}

// round is the place that a repeat's decision after round i belongs to.
func (p place) round(i int) place {
	p.index = append(p.index[:len(p.index):len(p.index)], index{true, i})
	return p
}

// inner is the plan that a workflow step's place runs.
func (p place) inner(pl *plan) place {
	d := pl.nested(p.node.step)
	return place{prefix: p.id() + "/", def: d, node: d.Plan, outer: &p}
}

// holds reports whether q is p or lies in it, also through workflow steps.
func (p place) holds(q place) bool {
	for {
		if q.prefix == p.prefix {
			return q.node.within(p.node) && suffix(q.index[:len(p.index)]) == suffix(p.index)
		}
		if q.outer == nil {
			return false
		}
		q = *q.outer
	}
}
