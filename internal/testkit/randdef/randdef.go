// Package randdef makes random definitions for property tests: every kind of node
// and policy, nested workflows, references, expressions; valid by construction, and
// shrinking towards one step.
//
// They call one tool, [ToolName], whose behaviour is a function of its arguments
// and of how often the step has failed before ([Behave]), so that outputs tell the
// flow of data and the order of things apart, and so that the same holds for the
// engine's runs, killed or not, as for the reference interpreter's:
//
//	rapid.Check(t, func(t *rapid.T) {
//		c := randdef.Cases(randdef.Config{}).Draw(t, "case")
//		want, err := reference.Run(c.Bundle, c.Options())
//		...
//		eng := ... // with randdef.Tool(failures) registered
//		for _, d := range want.Contradictions(got) { t.Error(d) }
//	})
package randdef

import (
	"encoding/json"
	"fmt"

	"github.com/culm-dev/culm/internal/testkit/reference"
	"github.com/culm-dev/culm/workflow"
	"pgregory.net/rapid"
)

// Config says what the definitions may hold. The zero value holds everything.
type Config struct {
	// Depth is how deep plans may nest; 0 stands for 5.
	Depth int
	// Nested is how many other definitions there may be; 0 stands for 2, -1 for none.
	Nested int
	// Calm keeps parallels from failing, so that no result depends on the order of
	// things: for runs with several slots, and for killed ones.
	Calm bool
	// NoSleep leaves sleeps and retry delays out.
	NoSleep bool
	// Concurrency is the budget's max_concurrency; 0 stands for 1.
	Concurrency int64
}

// Case is a bundle and arguments to run it with.
type Case struct {
	Bundle *workflow.Bundle
	Args   any // decoded JSON as package canon makes it
	Limits workflow.Limits
}

// Options are what the reference interpreter is to run the case with.
func (c *Case) Options() reference.Options {
	return reference.Options{Args: c.Args, Limits: c.Limits, Tool: Behave}
}

// String shows the case in a failing test's output.
func (c *Case) String() string {
	raw, err := json.MarshalIndent(map[string]any{"bundle": c.Bundle, "args": c.Args}, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// Cases generates cases.
func Cases(cfg Config) *rapid.Generator[*Case] {
	if cfg.Depth == 0 {
		cfg.Depth = 5
	}
	if cfg.Nested == 0 {
		cfg.Nested = 2
	}
	if cfg.Concurrency == 0 {
		cfg.Concurrency = 1
	}
	return rapid.Custom(func(t *rapid.T) *Case { return draw(t, cfg) })
}

func draw(t *rapid.T, cfg Config) *Case {
	var others []*workflow.Definition
	for i := range rapid.IntRange(0, max(0, cfg.Nested)).Draw(t, "nested definitions") {
		g := newGenerator(t, cfg, fmt.Sprintf("inner%d", i+1), others)
		g.fuel, g.depth = 6, 3
		others = append(others, g.definition())
	}
	g := newGenerator(t, cfg, "root", others)
	g.fuel, g.depth = 40, cfg.Depth
	root := g.definition()
	limits := workflow.Limits{
		MaxConcurrency: cfg.Concurrency, MaxAgents: 1, MaxSteps: 512, MaxRetries: 16, MaxNestingDepth: 8, WallTimeMS: 3_600_000,
	}
	root.Budgets = &workflow.Budgets{
		MaxConcurrency: &limits.MaxConcurrency, MaxAgents: &limits.MaxAgents, MaxSteps: &limits.MaxSteps,
		MaxRetries: &limits.MaxRetries, MaxNestingDepth: &limits.MaxNestingDepth, WallTimeMS: &limits.WallTimeMS,
	}
	b := &workflow.Bundle{RootID: root.ID, RootRevision: root.Revision, Definitions: make(map[string]*workflow.Definition)}
	reach(b, root, others)
	return &Case{Bundle: b, Args: drawArgs(t), Limits: limits}
}

// reach puts into the bundle what the definition runs.
func reach(b *workflow.Bundle, d *workflow.Definition, others []*workflow.Definition) {
	b.Definitions[d.Ref()] = d
	for _, s := range d.Steps {
		for _, other := range others {
			if s.Type == workflow.WorkflowStep && s.WorkflowID == other.ID {
				reach(b, other, others)
			}
		}
	}
}

// inputSchema is every definition's.
const inputSchema = `{"type":"object","properties":{"flag":{"type":"boolean"},"list":{"type":"array"},"v":{}},"required":["flag","list","v"]}`

func drawArgs(t *rapid.T) any {
	return map[string]any{
		"flag": rapid.Bool().Draw(t, "flag"),
		"list": drawList(t, "list"),
		"v":    json.Number(fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "v"))),
	}
}

func drawList(t *rapid.T, label string) []any {
	list := []any{}
	for i := range rapid.IntRange(0, 3).Draw(t, label) {
		list = append(list, json.Number(fmt.Sprint(i)))
	}
	return list
}
