package workflow

import (
	"slices"
	"strings"

	"github.com/culm-dev/culm/internal/canon"
)

// nodeForm is one way to write a plan node: canonical, with a type, or
// shorthand, recognised by its key.
type nodeForm struct {
	typ    NodeType
	key    string // "" for the canonical form
	fields []nodeField
}

// nodeField is a field of a form, and what it is called in the canonical form.
type nodeField struct {
	name, canonical string
	required        bool
}

// nodeForms are all forms, the canonical ones first.
func nodeForms() []nodeForm {
	must := func(names ...string) []nodeField { return nodeFields(true, names) }
	may := func(names ...string) []nodeField { return nodeFields(false, names) }
	retryTail := may("delay_ms", "backoff", "max_delay_ms")
	return []nodeForm{
		{StepNode, "", must("step")},
		{SequenceNode, "", must("nodes")},
		{ParallelNode, "", must("nodes")},
		{ChoiceNode, "", slices.Concat(must("condition", "then_branch"), may("else_branch"))},
		{MapNode, "", slices.Concat(must("source", "item", "body"), may("concurrency", "tolerate"))},
		{RetryNode, "", slices.Concat(must("node", "max_attempts"), retryTail)},
		{RepeatNode, "", must("body", "until", "max")},
		{FinallyNode, "", must("node", "cleanup")},
		{OnFailureNode, "", must("node", "cleanup")},
		{ParallelNode, "parallel", must("parallel=nodes")},
		{ChoiceNode, "if", slices.Concat(must("if=condition", "then=then_branch"), may("else=else_branch"))},
		{MapNode, "map", slices.Concat(must("map=source", "as=item", "do=body"), may("concurrency", "tolerate"))},
		{RetryNode, "retry", slices.Concat(must("retry=node", "attempts=max_attempts"), retryTail)},
		{RepeatNode, "repeat", must("repeat=body", "until", "max")},
		{FinallyNode, "finally", slices.Concat(must("do=node"), may("on_failure"), must("finally=cleanup"))}, // see readBoth
		{OnFailureNode, "on_failure", must("do=node", "on_failure=cleanup")},
	}
}

// nodeFields reads names, "written=canonical" where they differ.
func nodeFields(must bool, names []string) []nodeField {
	fields := make([]nodeField, len(names))
	for i, name := range names {
		written, canonical, differs := strings.Cut(name, "=")
		if !differs {
			canonical = written
		}
		fields[i] = nodeField{written, canonical, must}
	}
	return fields
}

const nodeExpected = "the id of a step, a list, or an object with one of the keys type, parallel, if, map, retry, repeat, finally, on_failure"

// nodeKeys are the keys by which the form of a node is recognised.
func nodeKeys() []string {
	keys := []string{"type"}
	for _, form := range nodeForms() {
		if form.key != "" {
			keys = append(keys, form.key)
		}
	}
	return keys
}

// node reads a plan node in any form into the canonical one, whose place will be
// path. It is never nil; one that cannot be read has no type.
func (d *decoder) node(v *value, path string) *Node {
	d.places[path] = v
	switch v.kind {
	case stringKind, arrayKind:
		if d.pinned {
			d.report.at(v, WrongType, "shorthand in a pinned definition").Expected = "the canonical form"
			break
		}
		if v.kind == arrayKind {
			return &Node{Type: SequenceNode, Nodes: d.nodes(v, path)}
		}
		return &Node{Type: StepNode, Step: d.id(v, "name of a step")}
	case objectKind:
		if form := d.form(v); form != nil {
			return d.nodeObject(v, path, form)
		}
	default:
		d.report.at(v, WrongType, "%s is no plan node", v.kind).Expected = nodeExpected
	}
	d.lost = lost{names: true, nodes: true}
	return &Node{}
}

// form finds out which form an object is written in; nil after an error.
func (d *decoder) form(v *value) *nodeForm {
	forms := nodeForms()
	if t := v.get("type"); t != nil {
		return d.canonicalForm(t, forms)
	}
	var found []nodeForm
	for _, form := range forms {
		if form.key != "" && v.has(form.key) && !d.pinned {
			found = append(found, form)
		}
	}
	if len(found) == 2 && found[0].typ == FinallyNode && found[1].typ == OnFailureNode {
		return &found[0]
	}
	switch len(found) {
	case 1:
		return &found[0]
	case 0:
		e := d.report.at(v, MissingField, "the object is no plan node")
		e.Expected = nodeExpected
		for _, m := range v.members {
			if e.Near == "" {
				e.Near = near(m.name, nodeKeys())
			}
		}
	default:
		d.report.at(v, ConflictingFields, "the node is both %q and %q", found[0].key, found[1].key).
			Hint = "put one node into the other"
	}
	return nil
}

func (d *decoder) canonicalForm(t *value, forms []nodeForm) *nodeForm {
	if !d.is(t, stringKind) {
		return nil
	}
	var types []string
	for _, form := range forms {
		if form.key != "" {
			break
		}
		if string(form.typ) == t.text {
			return &form
		}
		types = append(types, string(form.typ))
	}
	e := d.report.at(t, UnknownType, "there is no plan node of type %q", t.text)
	e.Expected, e.Near = oneOf(types), near(t.text, types)
	return nil
}

