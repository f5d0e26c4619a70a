package workflow

import (
	"encoding/json"
	"fmt"
)

// JSONSchema is the JSON Schema (2020-12) of a workflow file, in YAML or JSON: of
// shorthand and canonical plans, references and budgets, with a description of
// each field, for editors that complete and check. Every valid definition
// satisfies it. What needs more than one place to be seen, such as a reference to
// a later step, is found by [Compile] only.
//
// It keeps to keywords that draft 7 has too, beside $defs, since editors for YAML
// know no newer ones.
func JSONSchema() json.RawMessage {
	raw, err := json.MarshalIndent(definitionSchema(), "", "  ")
	if err != nil {
		return nil // it holds maps, texts and numbers only
	}
	return append(raw, '\n')
}

// js is a JSON Schema, or a part of one.
type js = map[string]any

func definitionSchema() js {
	s := objectOf("A workflow of Culm: its steps, and the plan that says which of them runs when.",
		definitionFields(), definitionFieldSchemas())
	s["required"] = []string{"workflow_schema", "id", "revision", "steps"}
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Culm workflow"
	s["$defs"] = js{
		"step": stepSchema(), "node": nodeSchema(), "nodes": nodesSchema(), "budgets": budgetsSchema(),
		"template": templateSchema(), "reference": referenceSchema(), "condition": conditionSchema(),
		"schema": schemaSchema(), "id": idSchema("A name: up to 128 characters, none of them @ [ ] # / : or a control character."),
		"name": js{"type": "string", "minLength": 1},
	}
	return s
}

