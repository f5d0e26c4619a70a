package archtest_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

// purePackages have no clock, no goroutine and no randomness: what they say
// depends on what they are given, today and when a journal is folded in ten years.
var purePackages = []string{"workflow", "run", "internal/kernel", "internal/policy"}

// clock are the functions of package time that read the clock or wait for it.
var clock = []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker"}

// deadlines are the functions of package context that do.
var deadlines = []string{"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"}

// impurities gives the places of a file that are not pure.
func impurities(set *token.FileSet, f file) []string {
	var found []string
	report := func(n ast.Node, what string) {
		found = append(found, fmt.Sprintf("%s: %s\n  rule: %v are pure: no clock, no goroutine, no randomness\n"+
			"  because a plan must mean the same whenever its journal is walked; time comes in through arguments", set.Position(n.Pos()), what, purePackages))
	}
	for _, spec := range f.syntax.Imports {
		switch spec.Path.Value {
		case `"math/rand"`, `"math/rand/v2"`, `"crypto/rand"`:
			report(spec, "randomness")
		case `"time"`:
			if spec.Name != nil {
				report(spec, "package time under another name, which hides its clock")
			}
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if n, ok := n.(*ast.GoStmt); ok {
			report(n, "a goroutine")
		}
		return true
	})
	for _, use := range clockUses(f) {
		report(use, use.X.(*ast.Ident).Name+"."+use.Sel.Name)
	}
	return found
}

// clockUses are the places of a file that read the system's clock or wait for it.
func clockUses(f file) []*ast.SelectorExpr {
	var found []*ast.SelectorExpr
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if n, ok := n.(*ast.SelectorExpr); ok {
			pkg, ok := n.X.(*ast.Ident)
			if ok && pkg.Name == "time" && slices.Contains(clock, n.Sel.Name) ||
				ok && pkg.Name == "context" && slices.Contains(deadlines, n.Sel.Name) {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}
