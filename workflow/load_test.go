package workflow_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/workflow"
)

func TestYAMLScalarsAreThoseOfJSON(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"yes": `"yes"`, "no": `"no"`, "on": `"on"`, "Off": `"Off"`, "y": `"y"`,
		"true": `true`, "False": `false`, "~": `null`, "null": `null`, "": `null`,
		"9007199254740993": `9007199254740993`, "123456789012345678901234567890": `123456789012345678901234567890`,
		"+5": `5`, "-0": `0`, "007": `7`, "-012": `-12`,
		"1.50": `1.5`, ".5": `0.5`, "-.5e3": `-500`, "1.": `1`, "1e3": `1000`, "1E-2": `0.01`,
		"0o17": `"0o17"`, "0x1F": `"0x1F"`, "1_000": `"1_000"`, "1:30": `"1:30"`,
		"2020-01-01": `"2020-01-01"`, "2001-12-14t21:59:43.10-05:00": `"2001-12-14t21:59:43.10-05:00"`,
		`"7"`: `"7"`, "'true'": `"true"`, "!!str 5": `"5"`, "!!int 5": `5`, "!!float 5": `5`, "!!null ~": `null`, "!!map {}": `{}`,
		`"\u00e9\x41\/"`: `"éA/"`, "|-\n  a\n  b": `"a\nb"`, ">-\n  a\n  b": `"a b"`,
		"{<<x: 1}": `{"<<x":1}`, `{"<<": 1}`: `{"<<":1}`, "{'1': 2}": `{"1":2}`, "[a, [b]]": `["a",["b"]]`,
	} {
		t.Run(written, func(t *testing.T) {
			t.Parallel()
			src := load(t, head+"steps: [{id: a, type: tool, tool: t}]\noutput: "+written+"\n")
			if got := string(src.Definition().Output); got != want {
				t.Errorf("read as %s, want %s", got, want)
			}
		})
	}
}

// everything uses every field and every shorthand there is.
const everything = `# A comment.
workflow_schema: 1
id: all.of-it_1
revision: 7
description: Everything at once
input_schema: {type: object, properties: {files: {type: array, items: {type: string}}, go: {type: boolean}}, required: [files, go]}
output_schema: true
steps:
  - {id: one, type: tool, tool: t, args: {n: 9007199254740993, x: [1.0, {from: args}]}, capabilities: [net], on_unknown: rerun}
  - {id: two, type: agent, agent: a, prompt: {text: [Hi, {from: args, pointer: /files}]}, model: m, effort: low, structured_output_attempts: 3, output_schema: {type: object}}
  - {id: three, type: approval, prompt: Sure?, on_timeout: approve, timeout_ms: 1000, failure: continue_with_error}
  - {id: four, type: input, prompt: Which?, output_schema: {type: string}}
  - {id: five, type: sleep, duration_ms: 5}
  - {id: six, type: sleep, until: 2030-01-31T08:00:00Z}
  - {id: seven, type: event, name: pushed, failure: skip_dependents}
  - {id: eight, type: tool, tool: t}
  - {id: nine, type: tool, tool: t, output_schema: {type: object, properties: {ok: {type: boolean}}}}
plan:
  - one
  - parallel: [two, [three, four]]
    id: both
  - if: {from: args, pointer: /go}
    then: five
    else: six
  - map: {from: args, pointer: /files}
    as: file
    do: seven
    concurrency: 2
  - retry: eight
    attempts: 3
    delay_ms: 10
    backoff: 1.5
    max_delay_ms: 100
  - repeat: nine
    until: {from: step, step: nine, pointer: /ok}
    max: 10
output: {both: {from: step, step: both}}
budgets: {max_concurrency: 2, max_agents: 3, max_steps: 50, max_retries: 4, max_nesting_depth: 1, wall_time_ms: 60000, max_tokens: 0, max_cost_micros: 5}
`

