package workflow

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/culm-dev/culm/internal/expr"
	"github.com/culm-dev/culm/internal/schema"
)

// checker checks and links one definition. What it nests is linked already.
type checker struct {
	*unit
	c     *compiler
	def   *Definition
	steps map[string]int // index of the first step of an id
	infos []*StepInfo
	// yields are the steps' output schemas, declared or known by their type;
	// nil where nothing is known. Failure policies are not considered.
	yields []*schema.Schema
	placed map[int]*PlanNode // plan nodes by index of their step
	sorted []string          // see names
	outs   map[view]*schema.Schema
	items  map[*PlanNode]*schema.Schema // of the items of map nodes
}

func newChecker(c *compiler, u *unit) *checker {
	return &checker{
		unit: u, c: c, def: u.src.def,
		steps: map[string]int{}, placed: map[int]*PlanNode{},
		outs: map[view]*schema.Schema{}, items: map[*PlanNode]*schema.Schema{},
	}
}

func (k *checker) check() {
	k.wf = &Workflow{Def: k.def, Ref: k.def.Ref(), Named: map[string]*PlanNode{}}
	k.schemas()
	for i, s := range k.def.Steps {
		k.step(i, s)
	}
	k.plan()
	k.templates()
	k.result()
	k.secrets()
}

// schemas compiles the definition's own schemas.
func (k *checker) schemas() {
	k.wf.Input = k.schema(k.def.InputSchema, "/input_schema")
	if k.wf.Input == nil {
		k.wf.Input = schema.Default()
	}
	k.wf.Output = k.schema(k.def.OutputSchema, "/output_schema")
}

// schema compiles a schema that stands at a canonical pointer; nil if there is
// none, or after an error.
func (k *checker) schema(raw json.RawMessage, at string) *schema.Schema {
	if raw == nil {
		return nil
	}
	s, problems := schema.Compile(raw)
	for _, p := range problems {
		k.report.at(k.src.place(at+p.At), InvalidSchema, "not a valid JSON Schema: %s", p.Message)
	}
	return s
}

// template parses a template that stands at a canonical pointer; nil if there is
// none, or after an error.
func (k *checker) template(raw json.RawMessage, at string) *expr.Template {
	if raw == nil {
		return nil
	}
	t, problems := expr.ParseTemplate(raw)
	for _, p := range problems {
		k.problem(at, p)
	}
	return t
}

// problem reports what package expr found wrong with a template.
func (k *checker) problem(at string, p expr.Problem) {
	v := k.src.place(at + p.At)
	if text := v.get("cel"); text != nil {
		v = text
	}
	where := v.at
	if p.Length > 0 || p.Offset > 0 {
		where = k.report.text.inside(v, p.Offset, p.Length)
	} else if key, foreign := k.foreignMember(at + p.At); foreign {
		where = key
	}
	k.report.add(Code(p.Code), where, v.ptr, "%s", p.Message).Hint = p.Hint
}

// foreignMember finds the name of a member that no reference has, at a canonical
// pointer: then the name is wrong, and not its value.
func (k *checker) foreignMember(pointer string) (span, bool) {
	i := strings.LastIndexByte(pointer, '/')
	parent, name := k.src.place(pointer[:i]), pointer[i+1:]
	if parent.kind != objectKind || slices.Contains([]string{"step", "name", "pointer", "value", "default"}, name) {
		return span{}, false
	}
	for _, m := range parent.members {
		if m.name == name && isReference(parent) {
			return m.at, true
		}
	}
	return span{}, false
}

// step compiles what a step is in itself.
func (k *checker) step(index int, s *Step) {
	at := fmt.Sprintf("/steps/%d", index)
	if first, twice := k.steps[s.ID]; twice && s.ID != "" {
		k.report.at(k.src.place(at+"/id"), DuplicateID, "a step %q exists already, on line %d",
			s.ID, k.src.place(fmt.Sprintf("/steps/%d/id", first)).at.line)
	} else {
		k.steps[s.ID] = index
	}
	info := &StepInfo{
		Def:        s,
		Args:       k.template(s.Args, at+"/args"),
		Prompt:     k.template(s.Prompt, at+"/prompt"),
		DurationMS: k.template(s.DurationMS, at+"/duration_ms"),
		Until:      k.template(s.Until, at+"/until"),
		Output:     k.schema(s.OutputSchema, at+"/output_schema"),
	}
	if info.Args != nil && noArguments(s.Args) {
		info.Args = nil
	}
	if nested := k.nested[index]; nested != nil {
		info.Nested = nested.wf
	}
	k.infos = append(k.infos, info)
	k.yields = append(k.yields, k.yield(info))
}

// noArguments reports whether a step passes nothing: null, which bundles made
// elsewhere have in place of arguments that are left out, is nothing too.
func noArguments(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }

// yield is what is known of a step's output when it succeeds.
func (k *checker) yield(info *StepInfo) *schema.Schema {
	if info.Output != nil {
		return info.Output
	}
	switch info.Def.Type {
	case ToolStep:
		return k.c.tools.info(info.Def.Tool).output
	case AgentStep:
		return schema.String()
	case WorkflowStep:
		if info.Nested != nil {
			return info.Nested.Produces
		}
	case ApprovalStep:
		return compiled([]byte(approvalSchema))
	case SleepStep:
		return schema.Null()
	}
	return nil
}

const approvalSchema = `{"type":"object","properties":{"approved":{"type":"boolean"},"by":{},"comment":{}},
"required":["approved"],"additionalProperties":false}`

// result checks the output template and settles what the workflow produces.
func (k *checker) result() {
	t := k.template(k.def.Output, "/output")
	k.wf.Result = t
	k.wf.Produces = k.wf.Output
	switch {
	case t != nil:
		given := k.references(t, site{at: "/output"})
		if k.wf.Produces == nil {
			k.wf.Produces = given
		}
	case k.wf.Produces == nil && k.def.Output == nil && k.wf.Plan != nil:
		k.wf.Produces = k.out(k.wf.Plan, false)
	}
}
