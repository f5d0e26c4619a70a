package expr

import (
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"

	"github.com/culm-dev/culm/internal/schema"
)

// CELTypes says what is known of the values that expressions may use. A nil
// schema is one of which nothing is known.
type CELTypes struct {
	Args  *schema.Schema
	Steps map[string]*schema.Schema // by step name; a name that is not here is a Problem
	Items map[string]*schema.Schema // by item name; the same
}

// program is a CEL expression, checked and planned. It is immutable.
type program struct {
	source string
	run    cel.Program
	place  func(id int64) (line, column int)
	result *schema.Schema

	args, facts  *shape
	outcome      *shape
	steps, items map[string]*shape
}

// CheckCEL compiles every CEL expression of the template against the types. Call
// it once, before the first Eval and before the template is shared; a template
// without expressions needs no call.
func (t *Template) CheckCEL(known CELTypes) []Problem {
	var expressions []*Ref
	used := map[useKey]bool{}
	for ref := range t.Refs {
		if ref.Kind != CEL {
			continue
		}
		expressions = append(expressions, ref)
		for _, use := range ref.Uses {
			used[useKey{use.Kind, use.Name}] = true
		}
	}
	if len(expressions) == 0 {
		return nil
	}
	c, err := newChecker(known, used)
	if err != nil {
		return []Problem{{Code: CodeExpressionInvalid, At: expressions[0].At + "/cel", Message: err.Error()}}
	}
	var problems []Problem
	for _, ref := range expressions {
		compiled, found := c.compile(ref.Source)
		for _, p := range found {
			p.At = ref.At + "/cel"
			problems = append(problems, p)
		}
		ref.program = compiled
	}
	return problems
}

// checker compiles expressions against one set of types.
type checker struct {
	env      *cel.Env
	provider *provider

	args, steps, items, facts, outcome *shape
}

func newChecker(known CELTypes, used map[useKey]bool) (*checker, error) {
	base, err := baseEnv()
	if err != nil {
		return nil, err
	}
	b := newShapes()
	c := &checker{
		args:    dynamic(),
		outcome: dynamic(),
		steps:   b.namespace(stepsVar, known.Steps, func(name string) bool { return used[useKey{Step, name}] }),
		items:   b.namespace(itemVar, known.Items, func(name string) bool { return used[useKey{Item, name}] }),
		facts:   b.namespace(runVar, factTypes(), func(string) bool { return true }),
	}
	if used[useKey{kind: Args}] {
		c.args = b.of(known.Args, argsVar)
	}
	if used[useKey{kind: Outcome}] {
		c.outcome = b.of(schema.Outcome(), outcomeVar)
	}
	c.provider = &provider{Provider: base.CELTypeProvider(), objects: b.objects, missed: map[string]string{}}
	options := []cel.EnvOption{
		cel.CustomTypeProvider(c.provider),
		cel.Variable(argsVar, c.args.celType),
		cel.Variable(stepsVar, c.steps.celType),
		cel.Variable(itemVar, c.items.celType),
		cel.Variable(runVar, c.facts.celType),
		cel.Variable(outcomeVar, c.outcome.celType),
	}
	c.env, err = base.Extend(append(options, mapFunctions(b.objects)...)...)
	if err != nil {
		return nil, fmt.Errorf("declare types: %w", err)
	}
	return c, nil
}

// factTypes are the types of run.run_id and so on.
func factTypes() map[string]*schema.Schema {
	facts := map[string]*schema.Schema{}
	for _, name := range runFacts() {
		facts[name] = schema.String()
	}
	facts["attempt"] = schema.OfTypes(schema.IntegerType)
	return facts
}

// mapFunctions lets objects with declared properties do what maps can: be
// indexed by a computed name, be searched with in, and have a size. They run as
// the functions of maps, which the values are.
func mapFunctions(objects map[string]*shape) []cel.EnvOption {
	var options []cel.EnvOption
	for _, name := range sortedNames(objects) {
		t := objects[name].celType
		options = append(options,
			cel.Function(operators.Index, cel.Overload("index "+name, []*cel.Type{t, cel.StringType}, cel.DynType)),
			cel.Function(operators.In, cel.Overload("in "+name, []*cel.Type{cel.StringType, t}, cel.BoolType)),
			cel.Function("size",
				cel.Overload("size "+name, []*cel.Type{t}, cel.IntType),
				cel.MemberOverload("size of "+name, []*cel.Type{t}, cel.IntType)),
		)
	}
	return options
}

func (c *checker) compile(source string) (*program, []Problem) {
	if _, _, problems := parseCEL(source); len(problems) > 0 {
		return nil, problems
	}
	clear(c.provider.missed)
	checked, parsed, errs := c.check(source)
	if len(errs) > 0 {
		return nil, c.typeProblems(source, parsed, errs)
	}
	run, err := c.env.Program(checked,
		cel.CostLimit(CostLimit),
		cel.EvalOptions(cel.OptOptimize),
		cel.CustomDecoratorV2(sortMaps),
		cel.CustomDecoratorV2(boundText),
	)
	if err != nil { // such as a constant pattern that is no RE2
		return nil, []Problem{{Code: CodeExpressionInvalid, Message: err.Error()}}
	}
	info := checked.NativeRep().SourceInfo()
	return &program{
		source: source,
		run:    run,
		place: func(id int64) (line, column int) {
			l := info.GetStartLocation(id)
			return l.Line(), l.Column() + 1
		},
		result:  c.resultOf(checked.OutputType()),
		args:    c.args,
		facts:   c.facts,
		outcome: c.outcome,
		steps:   c.steps.fields,
		items:   c.items.fields,
	}, nil
}
