package expr

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/culm-dev/culm/internal/canon"
)

func (c *checker) typeProblems(source string, parsed *cel.Ast, errs []*common.Error) []Problem {
	info := parsed.NativeRep().SourceInfo()
	byID := map[int64]ast.Expr{}
	ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) { byID[e.ID()] = e }))
	var problems []Problem
	for _, e := range errs {
		p := Problem{Code: CodeExpressionInvalid}
		p.Message, p.Hint = c.reword(e.Message)
		p.Offset = offsetOf(source, e.Location.Line(), e.Location.Column())
		if at, ok := byID[e.ExprID]; ok {
			start, end := spanOf(source, info, at)
			p.Offset, p.Length = start, end-start
		}
		problems = append(problems, p)
	}
	return problems
}

// reword puts the checker's messages into the words of a definition's author.
func (c *checker) reword(message string) (reworded, hint string) {
	if field, ok := quoted(message, "undefined field '"); ok && c.provider.missed[field] != "" {
		return c.provider.missed[field], ""
	}
	if name, ok := quoted(message, "undeclared reference to '"); ok {
		return c.undeclared(name), ""
	}
	if strings.HasPrefix(message, "found no matching overload for '") {
		return overload(message)
	}
	return message, ""
}

func (c *checker) undeclared(name string) string {
	names := []string{argsVar, stepsVar, itemVar, outcomeVar, runVar}
	for _, function := range sortedNames(c.env.Functions()) {
		if isNameByte(function[0]) && function[0] != '_' { // else an operator or internal
			names = append(names, function)
		}
	}
	m := fmt.Sprintf("nothing is called %q here", name)
	if near := canon.Near(name, names); near != "" {
		m += fmt.Sprintf(", did you mean %q?", near)
	}
	return m
}

// overload explains that an operator or function does not take such values.
func overload(message string) (reworded, hint string) {
	name, _ := quoted(message, "found no matching overload for '")
	_, applied, _ := strings.Cut(message, "' applied to '")
	applied = strings.TrimSuffix(applied, "'")
	switch display, ok := operators.FindReverse(name); {
	case name == operators.Conditional:
		name = "?:"
	case name == operators.Index:
		name = "[]"
	case ok && display != "":
		name = display
	}
	if strings.Contains(applied, "int") && strings.Contains(applied, "double") {
		hint = "numbers under a schema of type number are doubles: write 1.0 for 1, or convert with int() or double()"
	}
	return fmt.Sprintf("%s cannot be applied to %s", name, applied), hint
}

// quoted finds what stands between a prefix and the next quote.
func quoted(message, prefix string) (string, bool) {
	_, rest, ok := strings.Cut(message, prefix)
	if !ok {
		return "", false
	}
	text, _, ok := strings.Cut(rest, "'")
	return text, ok
}
