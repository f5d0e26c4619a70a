package archtest_test

import (
	"fmt"
	"slices"
	"strings"
)

// rule forbids imports. It is about direct imports only: what third parties
// bring in themselves is their business.
type rule struct {
	name string
	why  string
	// applies says which packages the rule is for.
	applies func(pkg string) bool
	// forbids says which imports they may not have.
	forbids func(pkg, imported string) bool
}

// below is what every package under the kernel may use: pure helpers, and the one
// that knows processes and locks.
var below = []string{"internal/canon", "internal/schema", "internal/expr", "internal/proc", "internal/telemetry"}

// adapters are the packages that connect a port with the world.
func adapter(pkg string) bool {
	if within(pkg, "tool/internal", "tool/tooltest", "tool/builtin", "store/storetest", "llm/llmtest") {
		return false
	}
	return port(pkg) != "" && pkg != port(pkg)
}

// port is the port that an adapter belongs to; "" for other packages.
func port(pkg string) string {
	first, _, _ := strings.Cut(pkg, "/")
	if slices.Contains([]string{"store", "tool", "llm"}, first) {
		return first
	}
	return ""
}

func is(packages ...string) func(string) bool {
	return func(pkg string) bool { return slices.Contains(packages, pkg) }
}

func in(folders ...string) func(string) bool {
	return func(pkg string) bool { return within(pkg, folders...) }
}

// onlyOurs forbids packages of ours other than those given, for each package.
func onlyOurs(allowed map[string][]string) func(pkg, imported string) bool {
	return func(pkg, imported string) bool { return ours(imported) && !within(imported, allowed[pkg]...) }
}