// everythingCanonical is the same in canonical form, in other words and order.
const everythingCanonical = `{
 "budgets": {"max_cost_micros": 5, "max_tokens": 0, "wall_time_ms": 60000, "max_nesting_depth": 1, "max_retries": 4, "max_steps": 50, "max_agents": 3, "max_concurrency": 2},
 "output": {"both": {"from": "step", "step": "both"}},
 "plan": {"type": "sequence", "nodes": [
   {"type": "step", "step": "one"},
   {"type": "parallel", "id": "both", "nodes": [
     {"type": "step", "step": "two"},
     {"type": "sequence", "nodes": [{"type": "step", "step": "three"}, {"type": "step", "step": "four"}]}]},
   {"type": "choice", "condition": {"from": "args", "pointer": "/go"},
    "then_branch": {"type": "step", "step": "five"}, "else_branch": {"type": "step", "step": "six"}},
   {"type": "map", "source": {"from": "args", "pointer": "/files"}, "item": "file", "body": {"type": "step", "step": "seven"}, "concurrency": 2},
   {"type": "retry", "node": {"type": "step", "step": "eight"}, "max_attempts": 3, "delay_ms": 10, "backoff": 1.5, "max_delay_ms": 100},
   {"type": "repeat", "body": {"type": "step", "step": "nine"}, "until": {"from": "step", "step": "nine", "pointer": "/ok"}, "max": 10}]},
 "steps": [
  {"id": "one", "type": "tool", "tool": "t", "args": {"n": 9007199254740993, "x": [1, {"from": "args"}]}, "capabilities": ["net"], "on_unknown": "rerun"},
  {"id": "two", "type": "agent", "agent": "a", "prompt": {"text": ["Hi", {"from": "args", "pointer": "/files"}]}, "model": "m", "effort": "low", "structured_output_attempts": 3, "output_schema": {"type": "object"}},
  {"id": "three", "type": "approval", "prompt": "Sure?", "on_timeout": "approve", "timeout_ms": 1000, "failure": "continue_with_error"},
  {"id": "four", "type": "input", "prompt": "Which?", "output_schema": {"type": "string"}},
  {"id": "five", "type": "sleep", "duration_ms": 5},
  {"id": "six", "type": "sleep", "until": "2030-01-31T08:00:00Z"},
  {"id": "seven", "type": "event", "name": "pushed", "failure": "skip_dependents"},
  {"id": "eight", "type": "tool", "tool": "t"},
  {"id": "nine", "type": "tool", "tool": "t", "output_schema": {"type": "object", "properties": {"ok": {"type": "boolean"}}}}],
 "output_schema": true,
 "input_schema": {"type": "object", "properties": {"files": {"type": "array", "items": {"type": "string"}}, "go": {"type": "boolean"}}, "required": ["files", "go"]},
 "description": "Everything at once", "revision": 7, "id": "all.of-it_1", "workflow_schema": 1
}`