// objectOf is the schema of an object with such fields and no others.
func objectOf(description string, fields []fieldRule, schemas map[string]js) js {
	properties, required := js{}, []string{}
	for _, f := range fields {
		properties[f.name] = schemas[f.name]
		if f.required {
			required = append(required, f.name)
		}
	}
	s := js{"type": "object", "description": description, "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// ref is a schema of $defs with a description of its own. In allOf, since draft 7
// ignores what stands beside $ref.
func ref(name, description string) js {
	return js{"description": description, "allOf": []js{{"$ref": "#/$defs/" + name}}}
}

func prose(description string) js { return js{"type": "string", "description": description} }

func integerFrom(low, high int64, description string) js {
	return js{"type": "integer", "minimum": low, "maximum": high, "description": description}
}

func enumOf(description string, values ...string) js {
	return js{"type": "string", "enum": values, "description": description}
}

func idSchema(description string) js {
	return js{"type": "string", "pattern": nodeID.String(), "description": description}
}

func definitionFieldSchemas() map[string]js {
	return map[string]js{
		"workflow_schema": {"const": Schema, "description": "The version of this format: 1."},
		"id":              {"type": "string", "pattern": definitionID.String(), "description": "Which workflow this is: up to 128 letters, digits, . _ and -."},
		"revision":        integerFrom(1, maxRevision, "From 1; a revision is never changed once it is published."),
		"description":     prose("What the workflow does."),
		"input_schema":    ref("schema", "JSON Schema of the arguments; any object if absent."),
		"output_schema":   ref("schema", "JSON Schema that the run's output must satisfy."),
		"steps":           {"type": "array", "minItems": 1, "items": js{"$ref": "#/$defs/step"}, "description": "What there is to do. The plan says what of it runs when."},
		"plan":            ref("node", "In which order the steps run, each exactly once; as they are written if absent."),
		"output":          ref("template", "What the run gives; the output of the plan if absent."),
		"budgets":         ref("budgets", "What the run may use at most."),
	}
}

func budgetsSchema() js {
	docs := map[string]string{
		"max_concurrency":   "Calls at a time, in the whole tree; 4 if absent.",
		"max_agents":        "Attempts of agents, at most max_steps; 8 if absent.",
		"max_steps":         "Attempts entered, of every type of step, in nested runs too; 256 if absent.",
		"max_retries":       "Rounds of retries; 8 if absent.",
		"max_nesting_depth": "Levels of nested workflows below the root; 4 if absent.",
		"wall_time_ms":      "Milliseconds from the start on, time offline included; 900000 if absent.",
		"cleanup_ms":        "Milliseconds for the cleanups of a run that is being cancelled or whose time is over; 60000 if absent.",
		"max_tokens":        "Tokens; 0 is none at all.",
		"max_cost_micros":   "Millionths of a US dollar; 0 is none at all.",
	}
	var fields []fieldRule
	schemas := map[string]js{}
	for _, f := range budgetFields() {
		fields = append(fields, fieldRule{f.name, false})
		schemas[f.name] = integerFrom(f.low, f.high, docs[f.name])
	}
	return objectOf("What a run may use at most. The operator's ceilings bound it.", fields, schemas)
}

// choose is one condition for each alternative, so that what an editor says is
// about the one that was meant.
type alternative struct {
	when js
	then js
}

func choose(alternatives ...alternative) []js {
	var all []js
	for _, a := range alternatives {
		all = append(all, js{"if": a.when, "then": a.then})
	}
	return all
}

// has is an object with a field of a value, or of any value if that is nil.
func has(field string, value any) js {
	s := js{"type": "object", "required": []string{field}}
	if value != nil {
		s["properties"] = js{field: js{"const": value}}
	}
	return s
}

func stepSchema() js {
	var alternatives []alternative
	for _, t := range stepTypes() {
		own := objectOf(stepTypeDoc(StepType(t)), stepFields(StepType(t)), stepFieldSchemas())
		if StepType(t) == SleepStep {
			own["oneOf"] = []js{{"required": []string{"duration_ms"}}, {"required": []string{"until"}}}
		}
		alternatives = append(alternatives, alternative{has("type", t), own})
	}
	return js{
		"type": "object", "required": []string{"id", "type"}, "description": "A step.",
		"properties": js{"id": stepFieldSchemas()["id"], "type": stepFieldSchemas()["type"]},
		"allOf":      choose(alternatives...),
	}
}

func stepTypeDoc(t StepType) string {
	return map[StepType]string{
		ToolStep: "Calls a tool.", AgentStep: "Lets an agent work.", WorkflowStep: "Runs another workflow, in a fixed revision.",
		ApprovalStep: "Waits until a person approves.", InputStep: "Waits for a value from a person.",
		SleepStep: "Waits for some time, or until a time.", EventStep: "Waits for a signal that is sent to the run.",
	}[t]
}

func stepFieldSchemas() map[string]js {
	return map[string]js{
		"id":                         ref("id", "What the step is called; references and the plan name it."),
		"type":                       enumOf("What kind of step it is.", stepTypes()...),
		"description":                prose("What the step is for."),
		"failure":                    enumOf("What a failure means: it is passed on (fail_fast, the default), the step counts as succeeded with the error as its output, or the rest of the sequence is skipped.", string(FailFast), string(ContinueWithError), string(SkipDependents)),
		"output_schema":              ref("schema", "JSON Schema of the step's output."),
		"timeout_ms":                 integerFrom(1, maxMillis, "Milliseconds: of one attempt; of an approval, input or event, of the wait."),
		"on_unknown":                 enumOf("What becomes of a call whose outcome nobody knows: it waits for a decision (suspend, the default), or, since repeating it is harmless, it is made again.", OnUnknownSuspend, OnUnknownRerun),
		"tool":                       ref("name", "The name of the tool."),
		"args":                       ref("template", "What the tool or workflow is given."),
		"capabilities":               {"type": "array", "items": js{"$ref": "#/$defs/name"}, "description": "What the step may do beside what its tool needs."},
		"agent":                      ref("name", "The name of the agent."),
		"prompt":                     ref("template", "What the agent, or a person, is asked."),
		"model":                      prose("The model, if not the agent's own."),
		"effort":                     prose("How much the model is to think."),
		"structured_output_attempts": integerFrom(1, 8, "How often an answer may be asked for until it satisfies the output_schema; 2 if absent."),
		"workflow_id":                ref("name", "The id of the workflow to run."),
		"revision":                   integerFrom(1, maxRevision, "The revision of the workflow to run: a fixed one."),
		"on_timeout":                 enumOf("What the end of the wait means; reject if absent.", OnTimeoutReject, OnTimeoutApprove),
		"duration_ms":                orTemplate(integerFrom(0, maxMillis, "Milliseconds, or a reference to a number of them.")),
		"until":                      orTemplate(js{"type": "string", "format": "date-time", "description": "A time as of RFC 3339, such as 2030-01-31T08:00:00Z, or a reference to one."}),
		"name":                       ref("name", "The name of the event."),
	}
}

// orTemplate is a value as the schema says, or a reference.
func orTemplate(s js) js {
	return js{
		"description": s["description"], "if": js{"type": "object"},
		"then": js{"$ref": "#/$defs/template"}, "else": s,
	}
}

func nodesSchema() js {
	return js{"type": "array", "minItems": 1, "items": js{"$ref": "#/$defs/node"}, "description": "Nodes, in order."}
}

// nodeSchema is a plan node in any form: the id of a step, a list, or an object of
// which one field tells the form.
func nodeSchema() js {
	var alternatives []alternative
	var keys []js
	var types []string
	shorthand := js{}
	for _, form := range nodeForms() {
		schemas := map[string]js{"id": ref("id", "A name by which references read the node's output."), "type": {"const": string(form.typ)}}
		rules := optional("id")
		when := has(form.key, nil)
		if form.key == "" {
			when = has("type", string(form.typ))
			rules = append(rules, required("type")...)
			types = append(types, string(form.typ))
		} else {
			when["not"] = otherForm(form)
			keys = append(keys, js{"required": []string{form.key}})
		}
		for _, f := range form.fields {
			schemas[f.name] = nodeFieldSchema(form.typ, f.canonical)
			rules = append(rules, fieldRule{f.name, f.required})
		}
		if form.key != "" {
			shorthand[form.key] = js{"description": nodeTypeDoc(form.typ)}
		}
		alternatives = append(alternatives, alternative{when, objectOf(nodeTypeDoc(form.typ), rules, schemas)})
	}
	shorthand["type"] = enumOf("What kind of node it is, in the canonical form.", types...)
	keys = append(keys, js{"required": []string{"type"}})
	all := append([]js{
		{"if": js{"type": "string"}, "then": js{"$ref": "#/$defs/id"}},
		{"if": js{"type": "array"}, "then": js{"$ref": "#/$defs/nodes"}},
		{"if": js{"type": "object"}, "then": js{"anyOf": keys, "properties": shorthand}},
	}, choose(alternatives...)...)
	return js{
		"type": []string{"string", "array", "object"}, "allOf": all,
		"description": "A plan node: the id of a step, a list of nodes that run one after the other, or an object.",
	}
}

// otherForm is an object that has the key of a form, and is of another one.
func otherForm(form nodeForm) js {
	canonical := js{"required": []string{"type"}}
	if form.typ != OnFailureNode {
		return canonical
	}
	return js{"anyOf": []js{canonical, {"required": []string{"finally"}}}}
}

func nodeTypeDoc(t NodeType) string {
	return map[NodeType]string{
		StepNode: "Runs a step.", SequenceNode: "Runs nodes one after the other; gives the last one's output.",
		ParallelNode: "Runs nodes all at once; gives an array of their outputs.",
		ChoiceNode:   "Runs one node or another, as a condition says.", MapNode: "Runs a node for each item of an array; gives an array.",
		RetryNode: "Enters again what did not succeed.", RepeatNode: "Runs a node again until a condition holds; gives the last round's output.",
		FinallyNode:   "Runs a cleanup after a node, however that ended; gives the node's output.",
		OnFailureNode: "Runs a cleanup after a node, unless that succeeded; gives the node's output.",
	}[t]
}

func nodeFieldSchema(t NodeType, canonical string) js {
	if s, ok := map[string]js{
		"step":         ref("id", "The id of the step."),
		"nodes":        ref("nodes", "The nodes."),
		"condition":    ref("condition", "What decides: a reference to a boolean, or an expression."),
		"then_branch":  ref("node", "What runs if the condition is true."),
		"else_branch":  ref("node", "What runs if it is false; nothing if absent."),
		"source":       ref("template", "The array to go over."),
		"item":         ref("id", "What the item is called: {from: item, name: ..} reads it."),
		"body":         ref("node", "What runs each time."),
		"concurrency":  integerFrom(1, maxInteger, "How many items at a time; as many as the budget allows if absent."),
		"tolerate":     integerFrom(0, maxInteger, "How many items may fail; none if absent."),
		"node":         ref("node", "What is run."),
		"cleanup":      ref("node", "What runs after the node has ended."),
		"on_failure":   ref("node", "What runs after the node has ended, unless it succeeded, and before the rest of the cleanup."),
		"max_attempts": integerFrom(1, maxRevision, "How many rounds at most, the first one counted."),
		"delay_ms":     integerFrom(0, maxMillis, "Milliseconds before the second round."),
		"backoff":      {"type": "number", "minimum": 1, "maximum": maxBackoff, "description": "By how much the delay grows each time."},
		"max_delay_ms": integerFrom(0, maxMillis, "Milliseconds that a delay lasts at most."),
		"until":        ref("condition", "What ends it: a reference to a boolean, or an expression."),
		"max":          integerFrom(1, 1000, "How many rounds at most."),
	}[canonical]; ok {
		return s
	}
	return js{"description": fmt.Sprintf("%s of a %s node", canonical, t)}
}
