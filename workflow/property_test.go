package workflow_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/workflow"
)

// jsonValue draws a decoded JSON value.
func jsonValue(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(),
		rapid.SampledFrom([]string{"yes", "null", "1", "0x1", "~", "<<", "a: b", "- x", "*x", "&x", "# x", "é\n", "2020-01-01", "\u2028"}).AsAny(),
		rapid.Custom(func(t *rapid.T) any { return json.Number(strconv.FormatInt(rapid.Int64().Draw(t, "int"), 10)) }),
		rapid.Custom(func(t *rapid.T) any {
			f := rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "float")
			return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
		}),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return jsonValue(depth - 1) })
	return rapid.OneOf(append(scalars,
		rapid.SliceOfN(inner, 0, 3).AsAny(),
		rapid.MapOfN(rapid.String(), inner, 0, 3).AsAny(),
	)...)
}

// plan draws a plan that runs the steps, each once, in order.
func plan(t *rapid.T, steps []string, depth int) *workflow.Node {
	if len(steps) == 1 && (depth == 0 || rapid.Bool().Draw(t, "leaf")) {
		return &workflow.Node{Type: workflow.StepNode, Step: steps[0]}
	}
	yes := json.RawMessage("true")
	if len(steps) == 1 {
		inner := plan(t, steps, depth-1)
		switch rapid.IntRange(0, 3).Draw(t, "wrapper") {
		case 0:
			delay, backoff := int64(5), 1.5
			return &workflow.Node{Type: workflow.RetryNode, Node: inner, MaxAttempts: 2, DelayMS: &delay, Backoff: &backoff}
		case 1:
			return &workflow.Node{Type: workflow.RepeatNode, Body: inner, Until: yes, Max: 3}
		case 2:
			return &workflow.Node{Type: workflow.MapNode, Source: json.RawMessage("[1]"), Item: "i" + strconv.Itoa(depth), Body: inner}
		}
		return &workflow.Node{Type: workflow.ChoiceNode, Condition: yes, Then: inner}
	}
	half := rapid.IntRange(1, len(steps)-1).Draw(t, "split")
	kinds := []workflow.NodeType{workflow.SequenceNode, workflow.ParallelNode, workflow.FinallyNode, workflow.OnFailureNode}
	kind := rapid.SampledFrom(kinds).Draw(t, "kind")
	first, second := plan(t, steps[:half], max(depth-1, 0)), plan(t, steps[half:], max(depth-1, 0))
	if kind == workflow.FinallyNode || kind == workflow.OnFailureNode {
		return &workflow.Node{Type: kind, Node: first, Cleanup: second}
	}
	return &workflow.Node{Type: kind, Nodes: []*workflow.Node{first, second}}
}

func definition(t *rapid.T) *workflow.Definition {
	def := &workflow.Definition{Schema: 1, ID: "w", Revision: rapid.IntRange(1, 1000).Draw(t, "revision"), Description: rapid.String().Draw(t, "description")}
	var ids []string
	for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
		args, err := canon.Encode(jsonValue(2).Draw(t, "args"))
		if err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprintf("s%d", i)
		ids = append(ids, id)
		def.Steps = append(def.Steps, &workflow.Step{ID: id, Type: workflow.ToolStep, Tool: "t", Args: args})
	}
	def.Plan = plan(t, ids, 3)
	return def
}

func TestDefinitionsSurviveTheirCanonicalForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		def := definition(t)
		want, err := def.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		src, err := workflow.Load("w", want)
		if err != nil {
			t.Fatalf("load %s: %v", want, err)
		}
		got, err := src.Definition().Canonical()
		if err != nil || string(got) != string(want) {
			t.Fatalf("got %s (%v)\nwant %s", got, err, want)
		}
		b := &workflow.Bundle{PublicationRevision: 1, RootID: "w", RootRevision: def.Revision, Definitions: map[string]*workflow.Definition{def.Ref(): def}}
		raw, err := b.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := workflow.ParseBundle(raw)
		if err != nil {
			t.Fatalf("parse %s: %v", raw, err)
		}
		hash, err := parsed.Hash()
		if err != nil || hash != canon.Hash(raw) {
			t.Fatalf("the hash of the bundle changed (%v)", err)
		}
	})
}

func TestEveryPlanOfStepsWithoutReferencesCompiles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		def := definition(t)
		for _, s := range def.Steps {
			s.Args = nil
		}
		src, err := workflow.FromDefinition(def)
		if err != nil {
			t.Fatal(err)
		}
		p, err := workflow.Compile(src, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range p.Root.Nodes {
			if n.Index != i || n.Parent != nil && n.Parent.Children[n.Slot] != n || n.Leaves < 1 || n.Leaves > len(def.Steps) {
				t.Fatalf("node %d is linked wrongly: %+v", i, n)
			}
		}
		if len(p.Root.Named) != len(def.Steps) || p.Root.Plan.Leaves != len(def.Steps) {
			t.Fatalf("%d names, %d leaves", len(p.Root.Named), p.Root.Plan.Leaves)
		}
	})
}

// Whatever JSON a YAML writer writes in whatever style is read as that JSON.
func TestYAMLIsReadAsTheJSONItStandsFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := jsonValue(3).Draw(t, "value")
		want, err := canon.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := yaml.Dump(map[string]any{
			"workflow_schema": 1, "id": "w", "revision": 1, "output": nodeOf(v),
			"steps": []any{map[string]any{"id": "a", "type": "tool", "tool": "t"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		src, err := workflow.Load("w.yaml", doc)
		if err != nil {
			t.Fatalf("load:\n%s\n%v", doc, err)
		}
		if got := src.Definition().Output; string(got) != string(want) {
			t.Fatalf("got %s, want %s, from:\n%s", got, want, doc)
		}
	})
}

// nodeOf writes a value as YAML nodes: strings quoted where YAML 1.2 demands it.
func nodeOf(v any) *yaml.Node {
	switch v := v.(type) {
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: string(v)}
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v, Style: yaml.DoubleQuotedStyle}
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range v {
			n.Content = append(n.Content, nodeOf(item))
		}
		return n
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			n.Content = append(n.Content, nodeOf(name), nodeOf(v[name]))
		}
		return n
	}
	return nil
}
