package randdef_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/culm-dev/culm/internal/testkit/randdef"
	"github.com/culm-dev/culm/internal/testkit/reference"
	"github.com/culm-dev/culm/workflow"
	"pgregory.net/rapid"
)

func noTools(string) (input, output json.RawMessage, ok bool) { return nil, nil, false }

// TestCasesAreValid: what the generator makes compiles, and runs to an end.
func TestCasesAreValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := randdef.Cases(randdef.Config{}).Draw(t, "case")
		if _, err := workflow.CompileBundle(c.Bundle, noTools); err != nil {
			t.Fatalf("%v\n%s", err, c)
		}
		res, err := reference.Run(c.Bundle, c.Options())
		if err != nil {
			t.Fatal(err)
		}
		for id, status := range res.Steps {
			if status != reference.Succeeded && status != reference.Failed && status != reference.Cancelled && status != reference.Skipped {
				t.Errorf("step %s ended as %q", id, status)
			}
		}
	})
}

// TestCalmCasesDoNotRace: with several slots any order gives the same.
func TestCalmCasesDoNotRace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := randdef.Cases(randdef.Config{Calm: true}).Draw(t, "case")
		res, err := reference.Run(c.Bundle, c.Options())
		if err != nil {
			t.Fatal(err)
		}
		if res.Raced && (res.Failure == nil || res.Failure.Code != "budget_exceeded") {
			t.Errorf("it raced: %+v\n%s", res.Failure, c)
		}
	})
}

// TestOrderDoesNotMatterUnlessItRaced: any order of things gives the same result,
// but where the interpreter says that it may not.
func TestOrderDoesNotMatterUnlessItRaced(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := randdef.Cases(randdef.Config{}).Draw(t, "case")
		want, err := reference.Run(c.Bundle, c.Options())
		if err != nil {
			t.Fatal(err)
		}
		o := c.Options()
		picks := rapid.IntRange(0, 1<<20)
		o.Pick = func(n int) int { return picks.Draw(t, "pick") % n }
		got, err := reference.Run(c.Bundle, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range want.Contradictions(observed(got)) {
			t.Errorf("%s\n%s", d, c)
		}
	})
}

func observed(r *reference.Result) reference.Observed {
	return reference.Observed{Output: r.Output, Failure: r.Failure, Steps: r.Steps}
}

// TestEverythingIsDrawn: a generator that never draws a kind of node, policy or end
// tests nothing of it.
func TestEverythingIsDrawn(t *testing.T) {
	t.Parallel()
	seen := make(map[string]int)
	cases := randdef.Cases(randdef.Config{})
	for seed := range 400 {
		c := cases.Example(seed)
		for _, d := range c.Bundle.Definitions {
			note(d.Plan, 1, seen)
			for _, s := range d.Steps {
				seen["step "+string(s.Type)]++
				seen["policy "+string(s.Failure)]++
			}
		}
		res, err := reference.Run(c.Bundle, c.Options())
		if err != nil {
			t.Fatal(err)
		}
		seen[fmt.Sprintf("raced %v", res.Raced)]++
		if res.Failure == nil {
			seen["success"]++
		} else {
			seen["failure "+res.Failure.Code]++
		}
		for _, status := range res.Steps {
			seen["ended "+string(status)]++
		}
	}
	for _, want := range []string{
		"node step", "node sequence", "node parallel", "node choice", "node map", "node retry", "node repeat", "depth 6",
		"step tool", "step workflow", "step sleep", "policy ", "policy fail_fast", "policy continue_with_error", "policy skip_dependents",
		"raced true", "raced false", "success", "failure execution_failed", "failure retry_exhausted", "failure repeat_exhausted",
		"failure unknown_reference", "ended succeeded", "ended failed", "ended skipped", "ended cancelled",
	} {
		if seen[want] == 0 {
			t.Errorf("never drawn: %s; drawn were %v", want, seen)
		}
	}
	t.Log(seen)
}

func note(n *workflow.Node, depth int, seen map[string]int) {
	seen["node "+string(n.Type)]++
	seen[fmt.Sprintf("depth %d", depth)]++
	parts := n.Nodes
	for _, p := range []*workflow.Node{n.Then, n.Else, n.Body, n.Node} {
		if p != nil {
			parts = append(parts[:len(parts):len(parts)], p)
		}
	}
	for _, p := range parts {
		note(p, depth+1, seen)
	}
}