var rules = []rule{
	{
		name:    "domain and ports import downwards only",
		why:     "workflow, run, session and the ports are what everything else is written in; they know nothing of it",
		applies: is("workflow", "run", "session", "store", "tool", "llm"),
		forbids: onlyOurs(map[string][]string{
			"workflow": below,
			"run":      append([]string{"workflow"}, below...),
			"session":  append([]string{"workflow", "run"}, below...),
			"store":    append([]string{"workflow", "run"}, below...),
			"tool":     append([]string{"workflow", "run"}, below...),
			"llm":      append([]string{"workflow", "run"}, below...),
		}),
	},
	{
		name:    "definitions and runs use few libraries",
		why:     "what a definition or a journal line means must not change with a library: JSON, and YAML for definitions, are enough",
		applies: is("workflow", "run", "session"),
		forbids: func(pkg, imported string) bool {
			return !ours(imported) && strings.Contains(imported, ".") &&
				!within(imported, "github.com/go-json-experiment/json") &&
				(pkg != "workflow" || imported != "go.yaml.in/yaml/v4")
		},
	},
	{
		name:    "the kernel is pure",
		why:     "it is a deterministic state machine: no I/O, no clock, no goroutine, no randomness; only so are running, recovering and continuing the same code",
		applies: in("internal/kernel"),
		forbids: func(pkg, imported string) bool {
			if ours(imported) {
				return !within(imported, "workflow", "run", "internal/expr", "internal/kernel")
			}
			return strings.Contains(imported, ".") ||
				within(imported, "os", "net", "context", "io", "syscall", "sync", "math/rand", "crypto", "log", "testing")
		},
	},
	{
		name:    "policy is pure",
		why:     "a decision depends on the authority and the request only, so that it is the same before a run and within it",
		applies: in("internal/policy"),
		forbids: func(pkg, imported string) bool {
			if ours(imported) {
				return !within(imported, "run", "tool", "internal/policy")
			}
			return within(imported, "os", "net", "context", "syscall", "math/rand", "crypto")
		},
	},
	{
		name:    "the engine knows ports, not adapters",
		why:     "any store, tool or model works with it, and it can be tested without any of them",
		applies: in("internal/engine", "internal/agent"),
		forbids: func(pkg, imported string) bool {
			if ours(imported) {
				return !within(imported, append([]string{
					"internal/engine", "internal/agent", "internal/kernel", "internal/policy", "internal/secret",
				}, below...)...) && !is("workflow", "run", "session", "store", "tool", "llm")(imported)
			}
			return within(imported, "net/http", "github.com/spf13/cobra")
		},
	},
	{
		name:    "adapters know their own port only",
		why:     "one can be replaced, tested or left out without touching another; what they need from the engine comes through the port",
		applies: adapter,
		forbids: func(pkg, imported string) bool {
			if !ours(imported) {
				return false
			}
			own := pkg == imported || within(imported, pkg) || imported == port(pkg) || within(imported, port(pkg)+"/internal")
			return !own && !is("workflow", "run", "session")(imported) && !within(imported, below...)
		},
	},
	{
		name:    "logs are kept by an adapter of the engine's port",
		why:     "the port's types are those of package run, so that what keeps logs needs to know nothing of the engine",
		applies: in("internal/livelog"),
		forbids: func(_, imported string) bool {
			return ours(imported) && !is("run", "internal/livelog")(imported) && !within(imported, below...)
		},
	},
	{
		name:    "package culm is the engine and its ports",
		why:     "a program that embeds Culm chooses its adapters itself; package local chooses for one machine",
		applies: is("."),
		forbids: func(pkg, imported string) bool {
			return ours(imported) && !is("internal/engine", "internal/agent", "workflow", "run", "session", "store", "tool", "llm")(imported)
		},
	},
	{
		name:    "servers stand on package culm",
		why:     "they can do what any program can, and no more; and one does not need another",
		applies: in("internal/httpapi", "internal/mcpserver", "internal/web"),
		forbids: func(pkg, imported string) bool {
			own := within(imported, pkg)
			return ours(imported) && !own && !within(imported, below...) &&
				!is(".", "workflow", "run", "session", "store", "tool", "llm")(imported)
		},
	},
	{
		name:    "the command line uses package culm",
		why:     "what a person can do at a terminal, a program can do too; only app wires adapters",
		applies: in("internal/cli"),
		forbids: func(pkg, imported string) bool {
			return within(imported, "internal/engine", "internal/agent", "internal/kernel", "local") || adapter(imported)
		},
	},
	{
		name:    "only the command line imports app",
		why:     "app is the one place where the command line's adapters are wired; nothing may come to depend on that choice",
		applies: func(pkg string) bool { return !within(pkg, "internal/cli", "internal/app", "test", "internal/testkit") },
		forbids: func(pkg, imported string) bool { return within(imported, "internal/app") },
	},
	{
		name:    "the command line does not import package testing",
		why:     "culm test and culmtest stand on internal/rehearsal, which knows no Go test",
		applies: in("internal/cli", "internal/rehearsal"),
		forbids: func(_, imported string) bool { return within(imported, "testing", "culmtest") },
	},
	{
		name:    "what ships does not import tests",
		why:     "test kits are for tests",
		applies: func(pkg string) bool { return !within(pkg, "test", "internal/testkit") },
		forbids: func(pkg, imported string) bool { return within(imported, "internal/testkit", "test") },
	},
	{
		name:    "the outside checker shares no code with what it checks",
		why:     "a mistake in the kernel, the engine or the fold must not hide itself",
		applies: in("internal/testkit/checker"),
		forbids: func(pkg, imported string) bool {
			return ours(imported) && !within(imported, "internal/testkit/checker", "internal/testkit/effectlog")
		},
	},
	{
		name:    "the reference interpreter shares no code with kernel and engine",
		why:     "two who make the same mistake agree",
		applies: in("internal/testkit/reference"),
		forbids: func(pkg, imported string) bool {
			return within(imported, "internal/kernel", "internal/engine", "run", "store", ".")
		},
	},
}

// violations gives what a file imports against a rule.
func (r rule) violations(f file) []string {
	if !r.applies(f.pkg) {
		return nil
	}
	var found []string
	for _, imported := range f.imports {
		if r.forbids(f.pkg, imported) {
			found = append(found, fmt.Sprintf("%s imports %s\n  rule: %s\n  because %s", f.name, imported, r.name, r.why))
		}
	}
	return found
}
