package workflow

import (
	"fmt"
	"maps"
	"slices"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/expr"
	"github.com/culm-dev/culm/internal/schema"
)

// templates checks every template of the plan, in the order of the plan: what
// a map goes over is known before its body is looked at.
func (k *checker) templates() {
	for _, n := range k.wf.Nodes {
		if n.Expr != nil {
			k.decision(n)
		}
		if n.Step != nil && k.wf.Named[n.ID] == n {
			k.stepTemplates(n, fmt.Sprintf("/steps/%d", k.steps[n.ID]))
		}
	}
}

// stepTemplates checks the templates of the step that a node runs.
func (k *checker) stepTemplates(n *PlanNode, at string) {
	s := n.Step
	passes := s.Def.Type == ToolStep || s.Def.Type == WorkflowStep
	argSite := site{node: n, at: at + "/args", attempt: true, handles: passes}
	if s.Args != nil {
		k.references(s.Args, argSite)
	}
	if s.Args != nil || noArguments(s.Def.Args) {
		k.arguments(s, argSite)
	}
	if s.Prompt != nil {
		k.references(s.Prompt, site{node: n, at: at + "/prompt", attempt: true})
	}
	if s.DurationMS != nil {
		given := k.references(s.DurationMS, site{node: n, at: at + "/duration_ms", attempt: true})
		k.mayBe(given, schema.IntegerType, at+"/duration_ms")
	}
	if s.Until != nil {
		given := k.references(s.Until, site{node: n, at: at + "/until", attempt: true})
		k.mayBe(given, schema.StringType, at+"/until")
	}
}

func (k *checker) mayBe(given *schema.Schema, want schema.TypeSet, at string) {
	if !given.MayBe(want) {
		k.report.at(k.src.place(at), WrongType, "the type of this is %s", given.Types()).Expected = want.String()
	}
}

// decision checks what a choice, map or repeat decides by.
func (k *checker) decision(n *PlanNode) {
	switch n.Type {
	case ChoiceNode:
		k.condition(n, site{node: n, at: n.Path + "/condition"})
	case RepeatNode:
		k.condition(n, site{node: n, when: after, at: n.Path + "/until"})
	case MapNode:
		s := site{node: n, at: n.Path + "/source"}
		given := k.references(n.Expr, s)
		if types := given.Types(); types != schema.AllTypes && !given.MustBe(schema.ArrayType) {
			k.report.at(k.src.place(s.at), MapSourceNotArray, "a map goes over a list, and the type of this is %s", types).Expected = "an array"
		}
		k.items[n] = given.Items()
	}
}

// condition checks that a template is boolean. A type that is not known is
// checked when it runs, but for the output of a step that could declare it.
func (k *checker) condition(n *PlanNode, s site) {
	given := k.references(n.Expr, s)
	where := k.src.place(s.at)
	if step := k.undeclared(n.Expr.Root()); step != "" {
		k.report.at(where, ChoiceSchemaRequired, "the condition is the output of step %q, which declares none", step).
			Expected = fmt.Sprintf("an output_schema in step %q that says where the boolean is", step)
		return
	}
	if types := given.Types(); types != schema.AllTypes && !given.MustBe(schema.BooleanType) {
		k.report.at(where, ConditionNotBoolean, "a condition must be true or false, and the type of this is %s", types).Expected = "a boolean"
	}
}

// undeclared is the id of the step that a reference reads, if its output has no
// schema although it could declare one. What a tool says of itself does not
// count: whether a definition is valid must not depend on who compiles it.
func (k *checker) undeclared(ref *expr.Ref) string {
	if ref == nil || ref.Kind != expr.Step && ref.Kind != expr.Previous {
		return ""
	}
	n := k.wf.Named[ref.Name]
	if n == nil || n.Step == nil || n.Step.Output != nil {
		return ""
	}
	switch n.Step.Def.Type {
	case ToolStep, EventStep:
		return ref.Name
	case WorkflowStep:
		if n.Step.Nested != nil && n.Step.Nested.Produces == nil {
			return ref.Name
		}
	}
	return ""
}

// references checks every reference of a template and every expression, and
// gives what is known of the template's value.
func (k *checker) references(t *expr.Template, s site) *schema.Schema {
	types := expr.CELTypes{Args: k.wf.Input, Steps: map[string]*schema.Schema{}, Items: map[string]*schema.Schema{}}
	expressions := false
	for ref := range t.Refs {
		if ref.Kind == expr.CEL {
			expressions = true
			k.uses(ref, s, &types)
			continue
		}
		k.reference(ref, s, k.at(ref, s, ""))
	}
	if expressions {
		for _, p := range t.CheckCEL(types) {
			k.problem(s.at, p)
		}
	}
	return k.known(t, s)
}