func TestYAMLJSONAndShorthandAreOneDefinition(t *testing.T) {
	t.Parallel()
	want := canonical(t, load(t, everythingCanonical))
	crlf := strings.ReplaceAll(everything, "\n", "\r\n")
	flow := strings.Replace(everythingCanonical, `"workflow_schema": 1`, `workflow_schema: 1`, 1) // YAML that begins as JSON does
	for name, doc := range map[string]string{
		"YAML": everything, "YAML with CR LF": crlf, "YAML with a byte order mark": "\ufeff" + everything, "YAML in flow style": flow,
		"canonical JSON": want,
	} {
		if diff := cmp.Diff(want, canonical(t, load(t, doc))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := workflow.Compile(load(t, everything), nil, nil); err != nil {
		t.Errorf("it does not compile:\n%v", err)
	}
}

// A hash must stay what it is for ever: runs are pinned by it.
func TestHashesNeverChange(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		everything: "b83e8334871e45e15a2c218f63e7f5f4fb5799e1d4e015993ffe7dbe78011b34",
		ab:         "3f4f036df33b6110d25ca4c91efe7404d3df0610cbacb8014e61a58d9d100411",
	} {
		got, err := load(t, doc).Definition().Hash()
		if err != nil || got != want {
			t.Errorf("hash %s (%v), want %s of\n%s", got, err, want, doc)
		}
	}
}

func TestAbsentFieldsStayAbsentAndEmptyOnesStay(t *testing.T) {
	t.Parallel()
	if got, want := canonical(t, load(t, ab)),
		`{"id":"w","revision":1,"steps":[{"id":"a","tool":"t","type":"tool"},{"id":"b","tool":"t","type":"tool"}],"workflow_schema":1}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	doc := `{"budgets":{},"description":"","id":"w","output":null,"revision":1,` +
		`"steps":[{"args":null,"capabilities":[],"description":"","id":"a","tool":"t","type":"tool"}],"workflow_schema":1}`
	src := load(t, doc)
	if got := canonical(t, src); got != doc {
		t.Errorf("got %s, want %s", got, doc)
	}
	again, err := workflow.FromDefinition(src.Definition())
	if err != nil {
		t.Fatal(err)
	}
	if got := canonical(t, again); got != doc {
		t.Errorf("an unchanged definition became %s", got)
	}
}

func TestAChangedDefinitionHasAnotherHash(t *testing.T) {
	t.Parallel()
	def := *load(t, `{"workflow_schema":1,"id":"w","revision":1,"steps":[{"id":"a","type":"tool","tool":"t","capabilities":[]}]}`).Definition()
	before, _ := def.Hash()
	def.Description = "changed"
	src, err := workflow.FromDefinition(&def)
	if err != nil {
		t.Fatal(err)
	}
	after, err := src.Definition().Hash()
	if err != nil || after == before {
		t.Errorf("hash %s before, %s after (%v)", before, after, err)
	}
	if src.Definition().Description != "changed" {
		t.Error("the change is lost")
	}
}

func TestFromDefinitionReportsWhatIsWrong(t *testing.T) {
	t.Parallel()
	src, err := workflow.FromDefinition(&workflow.Definition{Schema: 1, ID: "x", Revision: 2, Steps: []*workflow.Step{{ID: "a", Type: "tol"}}})
	var errs workflow.Errors
	if !errors.As(err, &errs) || !errs.Has(workflow.UnknownType) {
		t.Fatalf("got %v", err)
	}
	if src == nil || errs[0].File != "x@2" || errs[0].Path != "/steps/0/type" || errs[0].Near != "tool" {
		t.Errorf("got %+v", errs[0])
	}
	var one *workflow.Error
	if !errors.As(err, &one) || one.Code != workflow.UnknownType {
		t.Errorf("a single error cannot be had: %v", one)
	}
}

func TestDefinitionsMarshalCanonically(t *testing.T) {
	t.Parallel()
	src := load(t, everything)
	raw, err := json.Marshal(map[string]any{"d": src.Definition()})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(raw), `{"d":`+canonical(t, src)+`}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLoadFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "w.yaml")
	if err := os.WriteFile(path, []byte(ab), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := workflow.LoadFile(path)
	if err != nil || src.Name() != path || src.Definition().Ref() != "w@1" || src.Errors() != nil {
		t.Errorf("got %+v, %v", src, err)
	}
	var errs workflow.Errors
	if _, err := workflow.LoadFile(filepath.Join(dir, "none.yaml")); !errors.Is(err, os.ErrNotExist) || errors.As(err, &errs) {
		t.Errorf("a file that does not exist: %v", err)
	}
}

func TestAFileNamedJSONIsJSON(t *testing.T) {
	t.Parallel()
	_, err := workflow.Load("w.json", []byte(ab))
	var errs workflow.Errors
	if !errors.As(err, &errs) || !errs.Has(workflow.InvalidSyntax) {
		t.Errorf("YAML in a .json file: %v", err)
	}
}

func canonical(t *testing.T, src *workflow.Source) string {
	t.Helper()
	raw, err := src.Definition().Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
