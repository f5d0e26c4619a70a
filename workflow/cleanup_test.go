package workflow_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// abc is a definition of three steps, without its plan.
const abc = head + "steps: [{id: a, type: tool, tool: t}, {id: b, type: tool, tool: t}, {id: c, type: tool, tool: t}]\n"

func TestCleanupsAreCanonical(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ written, want string }{
		"finally":           {"{do: [a, b], finally: c}", `{"type":"finally","node":["a","b"],"cleanup":"c"}`},
		"on failure":        {"{do: [a, b], on_failure: c, id: x}", `{"type":"on_failure","id":"x","node":["a","b"],"cleanup":"c"}`},
		"both":              {"{do: a, on_failure: b, finally: c, id: x}", `{"type":"finally","id":"x","node":{"type":"on_failure","node":"a","cleanup":"b"},"cleanup":"c"}`},
		"both, other order": {"{finally: c, on_failure: b, do: a}", `{"type":"finally","node":{"type":"on_failure","node":"a","cleanup":"b"},"cleanup":"c"}`},
		"canonical":         {"{type: finally, node: a, cleanup: [b, c]}", `{"type":"finally","node":"a","cleanup":["b","c"]}`},
		"tolerant map":      {"[a, b, {map: [1], as: i, do: c, tolerate: 0}]", `["a","b",{"type":"map","source":[1],"item":"i","body":"c","tolerate":0}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := load(t, abc+"plan: "+c.written+"\n").Definition().Canonical()
			if err != nil {
				t.Fatal(err)
			}
			var got struct{ Plan any }
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}
			var want any
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(long(want), got.Plan); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// long writes steps and sequences as the canonical form has them, but for a map's source.
func long(v any) any {
	switch v := v.(type) {
	case string:
		return map[string]any{"type": "step", "step": v}
	case []any:
		nodes := make([]any, len(v))
		for i, n := range v {
			nodes[i] = long(n)
		}
		return map[string]any{"type": "sequence", "nodes": nodes}
	case map[string]any:
		for _, name := range []string{"node", "cleanup", "body"} {
			if child, ok := v[name]; ok {
				v[name] = long(child)
			}
		}
	}
	return v
}

func TestBothCleanupsKnowTheirPlaces(t *testing.T) {
	t.Parallel()
	p := compile(t, abc+"plan: {do: a, on_failure: b, finally: c}\n")
	want := []string{
		`0 /plan finally "" parent -1 slot 0 scope 0 leaves 3`,
		`1 /plan/node on_failure "" parent 0 slot 0 scope 0 leaves 2`,
		`2 /plan/node/node step "a" parent 1 slot 0 scope 0 leaves 1`,
		`3 /plan/node/cleanup step "b" parent 1 slot 1 scope 0 leaves 1`,
		`4 /plan/cleanup step "c" parent 0 slot 1 scope 0 leaves 1`,
	}
	if diff := cmp.Diff(want, shape(p.Root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if root := p.Root.Plan; !root.Cleans() || root.Cleanup() != p.Root.Nodes[4] {
		t.Error("the cleanup is not the cleanup")
	}
}

// What an expression may do with an outcome or a tolerant map is checked by its schema.
func TestCleanupsAreTyped(t *testing.T) {
	t.Parallel()
	compile(t, head+`steps:
- {id: a, type: tool, tool: t, output_schema: {type: string}}
- {id: b, type: tool, tool: t, args: {x: {cel: "outcome.status == 'failed' ? outcome.failure.message : 'well'"}}}
- {id: c, type: tool, tool: t, args: {x: {cel: "steps.most.filter(m, type(m) != string).size()"}}}
plan: [{id: most, map: [1, 2], as: i, do: {do: a, finally: b}, tolerate: 1}, c]
`)
}
