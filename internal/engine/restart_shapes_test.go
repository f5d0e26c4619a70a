package engine_test

import (
	"fmt"
	"strings"
)

// toolSteps is a definition of steps that call a tool, without its plan.
func toolSteps(ids ...string) string {
	text := "workflow_schema: 1\nid: w\nrevision: 1\nsteps:\n"
	for _, id := range ids {
		text += fmt.Sprintf("  - {id: %s, type: tool, tool: write, args: {of: %s}}\n", id, id)
	}
	return text
}

// restartCase is a run of one shape, and what a restart from one of its steps does.
type restartCase struct {
	name      string
	def       string
	fail      []string // at their first call
	retryable bool
	broken    []string // at every call, retryably
	gives     map[string]string
	from, at  string // at is the full instance, if that is not from
	calls     []string
	output    string
}

func restartCases() []restartCase {
	abc := toolSteps("a", "b", "c")
	return []restartCase{
		{name: "sequence, the failed step", def: abc, fail: []string{"b"}, from: "b", calls: []string{"b", "c"}, output: `"c"`},
		{name: "sequence, of a run that succeeded", def: abc, from: "c", calls: []string{"c"}, output: `"c"`},
		{name: "sequence, the first step", def: abc, fail: []string{"b"}, from: "a", calls: []string{"a", "b", "c"}, output: `"c"`},
		{name: "parallel keeps the siblings that finished", def: toolSteps("a", "b", "c", "d") + "plan: [a, {parallel: [[b, c], d]}]\n",
			from: "c", calls: []string{"c"}, output: `["c","d"]`},
		{name: "parallel runs siblings that failed again", def: toolSteps("a", "b", "c") + "plan: {parallel: [a, [b, c]]}\n",
			fail: []string{"a"}, from: "b", calls: []string{"a", "b", "c"}, output: `["a","c"]`},
		{name: "choice stays decided", def: toolSteps("a", "b", "c") + "plan: [a, {if: {from: args, pointer: /yes}, then: b, else: c}]\ninput_schema: {type: object, properties: {yes: {type: boolean}}, required: [yes]}\n",
			fail: []string{"b"}, from: "b", calls: []string{"b"}, output: `"b"`},
		{name: "after a choice", def: toolSteps("a", "b", "c", "d") + "plan: [{if: {from: args, pointer: /yes}, then: a, else: b}, c, d]\ninput_schema: {type: object, properties: {yes: {type: boolean}}, required: [yes]}\n",
			from: "d", calls: []string{"d"}, output: `"d"`},
		{name: "map keeps the other items", def: mapOf("a", "b"), fail: []string{"b@root[1]"}, from: "b@root[1]",
			calls: []string{"b@root[1]", "c"}, output: `"c"`},
		{name: "map of one item at a time, items behind it", def: strings.Replace(mapOf("a", "b"), "do:", "concurrency: 1, do:", 1),
			fail: []string{"a@root[0]"}, from: "a:0", at: "a@root[0]", calls: []string{"a@root[0]", "b@root[0]", "c"}, output: `"c"`},
		{name: "map runs other items that failed again", def: mapOf("a", "b"), fail: []string{"b@root[0]", "a@root[2]"}, from: "b:0", at: "b@root[0]",
			calls: []string{"a@root[2]", "b@root[0]", "b@root[2]", "c"}, output: `"c"`},
		{name: "after a map", def: mapOf("a", "b"), from: "c", calls: []string{"c"}, output: `"c"`},
		{name: "repeat keeps the rounds before", def: repeatOf(3), gives: map[string]string{"b@root#0": "false", "b@root#1": "false", "b@root#2": "true"},
			from: "a@root#1", calls: []string{"a@root#1", "a@root#2", "b@root#1", "b@root#2", "c"}, output: `"c"`},
		{name: "after a repeat", def: repeatOf(3), gives: map[string]string{"b@root#0": "false", "b@root#1": "true"},
			from: "c", calls: []string{"c"}, output: `"c"`},
		{name: "retry that came to succeed", def: toolSteps("a", "b", "c") + "plan: [{retry: [a, b], attempts: 3}, c]\n", fail: []string{"b"}, retryable: true,
			from: "c", calls: []string{"c"}, output: `"c"`},
		{name: "inside a retry", def: toolSteps("a", "b", "c") + "plan: [{retry: [a, b], attempts: 3}, c]\n",
			fail: []string{"b"}, from: "b", calls: []string{"b", "c"}, output: `"c"`},
		{name: "a failure that the plan went on from", def: "workflow_schema: 1\nid: w\nrevision: 1\nsteps:\n" +
			"  - {id: a, type: tool, tool: write, failure: continue_with_error}\n" +
			"  - {id: b, type: tool, tool: write, args: {of: {from: step, step: a}}}\noutput: {from: step, step: a, pointer: /error/code}\n",
			fail: []string{"a"}, from: "b", calls: []string{"b"}, output: `"execution_failed"`},
		{name: "a retry that gave up, and the plan went on from", def: "workflow_schema: 1\nid: w\nrevision: 1\nsteps:\n" +
			"  - {id: a, type: tool, tool: write, failure: continue_with_error}\n" +
			"  - {id: b, type: tool, tool: write, args: {of: {from: step, step: again}}}\n" +
			"plan: [{retry: a, attempts: 1, id: again}, b]\noutput: {from: step, step: again, pointer: /error/code}\n",
			fail: []string{"a"}, retryable: true, from: "b", calls: []string{"b"}, output: `"retry_exhausted"`},
		{name: "a retry that gave up after rounds", def: "workflow_schema: 1\nid: w\nrevision: 1\nsteps:\n" +
			"  - {id: a, type: tool, tool: write, failure: continue_with_error}\n" +
			"  - {id: b, type: tool, tool: write, args: {of: {from: step, step: again}}}\n" +
			"plan: [{retry: a, attempts: 3, id: again}, b]\noutput: {from: step, step: again}\n",
			broken: []string{"a"}, from: "b", calls: []string{"b"},
			output: `{"error":{"code":"retry_exhausted","message":"failed in 3 of 3 attempts; the last time: execution_failed: said no","retryable":true}}`},
	}
}

func mapOf(ids ...string) string {
	return toolSteps(append(ids, "c")...) + "plan: [{map: {from: args, pointer: /list}, as: x, do: [" + strings.Join(ids, ", ") + "]}, c]\n" +
		"input_schema: {type: object, properties: {list: {type: array}}, required: [list]}\n"
}

func repeatOf(most int) string {
	return strings.Replace(toolSteps("a", "b", "c"), "{of: b}}", "{of: b}, output_schema: {type: boolean}}", 1) +
		fmt.Sprintf("plan: [{repeat: [a, b], until: {from: step, step: b}, max: %d}, c]\n", most)
}
