// Package archtest_test keeps the shape of the module: who may import whom, and
// what stays pure. docs/architecture.md has the picture.
package archtest_test

import (
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestImportRules(t *testing.T) {
	t.Parallel()
	all, _ := files(t)
	for _, f := range all {
		for _, r := range rules {
			for _, v := range r.violations(f) {
				t.Error(v)
			}
		}
	}
}

func TestPurePackages(t *testing.T) {
	t.Parallel()
	all, set := files(t)
	seen := map[string]bool{}
	for _, f := range all {
		if !slices.Contains(purePackages, f.pkg) {
			continue
		}
		seen[f.pkg] = true
		for _, v := range impurities(set, f) {
			t.Error(v)
		}
	}
	for _, pkg := range purePackages {
		if !seen[pkg] {
			t.Errorf("there is no package %s any more: mend this test", pkg)
		}
	}
}

// The engine's time is its clock's, so that a test can let it pass.
func TestEngineHasOneClock(t *testing.T) {
	t.Parallel()
	all, set := files(t)
	uses := 0
	for _, f := range all {
		if f.pkg != "internal/engine" {
			continue
		}
		for _, use := range clockUses(f) {
			if uses++; path.Base(f.name) != "clock.go" {
				t.Errorf("%s: %s: time passes as Config.Clock says", set.Position(use.Pos()), use.Sel.Name)
			}
		}
	}
	if uses == 0 {
		t.Error("the engine never looks at the system's clock: mend this test")
	}
}

// Packages are named for what they hold.
func TestPackageNames(t *testing.T) {
	t.Parallel()
	all, _ := files(t)
	vague := []string{"base", "common", "helper", "helpers", "misc", "shared", "types", "util", "utils"}
	for _, f := range all {
		if name := path.Base(f.pkg); slices.Contains(vague, name) {
			t.Errorf("%s: package %s could hold anything: name it for what it holds", f.name, name)
		}
	}
}

// Each rule catches what it is for, and lets through what it must.
func TestRulesCatch(t *testing.T) {
	t.Parallel()
	tests := []struct{ rule, pkg, caught, passed string }{
		{"domain and ports import downwards only", "workflow", "run", "internal/schema"},
		{"domain and ports import downwards only", "run", "store", "workflow"},
		{"domain and ports import downwards only", "tool", "tool/shell", "internal/canon"},
		{"domain and ports import downwards only", "store", "internal/kernel", "context"},
		{"definitions and runs use few libraries", "workflow", "cel.dev/cel-go/cel", "go.yaml.in/yaml/v4"},
		{"definitions and runs use few libraries", "run", "go.yaml.in/yaml/v4", "github.com/go-json-experiment/json/jsontext"},
		{"the kernel is pure", "internal/kernel", "os", "slices"},
		{"the kernel is pure", "internal/kernel", "net/http", "time"},
		{"the kernel is pure", "internal/kernel", "context", "run"},
		{"the kernel is pure", "internal/kernel", "store", "internal/expr"},
		{"the kernel is pure", "internal/kernel", "sync/atomic", "workflow"},
		{"policy is pure", "internal/policy", "store", "tool"},
		{"the engine knows ports, not adapters", "internal/engine", "store/sqlite", "store"},
		{"the engine knows ports, not adapters", "internal/engine", "tool/shell", "tool"},
		{"the engine knows ports, not adapters", "internal/engine", ".", "internal/kernel"},
		{"the engine knows ports, not adapters", "internal/engine", "github.com/spf13/cobra", "os"},
		{"the engine knows ports, not adapters", "internal/agent", "net/http", "llm"},
		{"adapters know their own port only", "store/sqlite", "store/memory", "store"},
		{"adapters know their own port only", "store/sqlite", "internal/engine", "internal/proc"},
		{"adapters know their own port only", "tool/git", "tool/shell", "tool/internal/workspace"},
		{"adapters know their own port only", "tool/git", "store", "run"},
		{"logs are kept by an adapter of the engine's port", "internal/livelog", "internal/engine", "run"},
		{"package culm is the engine and its ports", ".", "store/sqlite", "store"},
		{"package culm is the engine and its ports", ".", "internal/kernel", "internal/engine"},
		{"servers stand on package culm", "internal/httpapi", "internal/web", "."},
		{"servers stand on package culm", "internal/web", "store/sqlite", "store"},
		{"the command line uses package culm", "internal/cli", "internal/engine", "."},
		{"the command line uses package culm", "internal/cli/tree", "store/sqlite", "run"},
		{"only the command line imports app", "local", "internal/app", "store/sqlite"},
		{"only the command line imports app", "cmd/culm", "internal/app", "internal/cli"},
		{"the command line does not import package testing", "internal/rehearsal", "testing", "store/memory"},
		{"the command line does not import package testing", "internal/cli", "culmtest", "internal/rehearsal"},
		{"what ships does not import tests", "internal/engine", "internal/testkit/effectlog", "testing"},
		{"the outside checker shares no code with what it checks", "internal/testkit/checker", "run", "internal/testkit/effectlog"},
		{"the reference interpreter shares no code with kernel and engine", "internal/testkit/reference", "internal/kernel", "workflow"},
	}
	tried := map[string]bool{}
	for _, tt := range tests {
		i := slices.IndexFunc(rules, func(r rule) bool { return r.name == tt.rule })
		if i < 0 {
			t.Fatalf("there is no rule %q", tt.rule)
		}
		tried[tt.rule] = true
		planted := file{name: tt.pkg + "/planted.go", pkg: tt.pkg, imports: []string{tt.caught, tt.passed}}
		found := rules[i].violations(planted)
		if len(found) != 1 || !strings.Contains(found[0], "imports "+tt.caught+"\n") || !strings.Contains(found[0], rules[i].why) {
			t.Errorf("%s: %s importing %s and %s gives %q", tt.rule, tt.pkg, tt.caught, tt.passed, found)
		}
	}
	for _, r := range rules {
		if !tried[r.name] {
			t.Errorf("rule %q is not tried here", r.name)
		}
	}
}

func TestImpuritiesCatch(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"package p\nimport \"time\"\nvar x = time.Now()":                             "time.Now",
		"package p\nimport \"time\"\nvar f = time.Since":                             "time.Since",
		"package p\nimport clock \"time\"\nvar x = clock.Now()":                      "under another name",
		"package p\nfunc f() { go f() }":                                             "a goroutine",
		"package p\nimport \"math/rand/v2\"\nvar x = rand.Int()":                     "randomness",
		"package p\nimport \"time\"\nfunc f(t time.Time) bool { return t.IsZero() }": "",
	}
	for source, want := range tests {
		set := token.NewFileSet()
		f, err := parseSource(set, "run/planted.go", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		found := strings.Join(impurities(set, f), "\n")
		if want == "" && found != "" || !strings.Contains(found, want) {
			t.Errorf("%s\n gives %q, want %q", source, found, want)
		}
	}
}
