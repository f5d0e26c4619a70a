package workflow_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/workflow"
)

func TestThePlanIsLinked(t *testing.T) {
	t.Parallel()
	p := compile(t, everything)
	want := []string{
		`0 /plan sequence "" parent -1 slot 0 scope 0 leaves 8`,
		`1 /plan/nodes/0 step "one" parent 0 slot 0 scope 0 leaves 1`,
		`2 /plan/nodes/1 parallel "both" parent 0 slot 1 scope 0 leaves 3`,
		`3 /plan/nodes/1/nodes/0 step "two" parent 2 slot 0 scope 0 leaves 1`,
		`4 /plan/nodes/1/nodes/1 sequence "" parent 2 slot 1 scope 0 leaves 2`,
		`5 /plan/nodes/1/nodes/1/nodes/0 step "three" parent 4 slot 0 scope 0 leaves 1`,
		`6 /plan/nodes/1/nodes/1/nodes/1 step "four" parent 4 slot 1 scope 0 leaves 1`,
		`7 /plan/nodes/2 choice "" parent 0 slot 2 scope 0 leaves 1`,
		`8 /plan/nodes/2/then_branch step "five" parent 7 slot 0 scope 0 leaves 1`,
		`9 /plan/nodes/2/else_branch step "six" parent 7 slot 1 scope 0 leaves 1`,
		`10 /plan/nodes/3 map "" parent 0 slot 3 scope 0 leaves 1`,
		`11 /plan/nodes/3/body step "seven" parent 10 slot 0 scope 1 leaves 1`,
		`12 /plan/nodes/4 retry "" parent 0 slot 4 scope 0 leaves 1`,
		`13 /plan/nodes/4/node step "eight" parent 12 slot 0 scope 0 leaves 1`,
		`14 /plan/nodes/5 repeat "" parent 0 slot 5 scope 0 leaves 1`,
		`15 /plan/nodes/5/body step "nine" parent 14 slot 0 scope 1 leaves 1`,
	}
	if diff := cmp.Diff(want, shape(p.Root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	names := slices.Sorted(maps.Keys(p.Root.Named))
	if diff := cmp.Diff([]string{"both", "eight", "five", "four", "nine", "one", "seven", "six", "three", "two"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for _, i := range []int{7, 10, 14} {
		if p.Root.Nodes[i].Expr == nil {
			t.Errorf("node %d has no template", i)
		}
	}
	if p.Root.Result == nil || p.Root.Output == nil || p.Depth != 0 || p.Root.Plan != p.Root.Nodes[0] {
		t.Errorf("got %+v", p.Root)
	}
}

func TestWithoutAPlanStepsRunInOrder(t *testing.T) {
	t.Parallel()
	p := compile(t, ab)
	want := []string{
		`0 /plan sequence "" parent -1 slot 0 scope 0 leaves 2`,
		`1 /plan/nodes/0 step "a" parent 0 slot 0 scope 0 leaves 1`,
		`2 /plan/nodes/1 step "b" parent 0 slot 1 scope 0 leaves 1`,
	}
	if diff := cmp.Diff(want, shape(p.Root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.Root.Def.Plan != nil {
		t.Error("the definition got a plan that it does not have")
	}
}

func TestLeavesCountNestedStepsAndTheLargerBranch(t *testing.T) {
	t.Parallel()
	nested := "workflow_schema: 1\nid: nested\nrevision: 1\nsteps: [{id: x, type: tool, tool: t}, {id: y, type: tool, tool: t}]\n"
	p := compile(t, head+`steps:
- {id: a, type: workflow, workflow_id: nested, revision: 1}
- {id: b, type: tool, tool: t}
- {id: c, type: tool, tool: t}
plan: {map: [1, 2], as: i, do: {if: true, then: a, else: [b, c]}}
`, nested)
	if got := p.Root.Plan.Leaves; got != 3 {
		t.Errorf("leaves %d, want 3", got)
	}
}

// What is in order must compile: each of these is near to a mistake.
func TestReferencesThatAreInOrder(t *testing.T) {
	t.Parallel()
	plan := func(ref, plan string) string { return planned(ref + "}}\nplan: " + plan + "\n") }
	for name, doc := range map[string]string{
		"an earlier step":                            plan("{from: step, step: a, pointer: /ok}", "[a, b, c]"),
		"after a parallel":                           plan("{from: step, step: b}", "[{parallel: [a, b]}, c]"),
		"out of a retry":                             plan("{from: step, step: b}", "[a, {retry: b, attempts: 2}, c]"),
		"from an inner sequence to an outer one":     plan("{from: step, step: a}", "[a, [b, [c]]]"),
		"from a map's body to what is before":        plan("{from: step, step: a}", "[a, b, {map: [1], as: i, do: c}]"),
		"inside a map's body":                        plan("{from: step, step: b}", "[a, {map: [1], as: i, do: [b, c]}]"),
		"a map by its id":                            plan("{from: step, step: m, pointer: /0}", "[a, {map: [1], as: i, do: b, id: m}, c]"),
		"a choice by its id":                         plan("{from: step, step: x}", "[a, {if: {from: args, pointer: /flag}, then: b, id: x}, c]"),
		"a branch with a default":                    plan("{from: step, step: b, default: none}", "[a, {if: {from: args, pointer: /flag}, then: b}, c]"),
		"inside a branch":                            plan("{from: step, step: b}", "[a, {if: {from: args, pointer: /flag}, then: [b, c]}]"),
		"a condition on an earlier step":             plan("1", "[a, b, {if: {from: step, step: a, pointer: /ok}, then: c}]"),
		"a condition on a default":                   plan("1", "[a, b, {if: {from: args, pointer: /more, default: true}, then: c}]"),
		"a condition on an open argument":            plan("1", "[a, b, {if: {from: args, pointer: /unknown}, then: c}]"),
		"a condition by expression":                  plan("1", "[a, b, {if: {cel: 'steps.a.ok && size(args.word) > 3'}, then: c}]"),
		"a repeat until its body says so":            plan("1", "[b, c, {repeat: a, until: {from: step, step: a, pointer: /ok}, max: 3}]"),
		"previous of oneself":                        plan("{from: previous, step: c, default: 0}", "[a, b, {repeat: c, until: true, max: 2}]"),
		"previous of a later step":                   plan("{from: previous, step: b, default: 0}", "[a, {repeat: [c, b], until: true, max: 2}]"),
		"previous of the whole body":                 plan("{from: previous, step: body, default: 0}", "[a, {repeat: {type: sequence, id: body, nodes: [c, b]}, until: true, max: 2}]"),
		"previous from inside a map":                 plan("{from: previous, step: b, default: 0}", "[a, {repeat: [b, {map: [1], as: i, do: c}], until: true, max: 2}]"),
		"previous of a step of the same map":         plan("{from: previous, step: b, default: 0}", "[a, {repeat: {map: [1], as: i, do: [b, c]}, until: true, max: 2}]"),
		"previous of the outer repeat":               plan("{from: previous, step: b, default: 0}", "[a, {repeat: [b, {repeat: c, until: true, max: 2}], until: true, max: 2}]"),
		"the item":                                   plan("{from: item, name: i}", "[a, b, {map: {from: step, step: a, pointer: /list}, as: i, do: c}]"),
		"an outer map's item":                        plan("[{from: item, name: i}, {from: item, name: j}]", "[a, b, {map: [[1]], as: i, do: {map: {from: item, name: i}, as: j, do: c}}]"),
		"one item name in two maps":                  plan("{from: item, name: i}", "[a, {map: [1], as: i, do: b}, {map: [1], as: i, do: c}]"),
		"a step of a tool by default":                plan("{from: step, step: b, pointer: /any/thing}", "[a, b, c]"),
		"the run":                                    plan("{from: run, pointer: /attempt}", "[a, b, c]"),
		"what looks like a reference":                plan("{from: me@example.org}", "[a, b, c]"),
		"a literal":                                  plan("{from: literal, value: {from: step, step: nowhere}}", "[a, b, c]"),
		"text":                                       plan("{text: [x, {from: step, step: a, pointer: /ok}]}", "[a, b, c]"),
		"a secret":                                   plan("{text: ['Bearer ', {$secret: s}]}", "[a, b, c]"),
		"an error that is handled":                   head + "steps:\n- {id: a, type: tool, tool: t, output_schema: {type: boolean}, failure: continue_with_error}\n- {id: b, type: tool, tool: t, args: {e: {from: step, step: a, pointer: /error/code}}}\n",
		"an approval that may be refused":            head + "steps:\n- {id: a, type: approval, prompt: ok?, failure: continue_with_error}\n- {id: b, type: tool, tool: t}\nplan: [a, {if: {from: step, step: a, pointer: /approved}, then: b}]\n",
		"a boolean step that others depend on":       head + "steps:\n- {id: a, type: tool, tool: t, output_schema: {type: boolean}, failure: skip_dependents}\n- {id: b, type: tool, tool: t}\nplan: [a, {if: {from: step, step: a}, then: b}]\n",
		"what no failure outside the parallel skips": head + "steps:\n- {id: a, type: tool, tool: t, failure: skip_dependents}\n- {id: b, type: tool, tool: t}\nplan: [{parallel: [a]}, b]\noutput: {from: step, step: b}\n",
		"a failing step, as output":                  head + "steps:\n- {id: a, type: tool, tool: t, failure: skip_dependents}\n- {id: b, type: tool, tool: t}\noutput: {from: step, step: a}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compile(t, doc)
		})
	}
}

func TestWhatAWorkflowProducesIsDerived(t *testing.T) {
	t.Parallel()
	step := `{id: a, type: tool, tool: t, output_schema: {type: integer}}`
	for name, c := range map[string]struct{ doc, want string }{
		"the declared schema": {"steps: [" + step + "]\noutput_schema: {type: object}\n", `{"type":"object"}`},
		"the plan":            {"steps: [" + step + "]\n", `{"type":"integer"}`},
		"an output template":  {"steps: [" + step + "]\noutput: {text: [x]}\n", `{"type":"string"}`},
		"a reference":         {"steps: [" + step + "]\noutput: {from: step, step: a}\n", `{"type":"integer"}`},
		"a map":               {"steps: [" + step + "]\nplan: {map: [1], as: i, do: a}\n", `{"items":{"type":"integer"},"type":"array"}`},
		"a choice":            {"steps: [" + step + "]\nplan: {if: true, then: a}\n", `{"anyOf":[{"type":"integer"},{"type":"null"}]}`},
		"a retry":             {"steps: [" + step + "]\nplan: {retry: a, attempts: 2}\n", `{"type":"integer"}`},
		"a repeat":            {"steps: [" + step + "]\nplan: {repeat: a, until: true, max: 2}\n", `{"type":"integer"}`},
		"a parallel":          {"steps: [" + step + "]\nplan: {parallel: [a]}\n", `{"items":false,"minItems":1,"prefixItems":[{"type":"integer"}],"type":"array"}`},
		"an answer":           {"steps: [{id: a, type: agent, agent: x, prompt: p}]\n", `{"type":"string"}`},
		"a sleep":             {"steps: [{id: a, type: sleep, duration_ms: 1}]\n", `{"type":"null"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := compile(t, head+c.doc).Root.Produces.Raw()
			if string(got) != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestAToolsOwnSchemaServesWhereNoneIsDeclared(t *testing.T) {
	t.Parallel()
	doc := head + "steps:\n- {id: a, type: tool, tool: known, args: {n: 1}}\n- {id: b, type: tool, tool: t, args: {x: {from: step, step: a, pointer: /nothing}}}\n"
	if _, err := workflow.Compile(load(t, doc), nil, nil); err != nil {
		t.Errorf("without knowing the tool: %v", err)
	}
	_, err := workflow.Compile(load(t, doc), nil, tools)
	errs, _ := err.(workflow.Errors)
	if !errs.Has(workflow.PointerExcluded) {
		t.Errorf("knowing the tool: %v", err)
	}
}

func TestAToolWithABrokenSchemaTellsNothing(t *testing.T) {
	t.Parallel()
	broken := func(string) (input, output json.RawMessage, ok bool) {
		return json.RawMessage(`{"type": 5}`), nil, true
	}
	if _, err := workflow.Compile(load(t, ab), nil, broken); err != nil {
		t.Error(err)
	}
}

func TestSchemaAnnotationsOfOursAreAccepted(t *testing.T) {
	t.Parallel()
	compile(t, head+`input_schema: {type: object, properties: {p: {type: string, x-path: true}, s: {type: string, x-secret: true}, b: {type: string, x-bamboo-secret: true}}}
steps: [{id: a, type: tool, tool: t}]
`)
}

func TestOneSourceIsCompiledAtTheSameTimeManyTimes(t *testing.T) {
	t.Parallel()
	src := load(t, outer)
	catalog := workflow.NewSnapshot(load(t, taking))
	hashes := make(chan string)
	const n = 8
	for range n {
		go func() {
			p, err := workflow.Compile(src, catalog, tools)
			if err != nil {
				hashes <- err.Error()
				return
			}
			hashes <- p.Hash
		}()
	}
	first := <-hashes
	for range n - 1 {
		if other := <-hashes; other != first {
			t.Errorf("%s and %s", first, other)
		}
	}
}