// uses checks what an expression refers to, and notes the types.
func (k *checker) uses(ref *expr.Ref, s site, types *expr.CELTypes) {
	text := k.src.place(s.at + ref.At + "/cel")
	for i := range ref.Uses {
		use := &ref.Uses[i]
		k.reference(use, s, spot{text, k.report.text.inside(text, use.Offset, use.Length)})
		switch use.Kind {
		case expr.Step:
			types.Steps[use.Name] = k.value(use, s)
		case expr.Item:
			types.Items[use.Name] = k.value(use, s)
		}
	}
}

// spot is where an error belongs.
type spot struct {
	v  *value
	at span
}

// at is the place of a reference, or of a field of it.
func (k *checker) at(ref *expr.Ref, s site, field string) spot {
	v := k.src.place(s.at + ref.At)
	if inner := v.get(field); inner != nil {
		v = inner
	}
	return spot{v, v.at}
}

func (k *checker) errorAt(where spot, code Code, format string, args ...any) *Error {
	return k.report.add(code, where.at, where.v.ptr, format, args...)
}

// reference checks one reference; where is where errors belong that no field of
// it is responsible for.
func (k *checker) reference(ref *expr.Ref, s site, where spot) {
	switch ref.Kind {
	case expr.Step:
		if k.stepReference(ref, s, field(k, ref, s, where, "step")) {
			k.pointer(ref, s)
		}
	case expr.Previous:
		if k.previous(ref, s, field(k, ref, s, where, "step")) {
			k.pointer(ref, s)
		}
	case expr.Item:
		if k.item(ref, s, field(k, ref, s, where, "name")) {
			k.pointer(ref, s)
		}
	case expr.Args:
		k.pointer(ref, s)
	case expr.Outcome:
		if k.inCleanup(s, where) {
			k.pointer(ref, s)
		}
	case expr.Run:
		k.runFact(ref, s)
	case expr.Secret:
		if !s.handles {
			k.errorAt(where, SecretMisplaced, "the secret %q cannot be used here", ref.Name).
				Expected = "secret handles only in the arguments of tool and workflow steps"
		}
	}
}

// field narrows a place down to a field of the reference; a use in an expression
// has none.
func field(k *checker, ref *expr.Ref, s site, where spot, name string) spot {
	if where.v.kind != objectKind {
		return where
	}
	return k.at(ref, s, name)
}

// stepReference checks that a reference names what is finished before.
func (k *checker) stepReference(ref *expr.Ref, s site, where spot) bool {
	to := k.named(ref.Name, where)
	if to == nil {
		return false
	}
	v := visible(s, to)
	if v.code == "" || v.code == MaybeMissing && ref.Default != nil {
		return true
	}
	k.invisible(v.code, to, ref.Name, where)
	return false
}

// named finds the node of a name; nil after an error, or if the plan does not
// run the step, which is an error of its own.
func (k *checker) named(name string, where spot) *PlanNode {
	if n := k.wf.Named[name]; n != nil {
		return n
	}
	if _, ok := k.steps[name]; !ok && !k.src.lost.names {
		e := k.errorAt(where, UnknownStep, "there is no step or node %q", name)
		e.Expected, e.Near = "the id of a step or node", near(name, k.names())
	}
	return nil
}

// names are the names that a reference of kind step may use, sorted.
func (k *checker) names() []string {
	if k.sorted == nil {
		k.sorted = slices.Sorted(maps.Keys(k.wf.Named))
	}
	return k.sorted
}

// invisible says why a node cannot be referred to.
func (k *checker) invisible(code Code, to *PlanNode, name string, where spot) {
	what := "node"
	if to.Type == StepNode {
		what = "step"
	}
	var message, hint string
	switch code {
	case ForwardReference:
		message, hint = "%s %q has not run yet at this place", "move it before, or refer to something earlier"
	case SiblingReference:
		message, hint = "%s %q runs at the same time, in the same parallel", "put one after the other in a sequence"
	case BranchReference:
		message = "%s %q is in the other branch of the choice"
	case CycleReference:
		message = "%s %q cannot refer to itself, or from inside to the whole"
	case ScopeReference:
		message, hint = "%s %q runs inside a map or repeat, of which this place is outside", "give the map or repeat an id and refer to that"
	case MaybeMissing:
		message, hint = "%s %q may not have run: it depends on a choice or is skipped after a failure",
			"give the choice or sequence around it an id and refer to that, or add a default"
	}
	e := k.errorAt(where, code, message, what, name)
	e.Expected, e.Hint = "a step or node that has always finished before", hint
}

