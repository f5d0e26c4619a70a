package workflow_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/workflow"
)

// mistake is a document with one thing wrong. The place where the error belongs
// stands between « and »; with « alone only its beginning is known.
type mistake struct {
	name    string
	code    workflow.Code
	doc     string
	catalog []string // other documents
	json    bool
}

// head begins documents whose identity does not matter.
const head = "workflow_schema: 1\nid: w\nrevision: 1\n"

// ab is a definition of two steps that run in order.
const ab = head + "steps:\n- {id: a, type: tool, tool: t}\n- {id: b, type: tool, tool: t}\n"

// taking is a nested workflow with arguments.
const taking = `workflow_schema: 1
id: nested
revision: 1
input_schema:
  type: object
  properties: {n: {type: integer, minimum: 1}, key: {type: string, x-secret: true}}
  required: [n]
  additionalProperties: false
steps: [{id: a, type: tool, tool: t}]
`

func tools(name string) (input, output json.RawMessage, ok bool) {
	if name != "known" {
		return nil, nil, false
	}
	return json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`),
		json.RawMessage(`{"type":"object","properties":{"list":{"type":"array"},"ok":{"type":"boolean"}},"additionalProperties":false}`), true
}

// planned makes a definition of three steps, the first of which declares its
// output, from the only argument of the last one and all that follows.
func planned(plan string) string {
	return head + `input_schema: {type: object, properties: {list: {type: array}, flag: {type: boolean}, word: {type: string}}}
steps:
- {id: a, type: tool, tool: t, output_schema: {type: object, properties: {ok: {type: boolean}, list: {type: array, items: {type: object, additionalProperties: false}}}, required: [ok], additionalProperties: false}}
- {id: b, type: tool, tool: t}
- {id: c, type: tool, tool: t, args: {x: ` + plan
}

func nesting(args string) string {
	return head + "steps:\n- id: s\n  type: workflow\n  workflow_id: nested\n  revision: 1\n" + args
}

func mistakes() []mistake {
	return slices.Concat(readingMistakes(), formMistakes(), planMistakes(), referenceMistakes(), callMistakes())
}

func readingMistakes() []mistake {
	return []mistake{
		{name: "bytes that are not UTF-8", code: workflow.InvalidUTF8, doc: "id: ü «\xff»x"},
		{name: "broken YAML", code: workflow.InvalidSyntax, doc: "id: b«: c\n"},
		{name: "broken JSON", code: workflow.InvalidSyntax, doc: "{\"id\": «x}\n", json: true},
		{name: "control characters", code: workflow.InvalidSyntax, doc: "id: x\nrevision: «\x01»\n"},
		{name: "an unclosed list", code: workflow.InvalidSyntax, doc: "a: [1\nb«: 2\n"},
		{name: "nothing", code: workflow.EmptyDocument, doc: ""},
		{name: "only a comment", code: workflow.EmptyDocument, doc: "# nothing\n"},
		{name: "nothing in JSON", code: workflow.EmptyDocument, doc: " \n", json: true},
		{name: "two YAML documents", code: workflow.MultipleDocuments, doc: ab + "«---\nid: x\n"},
		{name: "two JSON documents", code: workflow.MultipleDocuments, json: true,
			doc: `{"workflow_schema":1,"id":"w","revision":1,"steps":[{"id":"a","type":"tool","tool":"t"}]} «{»}`},
		{name: "a huge file", code: workflow.DocumentTooLarge, doc: strings.Repeat("# comment\n", 250_000)},
		{name: "deep YAML", code: workflow.NestedTooDeeply, doc: head + "output: " + strings.Repeat("[", 128) + "«[]»" + strings.Repeat("]", 128) + "\nsteps: [{id: a, type: tool, tool: t}]\n"},
		{name: "deep JSON", code: workflow.NestedTooDeeply, json: true, doc: strings.Repeat("[", 129) + "[«" + strings.Repeat("]", 130)},
		{name: "an anchored key", code: workflow.AliasRefused, doc: head + "steps: [{id: a, type: tool, tool: t, args: {«&k x: 1}}]\n"},
		{name: "a tagged key", code: workflow.TagRefused, doc: head + "steps: [{id: a, type: tool, tool: t, args: {«!k x: 1}}]\n"},
		{name: "a duplicate key", code: workflow.DuplicateKey, doc: head + "«id»: x\nsteps: [{id: a, type: tool, tool: t}]\n"},
		{name: "a duplicate key in JSON", code: workflow.DuplicateKey, json: true,
			doc: `{"workflow_schema":1,"id":"w",«"id"»:"w","revision":1,"steps":[{"id":"a","type":"tool","tool":"t"}]}`},
		{name: "a duplicate key deep in a template", code: workflow.DuplicateKey,
			doc: head + "steps: [{id: a, type: tool, tool: t, args: {x: {y: 1, «y»: 2}}}]\n"},
		{name: "a number as key", code: workflow.InvalidKey, doc: head + "steps: [{id: a, type: tool, tool: t, args: {«404»: x}}]\n"},
		{name: "a list as key", code: workflow.InvalidKey, doc: head + "steps: [{id: a, type: tool, tool: t, args: {? «[x]» : x}}]\n"},
		{name: "infinity", code: workflow.InvalidNumber, doc: head + "output: «.inf»\nsteps: [{id: a, type: tool, tool: t}]\n"},
		{name: "a number beyond doubles", code: workflow.InvalidNumber, doc: head + "output: «1e999»\nsteps: [{id: a, type: tool, tool: t}]\n"},
		{name: "an anchor", code: workflow.AliasRefused, doc: head + "steps: [{id: a, type: tool, tool: t, args: «&x {}}]\n"},
		{name: "an alias of nothing", code: workflow.AliasRefused, doc: head + "output: «*x\nsteps: [{id: a, type: tool, tool: t}]\n"},
		{name: "a merge key", code: workflow.MergeKeyRefused, doc: head + "steps: [{id: a, type: tool, tool: t, args: {«<<»: {}}}]\n"},
		{name: "a tag of one's own", code: workflow.TagRefused, doc: head + "output: «!env HOME\nsteps: [{id: a, type: tool, tool: t}]\n"},
		{name: "a standard tag that does not fit", code: workflow.TagRefused, doc: head + "output: «!!int x\nsteps: [{id: a, type: tool, tool: t}]\n"},
		{name: "a tag on a list", code: workflow.TagRefused, doc: head + "output: «!set []\nsteps: [{id: a, type: tool, tool: t}]\n"},
	}
}

func formMistakes() []mistake {
	one := "steps: [{id: a, type: tool, tool: t}]\n"
	return []mistake{
		{name: "no schema version", code: workflow.UnsupportedSchema, doc: "«id: w\nrevision: 1\n" + one},
		{name: "test cases", code: workflow.UnsupportedSchema, doc: "test_schema: «1»\ncases: []\n"},
		{name: "another schema version", code: workflow.UnsupportedSchema, doc: "workflow_schema: «2»\nid: w\nrevision: 1\n" + one},
		{name: "no id", code: workflow.MissingIdentity, doc: "«workflow_schema: 1\nrevision: 1\n" + one},
		{name: "no revision", code: workflow.MissingIdentity, doc: "«workflow_schema: 1\nid: w\n" + one},
		{name: "an empty id", code: workflow.EmptyID, doc: "workflow_schema: 1\nid: «\"\"»\nrevision: 1\n" + one},
		{name: "an empty step id", code: workflow.EmptyID, doc: head + "steps: [{id: «''», type: tool, tool: t}]\n"},
		{name: "an id with spaces", code: workflow.InvalidID, doc: "workflow_schema: 1\nid: «a b»\nrevision: 1\n" + one},
		{name: "a step id with a slash", code: workflow.InvalidID, doc: head + "steps: [{id: «a/b», type: tool, tool: t}]\n"},
		{name: "a revision of 0", code: workflow.InvalidValue, doc: "workflow_schema: 1\nid: w\nrevision: «0»\n" + one},
		{name: "no steps", code: workflow.InvalidValue, doc: head + "steps: «[]»\n"},
		{name: "steps left out", code: workflow.MissingField, doc: "«" + head},
		{name: "a time that is none", code: workflow.InvalidValue, doc: head + "steps: [{id: a, type: sleep, until: «tomorrow»}]\n"},
		{name: "a negative sleep", code: workflow.InvalidValue, doc: head + "steps: [{id: a, type: sleep, duration_ms: «-1»}]\n"},
		{name: "a timeout of nothing", code: workflow.InvalidValue, doc: head + "steps: [{id: a, type: tool, tool: t, timeout_ms: «0»}]\n"},
		{name: "a timeout beyond all clocks", code: workflow.InvalidValue, doc: head + "steps: [{id: a, type: tool, tool: t, timeout_ms: «9223372036854775807»}]\n"},
		{name: "too many attempts at structured output", code: workflow.InvalidValue, doc: head + "steps: [{id: a, type: agent, agent: x, prompt: p, structured_output_attempts: «9»}]\n"},
		{name: "a policy that is none", code: workflow.InvalidValue, doc: head + "steps: [{id: a, type: tool, tool: t, failure: «continue»}]\n"},
		{name: "an unknown field", code: workflow.UnknownField, doc: head + "«step»: []\n" + one},
		{name: "an unknown field of a step", code: workflow.UnknownField, doc: head + "steps: [{id: a, type: tool, tool: t, «arg»: {}}]\n"},
		{name: "an unknown field of a node", code: workflow.UnknownField, doc: ab + "plan: {parallel: [a, b], «weight»: 2}\n"},
		{name: "an unknown budget", code: workflow.UnknownField, doc: head + "budgets: {«max_step»: 1}\n" + one},
		{name: "a field of another step type", code: workflow.FieldNotAllowed, doc: head + "steps: [{id: a, type: tool, tool: t, «agent»: x}]\n"},
		{name: "a field of another node type", code: workflow.FieldNotAllowed, doc: ab + "plan: {type: sequence, nodes: [a, b], «body»: a}\n"},
		{name: "a tool step without tool", code: workflow.MissingField, doc: head + "steps: [«{id: a, type: tool}»]\n"},
		{name: "an input without schema", code: workflow.MissingField, doc: head + "steps: [«{id: a, type: input, prompt: x}»]\n"},
		{name: "a sleep without time", code: workflow.MissingField, doc: head + "steps: [«{id: a, type: sleep}»]\n"},
		{name: "a sleep with two times", code: workflow.ConflictingFields, doc: head + "steps: [{id: a, type: sleep, duration_ms: 1, until: «'2030-01-01T00:00:00Z'»}]\n"},
		{name: "a node that is two", code: workflow.ConflictingFields, doc: ab + "plan: «{parallel: [a], retry: b, attempts: 2}»\n"},
		{name: "a node that is none", code: workflow.MissingField, doc: ab + "plan: «{sequence: [a, b]}»\n"},
		{name: "a list as description", code: workflow.WrongType, doc: head + "description: «[x]»\n" + one},
		{name: "a number as id", code: workflow.WrongType, doc: "workflow_schema: 1\nid: «7»\nrevision: 1\n" + one},
		{name: "a fraction as budget", code: workflow.WrongType, doc: head + "budgets: {max_steps: «1.5»}\n" + one},
		{name: "an octal number", code: workflow.WrongType, doc: head + "budgets: {max_steps: «0o17»}\n" + one},
		{name: "a schema that is a string", code: workflow.WrongType, doc: head + "input_schema: «string»\n" + one},
		{name: "a list for a definition", code: workflow.WrongType, doc: "«[]»\n"},
		{name: "a sleep for a word", code: workflow.WrongType, doc: head + "input_schema: {type: object, properties: {w: {type: string}}}\nsteps: [{id: a, type: sleep, duration_ms: «{from: args, pointer: /w}»}]\n"},
		{name: "an unknown step type", code: workflow.UnknownType, doc: head + "steps: [{id: a, type: «shell»}]\n"},
		{name: "an unknown node type", code: workflow.UnknownType, doc: ab + "plan: {type: «loop», nodes: [a, b]}\n"},
		{name: "a duplicate step", code: workflow.DuplicateID, doc: head + "steps:\n- {id: a, type: tool, tool: t}\n- {id: «a», type: tool, tool: t}\n"},
		{name: "a node with the id of a step", code: workflow.DuplicateID, doc: ab + "plan: {parallel: [a, b], id: «b»}\n"},
		{name: "two nodes of one id", code: workflow.DuplicateID, doc: ab + "plan: [{parallel: [a], id: p}, {parallel: [b], id: «p»}]\n"},
		{name: "an item that hides another", code: workflow.DuplicateID, doc: ab + "plan: [a, {map: [1], as: i, do: {map: [2], as: «i», do: b}}]\n"},
		{name: "too much concurrency", code: workflow.InvalidBudget, doc: head + "budgets: {max_concurrency: «65»}\n" + one},
		{name: "a shrinking delay", code: workflow.InvalidValue, doc: ab + "plan: [a, {retry: b, attempts: 2, backoff: «0.5»}]\n"},
		{name: "a retry of no attempts", code: workflow.InvalidValue, doc: ab + "plan: [a, {retry: b, attempts: «0»}]\n"},
		{name: "fewer than no failures", code: workflow.InvalidValue, doc: ab + "plan: [a, {map: [], as: i, do: b, tolerate: «-1»}]\n"},
		{name: "a cleanup of nothing", code: workflow.MissingField, doc: ab + "plan: [a, «{finally: b}»]\n"},
		{name: "a cleanup of a retry in one", code: workflow.ConflictingFields, doc: ab + "plan: «{retry: a, attempts: 2, do: a, finally: b}»\n"},
		{name: "tolerance of a finally", code: workflow.FieldNotAllowed, doc: ab + "plan: {do: a, finally: b, «tolerate»: 1}\n"},
		{name: "a finally that is misspelt", code: workflow.MissingField, doc: ab + "plan: «{do: a, finaly: b}»\n"},
		{name: "a repeat without end", code: workflow.InvalidValue, doc: ab + "plan: [a, {repeat: b, until: true, max: «1001»}]\n"},
		{name: "a map of nothing at once", code: workflow.InvalidValue, doc: ab + "plan: [a, {map: [], as: i, do: b, concurrency: «0»}]\n"},
		{name: "a tool of no name", code: workflow.InvalidValue, doc: head + "steps: [{id: a, type: tool, tool: «''»}]\n"},
		{name: "no nesting", code: workflow.InvalidBudget, doc: head + "budgets: {max_nesting_depth: «0»}\n" + one},
		{name: "more agents than steps", code: workflow.InvalidBudget, doc: head + "budgets: {max_agents: «3», max_steps: 2}\n" + one},
		{name: "negative tokens", code: workflow.InvalidBudget, doc: head + "budgets: {max_tokens: «-1»}\n" + one},
		{name: "an invalid schema", code: workflow.InvalidSchema, doc: head + "input_schema: {type: «objekt»}\n" + one},
		{name: "a schema from outside", code: workflow.InvalidSchema, doc: head + "output_schema: {$ref: «\"https://example.com/s.json\"»}\n" + one},
		{name: "a password", code: workflow.SecretMaterial, doc: head + "steps: [{id: a, type: tool, tool: t, args: {db_password: «hunter2»}}]\n"},
		{name: "a GitHub token", code: workflow.SecretMaterial, doc: head + "steps: [{id: a, type: tool, tool: t, args: [«ghp_" + strings.Repeat("a1", 20) + "»]}]\n"},
		{name: "a secret as a default", code: workflow.SecretMaterial, doc: head + "steps: [{id: a, type: tool, tool: t, args: {token: {from: args, pointer: /t, default: «abc»}}}]\n"},
		{name: "a secret as a text", code: workflow.SecretMaterial, doc: head + "steps: [{id: a, type: tool, tool: t, args: {api-key: {text: [«abc»]}}}]\n"},
		{name: "a private key in a block", code: workflow.SecretMaterial, doc: head + "output: «|\n  -----BEGIN RSA PRIVATE KEY-----\n  MIIEpAIBAAKCAQEA\n" + one},
	}
}

func planMistakes() []mistake {
	return []mistake{
		{name: "a step that does not exist", code: workflow.UnknownStep, doc: ab + "plan: [a, b, «zzz»]\n"},
		{name: "a misspelt step", code: workflow.UnknownStep, doc: head + "steps: [{id: build, type: tool, tool: t}]\nplan: «biuld»\n"},
		{name: "a step used twice", code: workflow.StepReused, doc: ab + "plan: [a, b, «a»]\n"},
		{name: "a step never used", code: workflow.StepUnused, doc: head + "steps:\n- {id: a, type: tool, tool: t}\n- {id: «b», type: tool, tool: t}\nplan: a\n"},
		{name: "an empty sequence", code: workflow.EmptyNode, doc: ab + "plan: «[]»\n"},
		{name: "an empty parallel", code: workflow.EmptyNode, doc: ab + "plan: [a, b, {parallel: «[]»}]\n"},
		{name: "a map over a word", code: workflow.MapSourceNotArray, doc: planned("1}}\nplan: [a, b, {map: «{from: args, pointer: /word}», as: i, do: c}]\n")},
		{name: "a map over what may be null", code: workflow.MapSourceNotArray,
			doc: planned("1}}\nplan: [a, {if: {from: args, pointer: /flag}, then: {map: {from: args, pointer: /list}, as: i, do: b}, id: x}, {map: «{from: step, step: x}», as: i, do: c}]\n")},
		{name: "a word as condition", code: workflow.ConditionNotBoolean, doc: planned("1}}\nplan: [a, b, {if: «{from: args, pointer: /word}», then: c}]\n")},
		{name: "a condition that may be an error", code: workflow.ConditionNotBoolean,
			doc: head + "steps:\n- {id: a, type: tool, tool: t, output_schema: {type: boolean}, failure: continue_with_error}\n- {id: b, type: tool, tool: t}\nplan: [a, {if: «{from: step, step: a}», then: b}]\n"},
		{name: "a repeat until a number", code: workflow.ConditionNotBoolean, doc: ab + "plan: [a, {repeat: b, until: «{cel: \"1 + 1\"}», max: 2}]\n"},
		{name: "a condition without schema", code: workflow.ChoiceSchemaRequired, doc: ab + "plan: [a, {if: «{from: step, step: a, pointer: /ok}», then: b}]\n"},
		{name: "a repeat's condition without schema", code: workflow.ChoiceSchemaRequired, doc: ab + "plan: [a, {repeat: b, until: «{from: step, step: b}», max: 3}]\n"},
	}
}

func referenceMistakes() []mistake {
	plan := func(ref, plan string) string { return planned(ref + "}}\nplan: " + plan + "\n") }
	return []mistake{
		{name: "an unknown member", code: workflow.MalformedReference, doc: plan("{from: step, step: a, «path»: /ok}", "[a, b, c]")},
		{name: "a malformed pointer", code: workflow.MalformedReference, doc: plan("{from: args, pointer: «ok»}", "[a, b, c]")},
		{name: "a handle with more", code: workflow.MalformedHandle, doc: plan("«{$secret: x, y: 1}»", "[a, b, c]")},
		{name: "what a cleanup is for, without a default", code: workflow.MaybeMissing, doc: plan("{from: step, step: «a»}", "[b, {do: a, finally: c}]")},
		{name: "an item of what a cleanup is for", code: workflow.ScopeReference, doc: plan("{from: step, step: «a», default: 1}", "[b, {do: {map: [1], as: i, do: a}, finally: c}]")},
		{name: "a cleanup that may not have run", code: workflow.MaybeMissing, doc: plan("{from: step, step: «b»}", "[{do: a, on_failure: b}, c]")},
		{name: "a cleanup from its node", code: workflow.ForwardReference, doc: plan("{from: step, step: «b»}", "[a, {do: c, finally: b}]")},
		{name: "the outcome outside of a cleanup", code: workflow.ScopeReference, doc: plan("«{from: outcome}»", "[a, {do: c, finally: b}]")},
		{name: "the outcome in an expression outside of a cleanup", code: workflow.ScopeReference, doc: plan("{cel: size(«outcome».status)}", "[a, b, c]")},
		{name: "an outcome that there is not", code: workflow.PointerExcluded, doc: plan("{from: outcome, pointer: «/state»}", "[a, {do: b, finally: c}]")},
		{name: "an outcome that there is not, in an expression", code: workflow.ExpressionInvalid, doc: plan("{cel: «outcome.state» == 'failed'}", "[a, {do: b, finally: c}]")},
		{name: "a later step", code: workflow.ForwardReference, doc: plan("{from: step, step: «b»}", "[a, c, b]")},
		{name: "a later step in an expression", code: workflow.ForwardReference, doc: plan("{cel: steps.a.ok && «steps.b».x}", "[a, c, b]")},
		{name: "a condition on what it decides", code: workflow.ForwardReference, doc: plan("1", "[b, c, {if: {from: step, step: «a», pointer: /ok}, then: a}]")},
		{name: "a sibling", code: workflow.SiblingReference, doc: plan("{from: step, step: «b»}", "[a, {parallel: [b, c]}]")},
		{name: "a sibling deeper down", code: workflow.SiblingReference, doc: plan("{from: step, step: «b»}", "{parallel: [[a, b], {retry: c, attempts: 2}]}")},
		{name: "the other branch", code: workflow.BranchReference, doc: plan("{from: step, step: «b»}", "[a, {if: {from: args, pointer: /flag}, then: b, else: c}]")},
		{name: "oneself", code: workflow.CycleReference, doc: plan("{from: step, step: «c»}", "[a, b, c]")},
		{name: "what one is part of", code: workflow.CycleReference, doc: plan("{from: step, step: «p»}", "[a, {parallel: [b, c], id: p}]")},
		{name: "into a map from outside", code: workflow.ScopeReference, doc: plan("{from: step, step: «b»}", "[a, {map: [1], as: i, do: b}, c]")},
		{name: "into a repeat from outside", code: workflow.ScopeReference, doc: plan("{from: step, step: «b»}", "[a, {repeat: b, until: true, max: 2}, c]")},
		{name: "from a repeat's until into a map", code: workflow.ScopeReference, doc: plan("1", "[b, c, {repeat: {map: [1], as: i, do: a}, until: {from: step, step: «a», pointer: /ok}, max: 2}]")},
		{name: "previous outside a repeat", code: workflow.ScopeReference, doc: plan("{from: previous, step: «a»}", "[a, b, c]")},
		{name: "previous of what is outside the repeat", code: workflow.ScopeReference, doc: plan("{from: previous, step: «a»}", "[a, b, {repeat: c, until: true, max: 2}]")},
		{name: "one branch", code: workflow.MaybeMissing, doc: plan("{from: step, step: «b»}", "[a, {if: {from: args, pointer: /flag}, then: b}, c]")},
		{name: "what a failure skips", code: workflow.MaybeMissing,
			doc: head + "steps:\n- {id: a, type: tool, tool: t, failure: skip_dependents}\n- {id: b, type: tool, tool: t}\noutput: {from: step, step: «b»}\n"},
		{name: "what a failure in a branch skips", code: workflow.MaybeMissing,
			doc: head + "steps:\n- {id: a, type: tool, tool: t, failure: skip_dependents}\n- {id: b, type: tool, tool: t}\nplan: [{if: true, then: {retry: a, attempts: 2}}, b]\noutput: {from: step, step: «b»}\n"},
		{name: "a step that does not exist", code: workflow.UnknownStep, doc: plan("{from: step, step: «zzz»}", "[a, b, c]")},
		{name: "a node that does not exist, in an expression", code: workflow.UnknownStep, doc: plan("{cel: \"1 + «steps.zzz».n\"}", "[a, b, c]")},
		{name: "an item outside", code: workflow.UnknownItem, doc: plan("{from: item, name: «i»}", "[a, {map: [1], as: i, do: b}, c]")},
		{name: "another map's item", code: workflow.UnknownItem, doc: plan("{from: item, name: «fille»}", "[a, b, {map: [1], as: file, do: c}]")},
		{name: "a map's own item in its source", code: workflow.UnknownItem, doc: plan("1", "[a, b, {map: {from: item, name: «i»}, as: i, do: c}]")},
		{name: "a property that there is not", code: workflow.PointerExcluded, doc: plan("{from: step, step: a, pointer: «/okay»}", "[a, b, c]")},
		{name: "a property of a boolean", code: workflow.PointerExcluded, doc: plan("{from: step, step: a, pointer: «/ok/x»}", "[a, b, c]")},
		{name: "a property of an item", code: workflow.PointerExcluded,
			doc: plan("{from: item, name: i, pointer: «/x»}", "[a, b, {map: {from: step, step: a, pointer: /list}, as: i, do: c}]")},
		{name: "an element beyond a parallel", code: workflow.PointerExcluded, doc: plan("{from: step, step: p, pointer: «/2»}", "[{parallel: [a, b], id: p}, c]")},
		{name: "an attempt where there is none", code: workflow.PointerExcluded, doc: head + "steps: [{id: a, type: tool, tool: t}]\noutput: {from: run, pointer: «/attempt»}\n"},
		{name: "an expression of the wrong types", code: workflow.ExpressionInvalid, doc: plan("{cel: args.word «+» 1}", "[a, b, c]")},
		{name: "a secret in a prompt", code: workflow.SecretMisplaced, doc: head + "steps: [{id: a, type: agent, agent: x, prompt: {text: [hi, «{$secret: s}»]}}]\n"},
		{name: "a secret as output", code: workflow.SecretMisplaced, doc: head + "steps: [{id: a, type: tool, tool: t}]\noutput: {x: «{$secret: s}»}\n"},
	}
}

func callMistakes() []mistake {
	return []mistake{
		{name: "an unknown workflow", code: workflow.UnknownWorkflow, doc: head + "steps: [{id: s, type: workflow, workflow_id: «nestde», revision: 1, args: {n: 1}}]\n", catalog: []string{taking}},
		{name: "an unknown revision", code: workflow.RevisionMismatch, doc: head + "steps: [{id: s, type: workflow, workflow_id: nested, revision: «2», args: {n: 1}}]\n", catalog: []string{taking}},
		{name: "two definitions of one name", code: workflow.DefinitionConflict,
			doc:     head + "steps: [{id: s, type: workflow, workflow_id: «nested», revision: 1, args: {n: 1}}]\n",
			catalog: []string{taking, strings.Replace(taking, "tool: t", "tool: u", 1)}},
		{name: "a workflow that nests itself", code: workflow.NestingCycle, doc: head + "steps: [{id: s, type: workflow, workflow_id: «w», revision: 1}]\n"},
		{name: "an argument left out", code: workflow.NestedArgsMissing, doc: nesting("  args: «{}»\n"), catalog: []string{taking}},
		{name: "all arguments left out", code: workflow.NestedArgsMissing, doc: strings.Replace(nesting(""), "id: s", "«id: s", 1), catalog: []string{taking}},
		{name: "arguments without what is required", code: workflow.NestedArgsMissing,
			doc:     "input_schema: {type: object, additionalProperties: false}\n" + nesting("  args: «{from: args}»\n"),
			catalog: []string{taking}},
		{name: "an argument of the wrong type", code: workflow.NestedArgsType, doc: nesting("  args: {n: «{text: [x]}»}\n"), catalog: []string{taking}},
		{name: "a literal of the wrong type", code: workflow.NestedArgsType, doc: nesting("  args: {n: «one»}\n"), catalog: []string{taking}},
		{name: "a list for arguments", code: workflow.NestedArgsType, doc: nesting("  args: «[]»\n"), catalog: []string{taking}},
		{name: "a literal out of range", code: workflow.NestedArgsInvalid, doc: nesting("  args: {n: «0»}\n"), catalog: []string{taking}},
		{name: "a literal out of range, quoted as one", code: workflow.NestedArgsInvalid, doc: nesting("  args: {n: «{from: literal, value: 0}»}\n"), catalog: []string{taking}},
		{name: "an argument that is not taken", code: workflow.NestedArgsInvalid, doc: nesting("  args: {n: 1, m: «2»}\n"), catalog: []string{taking}},
		{name: "plain text where a secret goes", code: workflow.SecretMaterial, doc: nesting("  args: {n: 1, key: «hello»}\n"), catalog: []string{taking}},
		{name: "a tool's argument left out", code: workflow.ToolArgsMissing, doc: head + "steps: [«{id: a, type: tool, tool: known}»]\n"},
		{name: "a tool's argument of the wrong type", code: workflow.ToolArgsType, doc: head + "steps: [{id: a, type: tool, tool: known, args: {n: «x»}}]\n"},
		{name: "an argument that a tool does not take", code: workflow.ToolArgsInvalid, doc: head + "steps: [{id: a, type: tool, tool: known, args: {n: 1, m: «2»}}]\n"},
	}
}

func TestEveryMistakeIsReportedOnceWhereItStands(t *testing.T) {
	t.Parallel()
	for _, m := range mistakes() {
		t.Run(string(m.code)+"/"+m.name, func(t *testing.T) {
			t.Parallel()
			doc, want := unmark(t, m)
			got := compileErrors(t, m, doc)
			if diff := cmp.Diff([]place{want}, places(got)); diff != "" {
				t.Errorf("in\n%s\n(-want +got):\n%s\n%s", excerpt(doc), diff, got.String())
			}
		})
	}
}

func TestEveryCodeIsDocumentedAndCovered(t *testing.T) {
	t.Parallel()
	covered := map[workflow.Code]bool{
		// These have tests of their own.
		workflow.CeilingExceeded: true, workflow.BudgetWidened: true, workflow.InvalidBundle: true,
		workflow.TooManyDefinitions: true, workflow.BundleTooLarge: true, workflow.NestedBudget: true,
	}
	for _, m := range mistakes() {
		covered[m.code] = true
	}
	seen := map[workflow.Code]bool{}
	for _, info := range workflow.Codes() {
		if info.Doc == "" || seen[info.Code] {
			t.Errorf("%s is documented twice or not at all", info.Code)
		}
		seen[info.Code] = true
		if !covered[info.Code] {
			t.Errorf("no mistake shows %s", info.Code)
		}
	}
	for code := range covered {
		if !seen[code] {
			t.Errorf("%s is not in the table of codes", code)
		}
	}
}

type place struct {
	Code           workflow.Code
	Line, Col, End int
}

func places(errs workflow.Errors) []place {
	var list []place
	for _, e := range errs {
		list = append(list, place{e.Code, e.Line, e.Col, e.EndCol})
	}
	return list
}

// unmark takes the marks out of a document and tells where they were.
func unmark(t *testing.T, m mistake) (string, place) {
	t.Helper()
	want := place{Code: m.code}
	before, rest, marked := strings.Cut(m.doc, "«")
	if !marked {
		return m.doc, want
	}
	column := func(s string) int { return len([]rune(s[strings.LastIndex(s, "\n")+1:])) + 1 }
	want.Line, want.Col = 1+strings.Count(before, "\n"), column(before)
	inside, after, ends := strings.Cut(rest, "»")
	if !ends {
		return before + rest, want
	}
	if strings.Contains(inside, "\n") {
		t.Fatalf("a marked place must end on its line: %q", inside)
	}
	want.End = want.Col + len([]rune(inside))
	return before + inside + after, want
}

func compileErrors(t *testing.T, m mistake, doc string) workflow.Errors {
	t.Helper()
	name := "w.yaml"
	if m.json {
		name = "w.json"
	}
	var others []*workflow.Source
	for _, other := range m.catalog {
		others = append(others, load(t, other))
	}
	src, err := workflow.Load(name, []byte(doc))
	if src != nil {
		_, err = workflow.Compile(src, workflow.NewSnapshot(others...), tools)
	}
	var errs workflow.Errors
	if err != nil && !errors.As(err, &errs) {
		t.Fatalf("an error of another kind: %v", err)
	}
	return errs
}

func load(t *testing.T, doc string) *workflow.Source {
	t.Helper()
	src, err := workflow.Load("test.yaml", []byte(doc))
	if err != nil {
		t.Fatalf("load:\n%s\n%v", doc, err)
	}
	return src
}

func excerpt(doc string) string { return doc[:min(len(doc), 2000)] }
