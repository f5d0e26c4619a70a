package expr

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// The variables of an expression.
const (
	argsVar  = "args"
	stepsVar = "steps"
	itemVar  = "item"
	runVar   = "run"

	outcomeVar = "outcome"
)

// expression parses a CEL expression to find what it uses. The parsed form is
// not kept: [Template.CheckCEL], which needs the types, parses again.
func (p *parser) expression(r *Ref) {
	_, uses, problems := parseCEL(r.Source)
	for i := range problems {
		problems[i].At = r.At + "/cel"
	}
	p.problems = append(p.problems, problems...)
	for i := range uses {
		uses[i].At = r.At + "/cel"
	}
	r.Uses = uses
}

// parseCEL parses an expression, makes every access by a constant name look the
// same (m["name"] becomes m.name, which means the same), and lists what it uses.
func parseCEL(source string) (*cel.Ast, []Ref, []Problem) {
	env, err := baseEnv()
	if err != nil {
		return nil, nil, []Problem{{Code: CodeExpressionInvalid, Message: err.Error()}}
	}
	parsed, issues := env.Parse(source)
	if issues.Err() != nil {
		return nil, nil, syntaxProblems(source, issues.Errors())
	}
	u := &users{source: source, info: parsed.NativeRep().SourceInfo(), bound: map[string]int{}}
	u.visit(parsed.NativeRep().Expr())
	return parsed, u.uses, u.problems
}

func syntaxProblems(source string, errs []*common.Error) []Problem {
	var problems []Problem
	for _, e := range errs {
		message := strings.TrimPrefix(e.Message, "Syntax error: ")
		// The list of all tokens that might follow helps nobody.
		message, _, _ = strings.Cut(message, " expecting {")
		message = strings.Replace(message, "mismatched input '<EOF>'", "unexpected end", 1)
		message = strings.Replace(message, "mismatched input", "unexpected", 1)
		problems = append(problems, Problem{
			Code:    CodeExpressionInvalid,
			Message: message,
			Offset:  offsetOf(source, e.Location.Line(), e.Location.Column()),
		})
	}
	return problems
}

// users walks a parsed expression. Comprehensions bind names, which then hide
// variables: args.files.exists(item, item.size > 3) does not use item.
type users struct {
	source   string
	info     *ast.SourceInfo
	bound    map[string]int // how many enclosing comprehensions bind the name
	uses     []Ref
	problems []Problem
}

func (u *users) visit(e ast.Expr) {
	switch e.Kind() {
	case ast.IdentKind:
		u.ident(e)
	case ast.SelectKind:
		u.selection(e, e.AsSelect().Operand(), e.AsSelect().FieldName())
	case ast.CallKind:
		u.call(e)
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			u.visit(element)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			u.visit(entry.AsMapEntry().Key())
			u.visit(entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			u.visit(field.AsStructField().Value())
		}
	case ast.ComprehensionKind:
		u.comprehension(e.AsComprehension())
	}
}

func (u *users) call(e ast.Expr) {
	call := e.AsCall()
	if call.FunctionName() == operators.Index && len(call.Args()) == 2 {
		operand, index := call.Args()[0], call.Args()[1]
		if name, ok := constantName(index); ok {
			u.selection(e, operand, name)
			e.SetKindCase(ast.NewExprFactory().NewSelect(e.ID(), operand, name))
			return
		}
	}
	if call.IsMemberFunction() {
		u.visit(call.Target())
	}
	for _, arg := range call.Args() {
		u.visit(arg)
	}
}

func constantName(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	name, ok := e.AsLiteral().(types.String)
	return string(name), ok
}

func (u *users) comprehension(c ast.ComprehensionExpr) {
	u.visit(c.IterRange())
	u.visit(c.AccuInit())
	u.bound[c.AccuVar()]++
	u.bound[c.IterVar()]++
	u.bound[c.IterVar2()]++
	u.visit(c.LoopCondition())
	u.visit(c.LoopStep())
	u.bound[c.IterVar()]--
	u.bound[c.IterVar2()]--
	u.visit(c.Result())
	u.bound[c.AccuVar()]--
}

// variable tells which variable an expression is, if it is one.
func (u *users) variable(e ast.Expr) string {
	if e.Kind() != ast.IdentKind {
		return ""
	}
	name := e.AsIdent()
	if u.bound[name] > 0 {
		return ""
	}
	return strings.TrimPrefix(name, ".") // .args is args whatever is bound
}

func (u *users) ident(e ast.Expr) {
	switch name := u.variable(e); name {
	case argsVar:
		u.use(Ref{Kind: Args}, e)
	case runVar:
		u.use(Ref{Kind: Run}, e)
	case outcomeVar:
		u.use(Ref{Kind: Outcome}, e)
	case stepsVar, itemVar:
		offset, length := u.span(e)
		u.problems = append(u.problems, Problem{
			Code:    CodeExpressionInvalid,
			Message: fmt.Sprintf("%s must be followed by a constant name, as in %s.name or %s[\"name\"]", name, name, name),
			Offset:  offset, Length: length,
		})
	}
}

func (u *users) selection(e, operand ast.Expr, name string) {
	switch u.variable(operand) {
	case stepsVar:
		u.use(Ref{Kind: Step, Name: name}, e)
	case itemVar:
		u.use(Ref{Kind: Item, Name: name}, e)
	default:
		u.visit(operand)
	}
}

// use lists what is used once, where it is used first.
func (u *users) use(r Ref, e ast.Expr) {
	for _, known := range u.uses {
		if known.Kind == r.Kind && known.Name == r.Name {
			return
		}
	}
	r.Offset, r.Length = u.span(e)
	u.uses = append(u.uses, r)
}