// nodeObject reads a node whose form is known.
func (d *decoder) nodeObject(v *value, path string, form *nodeForm) *Node {
	allowed := optional("id")
	if form.key == "" {
		allowed = append(allowed, required("type")...)
	}
	written := map[string]string{"id": "id"}
	for _, f := range form.fields {
		allowed = append(allowed, fieldRule{f.name, f.required})
		written[f.canonical] = f.name
	}
	d.fields(v, article(string(form.typ))+" node", allowed, allNodeFields(form.key == ""))
	r := nodeReader{d, v, path, written}
	n := &Node{Type: form.typ, ID: d.id(r.get("id"), "id of a node")}
	if r.missing(form) {
		d.lost.nodes = true
	}
	r.read(n)
	return n
}

// readBoth reads {do: .., on_failure: .., finally: ..}: a finally around an
// on_failure.
func (r nodeReader) readBoth(n *Node) {
	r.d.places[r.path+"/node"] = r.v
	inner := nodeReader{r.d, r.v, r.path + "/node", map[string]string{"node": "do", "cleanup": "on_failure"}}
	n.Node = &Node{Type: OnFailureNode}
	inner.read(n.Node)
	n.Cleanup = r.child("cleanup")
}

// allNodeFields are the fields of the nodes of either way of writing.
func allNodeFields(canonical bool) []string {
	var names []string
	for _, form := range nodeForms() {
		if (form.key == "") != canonical {
			continue
		}
		for _, f := range form.fields {
			names = append(names, f.name)
		}
	}
	return names
}

// nodeReader gets at the fields of a node by their canonical names.
type nodeReader struct {
	d       *decoder
	v       *value
	path    string
	written map[string]string
}

func (r nodeReader) get(canonical string) *value {
	name, ok := r.written[canonical]
	if !ok {
		return nil
	}
	return r.d.get(r.v, name)
}

func (r nodeReader) missing(form *nodeForm) bool {
	return slices.ContainsFunc(form.fields, func(f nodeField) bool { return f.required && r.d.get(r.v, f.name) == nil })
}

// template reads a field that is a template, and remembers where it stands.
func (r nodeReader) template(canonical string) []byte {
	name, ok := r.written[canonical]
	if !ok || !r.v.has(name) {
		return nil
	}
	v := r.v.get(name)
	r.d.places[r.path+"/"+canonical] = v
	return r.d.raw(v)
}

func (r nodeReader) child(canonical string) *Node {
	v := r.get(canonical)
	if v == nil {
		return nil
	}
	return r.d.node(v, r.path+"/"+canonical)
}

func (r nodeReader) read(n *Node) {
	d := r.d
	switch n.Type {
	case StepNode:
		n.Step = d.id(r.get("step"), "name of a step")
		r.place("step")
	case SequenceNode, ParallelNode:
		if list := r.get("nodes"); list != nil && d.is(list, arrayKind) {
			n.Nodes = d.nodes(list, r.path)
		}
	case ChoiceNode:
		n.Condition = r.template("condition")
		n.Then, n.Else = r.child("then_branch"), r.child("else_branch")
	case MapNode:
		n.Source = r.template("source")
		n.Item = d.id(r.get("item"), "name of a map's item")
		r.place("item")
		n.Body = r.child("body")
		n.Concurrency = d.small(r.get("concurrency"), 1, maxInteger)
		n.Tolerate = d.small(r.get("tolerate"), 0, maxInteger)
	case RetryNode:
		n.Node = r.child("node")
		n.MaxAttempts = d.whole(r.get("max_attempts"), 1, maxRevision)
		n.DelayMS = d.millis(r.get("delay_ms"), 0)
		n.Backoff = d.backoff(r.get("backoff"))
		n.MaxDelayMS = d.millis(r.get("max_delay_ms"), 0)
	case RepeatNode:
		n.Body = r.child("body")
		n.Until = r.template("until")
		n.Max = d.whole(r.get("max"), 1, 1000)
	case FinallyNode, OnFailureNode:
		if r.get("on_failure") != nil {
			r.readBoth(n)
			return
		}
		n.Node, n.Cleanup = r.child("node"), r.child("cleanup")
	}
}

// place remembers where a field stands, for errors of the compiler.
func (r nodeReader) place(canonical string) {
	if v := r.get(canonical); v != nil {
		r.d.places[r.path+"/"+canonical] = v
	}
}

// nodes reads the nodes of a list; their canonical places are below path.
func (d *decoder) nodes(list *value, path string) []*Node {
	if len(list.items) == 0 {
		d.report.at(list, EmptyNode, "the list has no nodes").Expected = "at least one node"
		d.lost.nodes = true
	}
	nodes := make([]*Node, len(list.items))
	for i, item := range list.items {
		nodes[i] = d.node(item, canon.AppendPointer(path+"/nodes", i))
	}
	return nodes
}
