package reference_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/testkit/reference"
	"github.com/culm-dev/culm/workflow"
	"github.com/google/go-cmp/cmp"
)

// behave is the tests' tool. Its arguments: v, the output; fail, how often it
// fails first; final, whether it fails in a way that must not be retried.
func behave(c reference.Call) (any, *reference.Failure) {
	args := c.Args.(map[string]any)
	if n, ok := args["fail"].(json.Number); ok {
		if times, err := n.Int64(); err == nil && int64(c.Failures) < times {
			return nil, &reference.Failure{Code: "execution_failed", Message: "no", Retryable: args["final"] != true}
		}
	}
	return args["v"], nil
}

// run interprets a definition. Steps are written as `id args`, nested definitions
// follow on `---`.
func run(t *testing.T, plan string, steps []string, nested ...*workflow.Source) *reference.Result {
	t.Helper()
	prog := compile(t, source(t, "root", plan, steps, ""), nested...)
	args, err := canon.Decode([]byte(`{"yes":true,"list":[10,20,30],"text":"hi"}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := reference.Run(prog.Bundle, reference.Options{
		Args: args, Limits: workflow.Limits{MaxSteps: 20, MaxRetries: 4}, Tool: behave,
	})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func source(t *testing.T, id, plan string, steps []string, more string) *workflow.Source {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "workflow_schema: 1\nid: %s\nrevision: 1\n", id)
	b.WriteString("input_schema: {type: object, properties: {yes: {type: boolean}, list: {type: array}, text: {type: string}}}\nsteps:\n")
	for _, s := range steps {
		name, fields, _ := strings.Cut(s, " ")
		if !strings.HasPrefix(fields, "type:") {
			fields = strings.TrimSuffix("type: tool, tool: t, "+fields, ", ")
		}
		fmt.Fprintf(&b, "  - {id: %s, %s}\n", name, fields)
	}
	fmt.Fprintf(&b, "plan: %s\n%s", plan, more)
	src, err := workflow.Load(id+".yaml", []byte(b.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, &b)
	}
	return src
}

func compile(t *testing.T, root *workflow.Source, nested ...*workflow.Source) *workflow.Program {
	t.Helper()
	prog, err := workflow.Compile(root, workflow.NewSnapshot(nested...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

const failure = `{"code":"execution_failed","message":"no","retryable":true}`

// TestNodes: what each kind of node and policy comes to.
func TestNodes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		plan   string
		steps  []string
		output string // JSON; or "code: message" of the failure
		states string // "a=succeeded b=skipped", sorted
	}{
		"sequence":       {`[a, b]`, []string{`a args: {v: 1}`, `b args: {v: [{from: step, step: a}]}`}, `[1]`, "a=succeeded b=succeeded"},
		"sequence fails": {`[a, b]`, []string{`a args: {fail: 1}`, `b`}, "execution_failed: no", "a=failed"},
		"continue_with_error": {`[a, b]`, []string{`a failure: continue_with_error, args: {fail: 1}`, `b args: {v: {from: step, step: a, pointer: /error/code}}`},
			`"execution_failed"`, "a=failed b=succeeded"},
		"skip_dependents": {`[[a, b, {if: {from: args, pointer: /yes}, then: c}], d]`, []string{`a failure: skip_dependents, args: {fail: 1}`, `b`, `c`, `d args: {v: 4}`},
			`4`, "a=failed b=skipped c=skipped d=succeeded"},
		"skip_dependents at the end": {`[a, b]`, []string{`a failure: skip_dependents, args: {fail: 1}`, `b`}, `{"error":` + failure + `}`, "a=failed b=skipped"},
		"skip_dependents in a branch": {`[{parallel: [[a, b], c]}, d]`,
			[]string{`a failure: skip_dependents, args: {fail: 1}`, `b`, `c args: {v: 3}`, `d args: {v: 4}`}, `4`, "a=failed b=skipped c=succeeded d=succeeded"},
		"skip_dependents through a choice": {`[{if: {from: args, pointer: /yes}, then: a}, b]`,
			[]string{`a failure: skip_dependents, args: {fail: 1}`, `b`}, `{"error":` + failure + `}`, "a=failed b=skipped"},
		"parallel": {`{parallel: [a, b]}`, []string{`a args: {v: 1}`, `b args: {v: 2}`}, `[1,2]`, "a=succeeded b=succeeded"},
		"parallel fails": {`{parallel: [[a, b], [c, d]]}`, []string{`a`, `b`, `c args: {fail: 1}`, `d`},
			"execution_failed: branch[1]: no", "a=succeeded c=failed"},
		"parallel in a parallel": {`{parallel: [{parallel: [a, b]}, c]}`, []string{`a args: {fail: 1}`, `b`, `c`},
			"execution_failed: branch[0]: branch[0]: no", "a=failed"},
		"choice": {`{if: {from: args, pointer: /yes}, then: [a, {map: {from: args, pointer: /list}, as: i, do: c}], else: b}`,
			[]string{`a`, `b`, `c args: {v: {from: item, name: i}}`}, `[10,20,30]`, "a=succeeded b=skipped c@root[0]=succeeded c@root[1]=succeeded c@root[2]=succeeded"},
		"choice without else":          {`{if: {from: literal, value: false}, then: [a, {map: {from: args, pointer: /list}, as: i, do: b}]}`, []string{`a`, `b`}, `null`, "a=skipped"},
		"choice on what is no boolean": {`{if: {cel: "args.yes ? args.more : false"}, then: a}`, []string{`a`}, "expression_failed: *", ""},
		"map": {`{map: {from: args, pointer: /list}, as: i, do: [a, b], concurrency: 2}`, []string{`a args: {v: {from: item, name: i}}`, `b args: {v: {text: ["<", {from: step, step: a}, ">"]}}`},
			`["<10>","<20>","<30>"]`, "a@root[0]=succeeded a@root[1]=succeeded a@root[2]=succeeded b@root[0]=succeeded b@root[1]=succeeded b@root[2]=succeeded"},
		"map of nothing": {`{map: {from: literal, value: []}, as: i, do: a}`, []string{`a`}, `[]`, ""},
		"map fails": {`{map: {from: args, pointer: /list}, as: i, do: a}`, []string{`a args: {fail: {cel: "item.i > 10 ? 1 : 0"}}`},
			"execution_failed: item[1]: execution_failed: no; item[2]: execution_failed: no", "a@root[0]=succeeded a@root[1]=failed a@root[2]=failed"},
		"map that does not fit": {`{map: {from: literal, value: [1,2,3,4,5,6,7]}, as: i, do: [a, b, c]}`, []string{`a`, `b`, `c`}, "budget_exceeded: *", ""},
		"repeat": {`{repeat: a, until: {cel: "steps.a.n > 2"}, max: 5}`,
			[]string{`a output_schema: {type: object}, args: {v: {n: {cel: "1"}, p: {from: previous, step: a, pointer: /n, default: 0}}}`},
			"repeat_exhausted: *", "a@root#0=succeeded a@root#1=succeeded a@root#2=succeeded a@root#3=succeeded a@root#4=succeeded"},
		"repeat ends": {`{repeat: a, until: {from: literal, value: true}, max: 5}`,
			[]string{`a args: {v: {from: previous, step: a, default: first}}`}, `"first"`, "a@root#0=succeeded"},
		"previous": {`[{repeat: [a, b], until: {cel: "steps.b == 'x1'"}, max: 3}]`,
			[]string{`a args: {v: {from: previous, step: b, default: x}}`, `b output_schema: {type: string}, args: {v: {text: [{from: step, step: a}, "1"]}}`},
			`"x1"`, "a@root#0=succeeded b@root#0=succeeded"},
		"retry":                                  {`{retry: a, attempts: 3}`, []string{`a args: {v: 1, fail: 2}`}, `1`, "a=succeeded"},
		"retry is exhausted":                     {`{retry: a, attempts: 2}`, []string{`a args: {fail: 2}`}, "retry_exhausted: *", "a=failed"},
		"retry of what must not be":              {`{retry: a, attempts: 3}`, []string{`a args: {fail: 1, final: true}`}, "execution_failed: no", "a=failed"},
		"retry with a policy waits":              {`{retry: a, attempts: 3}`, []string{`a failure: continue_with_error, args: {v: 1, fail: 2}`}, `1`, "a=succeeded"},
		"retry enters only what did not succeed": {`{retry: [a, b], attempts: 2}`, []string{`a args: {v: 1}`, `b args: {v: 2, fail: 1}`}, `2`, "a=succeeded b=succeeded"},
		"retry around a step that must not be repeated": {`{retry: [a, b], attempts: 3}`,
			[]string{`a failure: continue_with_error, args: {fail: 1, final: true}`, `b args: {fail: 1}`}, "execution_failed: no", "a=failed b=failed"},
		"retry mends what a policy passed over": {`{retry: [a, b], attempts: 2}`,
			[]string{`a failure: continue_with_error, args: {v: 1, fail: 1}`, `b args: {fail: 1, v: {from: step, step: a}}`}, `1`, "a=succeeded b=succeeded"},
		"nested retries count anew": {`{retry: {retry: a, attempts: 2}, attempts: 2}`, []string{`a args: {v: 1, fail: 3}`}, `1`, "a=succeeded"},
		"retries run out":           {`{retry: a, attempts: 9}`, []string{`a args: {v: 1, fail: 6}`}, "budget_exceeded: *", "a=failed"},
		"retry around a map": {`{retry: {map: {from: args, pointer: /list}, as: i, do: a}, attempts: 2}`, []string{`a args: {v: {from: item, name: i}, fail: {cel: "item.i > 10 ? 1 : 0"}}`},
			`[10,20,30]`, "a@root[0]=succeeded a@root[1]=succeeded a@root[2]=succeeded"},
		"missing reference":              {`a`, []string{`a args: {v: {from: args, pointer: /none}}`}, "unknown_reference: *", "a=failed"},
		"default":                        {`a`, []string{`a args: {v: {from: args, pointer: /none, default: 7}}`}, `7`, "a=succeeded"},
		"literal":                        {`a`, []string{`a args: {v: {from: literal, value: {from: args}}}`}, `{"from":"args"}`, "a=succeeded"},
		"node by its id":                 {`[{id: both, parallel: [a, b]}, c]`, []string{`a args: {v: 1}`, `b args: {v: 2}`, `c args: {v: {from: step, step: both, pointer: /1}}`}, `2`, "a=succeeded b=succeeded c=succeeded"},
		"output schema":                  {`a`, []string{`a output_schema: {type: string}, args: {v: 1}`}, "invalid_output: *", "a=failed"},
		"rejected output is not retried": {`{retry: a, attempts: 3}`, []string{`a output_schema: {type: string}, args: {v: 1}`}, "invalid_output: *", "a=failed"},
		"sleep":                          {`[s, a]`, []string{`s type: sleep, duration_ms: 5`, `a args: {v: {from: step, step: s}}`}, `null`, "a=succeeded s=succeeded"},
		"steps run out": {`[{map: {from: args, pointer: /list}, as: i, do: {repeat: a, until: {from: literal, value: false}, max: 9}}]`, []string{`a`},
			"budget_exceeded: item[0]: *", "a@root[0]#0=succeeded *"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := run(t, tc.plan, tc.steps)
			if got := ending(t, res); !matches(tc.output, got) {
				t.Errorf("came to %s, want %s", got, tc.output)
			}
			if got := states(res.Steps); !matches(tc.states, got) {
				t.Error(cmp.Diff(tc.states, got))
			}
		})
	}
}

func matches(want, got string) bool {
	if before, any := strings.CutSuffix(want, "*"); any {
		return strings.HasPrefix(got, before)
	}
	return want == got
}

func ending(t *testing.T, r *reference.Result) string {
	t.Helper()
	if r.Failure != nil {
		return r.Failure.Code + ": " + r.Failure.Message
	}
	raw, err := canon.Encode(r.Output)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func states(steps map[string]reference.Status) string {
	var all []string
	for id, s := range steps {
		all = append(all, id+"="+string(s))
	}
	return strings.Join(sorted(all), " ")
}

func TestNestedWorkflows(t *testing.T) {
	t.Parallel()
	inner := source(t, "inner", `[x, {map: {from: args, pointer: /list}, as: i, do: y}]`,
		[]string{`x args: {v: {from: args, pointer: /text}}`, `y args: {v: {from: item, name: i}, fail: {cel: "item.i == 2 ? 1 : 0"}}`}, "output: {all: {from: step, step: x}}\n")
	nest := `n type: workflow, workflow_id: inner, revision: 1, args: {text: in, list: [1, 2]}`
	res := run(t, `{retry: n, attempts: 2}`, []string{nest}, inner)
	if got := ending(t, res); got != `{"all":"in"}` {
		t.Errorf("came to %s", got)
	}
	if got, want := states(res.Steps), "n/x=succeeded n/y@root[0]=succeeded n/y@root[1]=succeeded n=succeeded"; got != want {
		t.Error(cmp.Diff(want, got))
	}
	res = run(t, `n`, []string{nest}, inner)
	if got, want := states(res.Steps), "n/x=succeeded n/y@root[0]=succeeded n/y@root[1]=failed n=failed"; got != want {
		t.Error(cmp.Diff(want, got))
	}
	if got := ending(t, res); got != "execution_failed: item[1]: execution_failed: no" {
		t.Errorf("came to %s", got)
	}
	res = run(t, `n`, []string{`n type: workflow, workflow_id: inner, revision: 1, args: {list: {from: args, pointer: /more}}`}, inner)
	if got := ending(t, res); !strings.HasPrefix(got, "unknown_reference: ") {
		t.Errorf("came to %s", got)
	}
}

// TestOrder: what was ready before is not overtaken by what a call enables.
func TestOrder(t *testing.T) {
	t.Parallel()
	prog := compile(t, source(t, "root", `{parallel: [[a, b], {if: {from: args, pointer: /yes}, then: c}, [d, e]]}`, []string{"a", "b", "c", "d", "e"}, ""))
	var order []string
	res, err := reference.Run(prog.Bundle, reference.Options{
		Args:   map[string]any{"yes": true},
		Limits: workflow.Limits{MaxSteps: 20, MaxRetries: 4},
		Tool: func(c reference.Call) (any, *reference.Failure) {
			order = append(order, c.Step)
			return nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(order, " "), "a d c b e"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
	if res.Raced {
		t.Error("nothing failed, so nothing raced")
	}
}

func TestRaces(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		plan         string
		steps        []string
		raced, slept bool
	}{
		"a failure beside others":     {`{parallel: [a, b]}`, []string{`a args: {fail: 1}`, `b`}, true, false},
		"a failure beside nothing":    {`{parallel: [a]}`, []string{`a args: {fail: 1}`}, false, false},
		"a failure that goes on":      {`{parallel: [a, b]}`, []string{`a failure: continue_with_error, args: {fail: 1}`, `b`}, false, false},
		"a failure in a map":          {`{map: {from: args, pointer: /list}, as: i, do: a}`, []string{`a args: {fail: 1}`}, false, false},
		"a failure that was retried":  {`{retry: {parallel: [a, b]}, attempts: 2}`, []string{`a args: {fail: 1}`, `b`}, true, false},
		"a failure beside a sleep":    {`{parallel: [a, b]}`, []string{`a args: {fail: 1}`, `b type: sleep, duration_ms: 1`}, true, true},
		"retries that ran out":        {`{parallel: [{retry: a, attempts: 9}, b]}`, []string{`a failure: continue_with_error, args: {fail: 9}`, `b`}, true, false},
		"a map that just about fits":  {`{map: {from: literal, value: [1,2,3]}, as: i, do: [a, b, c, d, e, f]}`, []string{"a", "b", "c", "d", "e", "f"}, true, false},
		"a map that fits in any case": {`{map: {from: literal, value: [1]}, as: i, do: [a, b]}`, []string{"a", "b"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if res := run(t, tc.plan, tc.steps); res.Raced != tc.raced || res.Slept != tc.slept {
				t.Errorf("raced %v, slept %v", res.Raced, res.Slept)
			}
		})
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	res := run(t, `[a, b]`, []string{`a args: {v: 1}`, `b failure: continue_with_error, args: {fail: 1}`})
	same := reference.Observed{
		Output: map[string]any{"error": map[string]any{"code": "execution_failed", "message": "in other words", "retryable": true}},
		Steps:  map[string]reference.Status{"a": reference.Succeeded, "b": reference.Failed},
	}
	if d := res.Differences(same); len(d) > 0 {
		t.Errorf("the same differs: %v", d)
	}
	for name, other := range map[string]reference.Observed{
		"output":         {Output: 1, Steps: same.Steps},
		"failure":        {Failure: &reference.Failure{Code: "execution_failed"}, Steps: same.Steps},
		"state":          {Output: same.Output, Steps: map[string]reference.Status{"a": reference.Succeeded, "b": reference.Skipped}},
		"missing step":   {Output: same.Output, Steps: map[string]reference.Status{"a": reference.Succeeded}},
		"one step more":  {Output: same.Output, Steps: map[string]reference.Status{"a": reference.Succeeded, "b": reference.Failed, "c": reference.Skipped}},
		"nothing at all": {},
	} {
		if len(res.Differences(other)) == 0 || len(res.Contradictions(other)) == 0 {
			t.Errorf("%s: no difference", name)
		}
	}
}

func TestContradictionsOfARace(t *testing.T) {
	t.Parallel()
	res := run(t, `[a, {parallel: [b, c]}]`, []string{`a`, `b args: {fail: 1}`, `c`})
	if !res.Raced {
		t.Fatal("it did not race")
	}
	other := reference.Observed{
		Failure: &reference.Failure{Code: "execution_failed"},
		Steps:   map[string]reference.Status{"a": reference.Succeeded, "b": reference.Failed, "c": reference.Cancelled},
	}
	if d := res.Contradictions(other); len(d) > 0 {
		t.Errorf("another order is a contradiction: %v", d)
	}
	other.Steps["a"] = reference.Failed
	other.Steps["c"] = "running"
	if d := res.Contradictions(other); len(d) != 2 {
		t.Errorf("got %v", d)
	}
}
