package expr

import (
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// check gives the checked and the parsed form of an expression, or what is wrong
// with it. The checker of the language is stricter
// than its evaluator in two points in which a schema should not matter, so where
// that is what is wrong the operand is made dynamic:
//
//   - ==, != and in refuse numbers of different types, while < and > take them;
//     args.count == 3 must not depend on whether the schema says integer or number;
//   - a comprehension refuses an object whose properties are declared, while any
//     other object is a map that it goes over.
func (c *checker) check(source string) (*cel.Ast, *cel.Ast, []*common.Error) {
	dynamic := map[int64]bool{}
	for {
		parsed, _, _ := parseCEL(source) // anew: the checker changes what it is given
		makeDynamic(parsed.NativeRep().Expr(), dynamic)
		checked, issues := c.env.Check(parsed)
		if issues.Err() == nil {
			return checked, parsed, nil
		}
		before := len(dynamic)
		for _, e := range issues.Errors() {
			if comparesNumbers(e.Message) || goesOverObject(e.Message) {
				dynamic[e.ExprID] = true
			}
		}
		if len(dynamic) == before {
			return nil, parsed, issues.Errors()
		}
	}
}

// comparesNumbers reports whether an error is about nothing but the types of
// numbers that are compared.
func comparesNumbers(message string) bool {
	name, ok := quoted(message, "found no matching overload for '")
	_, applied, _ := strings.Cut(message, "' applied to '(")
	left, right, _ := strings.Cut(strings.TrimSuffix(applied, ")'"), ", ")
	switch {
	case !ok:
		return false
	case name == operators.Equals, name == operators.NotEquals:
		return isNumber(left) && isNumber(right)
	case name == operators.In:
		element, isList := strings.CutPrefix(right, "list(")
		return isList && isNumber(left) && isNumber(strings.TrimSuffix(element, ")"))
	}
	return false
}

func isNumber(typeName string) bool {
	return typeName == "int" || typeName == "uint" || typeName == "double"
}

func goesOverObject(message string) bool {
	return strings.HasPrefix(message, "expression of type '"+typePrefix) &&
		strings.Contains(message, "cannot be range of a comprehension")
}

// makeDynamic puts dyn() around the expressions with these ids; around the first
// operand if they are operators.
func makeDynamic(root ast.Expr, ids map[int64]bool) {
	if len(ids) == 0 {
		return
	}
	var found []ast.Expr
	next := int64(1)
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		next = max(next, e.ID()+1)
		if ids[e.ID()] {
			found = append(found, e)
		}
	}))
	factory := ast.NewExprFactory()
	for _, e := range found {
		if e.Kind() == ast.CallKind && isComparison(e.AsCall().FunctionName()) {
			e = e.AsCall().Args()[0]
		}
		inner := factory.NewUnspecifiedExpr(next)
		inner.SetKindCase(e)
		e.SetKindCase(factory.NewCall(e.ID(), "dyn", inner))
		next++
	}
}

func isComparison(function string) bool {
	return function == operators.Equals || function == operators.NotEquals || function == operators.In
}
