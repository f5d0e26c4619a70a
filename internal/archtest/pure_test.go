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
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n, "a goroutine")
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "time" && slices.Contains(clock, n.Sel.Name) {
				report(n, "time."+n.Sel.Name)
			}
		}
		return true
	})
	return found
}