// previous checks a reference to the preceding round of the enclosing repeat.
func (k *checker) previous(ref *expr.Ref, s site, where spot) bool {
	if enclosing(s.node, RepeatNode) == nil {
		k.errorAt(where, ScopeReference, "there is no preceding round here").Expected = "previous only in the body of a repeat"
		return false
	}
	to := k.named(ref.Name, where)
	if to == nil {
		return false
	}
	if !hasPrevious(s.node, to) {
		k.errorAt(where, ScopeReference, "%q is not in the body of a repeat that encloses this place", ref.Name).
			Expected = "a step or node of that body; in a map of it, only a step, and only from inside the same map"
		return false
	}
	return true
}

// hasPrevious reports whether what ran in the preceding round can be told for a
// node, as seen from another: both are in the body of one repeat, and every map
// between it and to encloses from as well. Of what is in a map only steps are kept.
func hasPrevious(from, to *PlanNode) bool {
	scoped := false
	for n := to.Parent; n != nil; n = n.Parent {
		if !n.scopes() {
			continue
		}
		if from == n || !encloses(n, from) {
			return false
		}
		if n.Type == RepeatNode {
			return !scoped || to.Type == StepNode
		}
		scoped = true
	}
	return false
}

// enclosing is the lowest node of a type whose body a node is in, or nil.
func enclosing(n *PlanNode, t NodeType) *PlanNode {
	for n != nil && n.Parent != nil {
		n = n.Parent
		if n.Type == t {
			return n
		}
	}
	return nil
}

// item checks that an enclosing map has an item of the name.
func (k *checker) item(ref *expr.Ref, s site, where spot) bool {
	if k.mapOf(ref.Name, s) != nil {
		return true
	}
	var names []string
	for m := enclosing(s.node, MapNode); m != nil; m = enclosing(m, MapNode) {
		names = append(names, m.Def.Item)
	}
	e := k.errorAt(where, UnknownItem, "no enclosing map has an item %q", ref.Name)
	e.Near = near(ref.Name, names)
	if len(names) > 0 {
		e.Expected = oneOf(names)
	} else {
		e.Expected = "item references only in the body of a map"
	}
	return false
}

// mapOf is the enclosing map with an item of the name.
func (k *checker) mapOf(name string, s site) *PlanNode {
	m := enclosing(s.node, MapNode)
	for m != nil && m.Def.Item != name {
		m = enclosing(m, MapNode)
	}
	return m
}

// inCleanup checks that there is an outcome to read at the place.
func (k *checker) inCleanup(s site, where spot) bool {
	if s.node != nil && s.node.cleansFor() != nil {
		return true
	}
	k.errorAt(where, ScopeReference, "there is no outcome here").
		Expected = "outcome only in the cleanup of a finally or on_failure"
	return false
}

// runFact checks that what a reference reads of the run exists at the place.
func (k *checker) runFact(ref *expr.Ref, s site) {
	if s.attempt || ref.Pointer != "/step_id" && ref.Pointer != "/attempt" && ref.Pointer != "/idempotency_key" {
		return
	}
	k.errorAt(k.at(ref, s, "pointer"), PointerExcluded, "%s exists only while a step runs", ref.Pointer[1:]).
		Expected = "run_id, root_run_id or created_at outside of a step's templates"
}

// pointer checks that the schema of what a reference reads allows the place.
func (k *checker) pointer(ref *expr.Ref, s site) {
	whole := k.whole(ref, s)
	if ref.Pointer == "" {
		return
	}
	tokens, err := canon.Tokens(ref.Pointer)
	if err != nil {
		return // reported when it was parsed
	}
	at, reached := whole, ""
	for _, token := range tokens {
		next, v := at.Child(token)
		if v == schema.Unknown {
			return
		}
		if v == schema.Excluded {
			k.excluded(ref, s, at, reached, token)
			return
		}
		at, reached = next, canon.AppendPointer(reached, token)
	}
}

func (k *checker) excluded(ref *expr.Ref, s site, at *schema.Schema, reached, token string) {
	what := "the value"
	if reached != "" {
		what = reached
	}
	e := k.errorAt(k.at(ref, s, "pointer"), PointerExcluded, "%s has no %q", what, token)
	switch names := at.Names(); {
	case !at.MayBe(schema.ObjectType | schema.ArrayType):
		e.Message = fmt.Sprintf("the type of %s is %s, so it has no %q", what, at.Types(), token)
	case len(names) > 0:
		e.Near, e.Expected = near(token, names), oneOf(names)
	}
}
