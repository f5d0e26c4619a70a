package workflow

// templateSchema is any JSON in which references may stand. An object is a
// reference only if it says so; all others are data.
func templateSchema() js {
	here := js{"$ref": "#/$defs/template"}
	return js{
		"description": "Any JSON, in which references may stand at any depth.",
		"if":          js{"$ref": "#/$defs/reference/$defs/means"},
		"then":        js{"$ref": "#/$defs/reference"},
		"else": js{
			"items": here, "additionalProperties": here,
			"properties": js{
				"from":    js{"description": "Makes a reference: args, step, previous, item, outcome, run or literal."},
				"text":    js{"description": "A list of texts and references, joined to one text."},
				"cel":     js{"description": "A CEL expression over args, steps, item, outcome and run."},
				"$secret": js{"description": "The name of a secret."},
			},
		},
	}
}

// referenceSchema is an object that means to be a reference.
func referenceSchema() js {
	pointer := js{"type": "string", "pattern": `^(/([^~/]|~[01])*)*$`, "description": "Where in it: a JSON Pointer (RFC 6901), such as /files/0; the whole if absent."}
	fallback := js{"description": "What is taken if there is no such value."}
	step := ref("name", "The id of a step, or of a node.")
	from := func(kind, description string, fields []fieldRule, schemas map[string]js) alternative {
		schemas["from"] = js{"const": kind}
		return alternative{has("from", kind), objectOf(description, append(required("from"), fields...), schemas)}
	}
	kinds := []alternative{
		from("args", "The arguments of the run.", optional("pointer", "default"), map[string]js{"pointer": pointer, "default": fallback}),
		from("step", "The output of an earlier step or node.", append(required("step"), optional("pointer", "default")...),
			map[string]js{"step": step, "pointer": pointer, "default": fallback}),
		from("previous", "The output in the round before, inside a repeat.", append(required("step"), optional("pointer", "default")...),
			map[string]js{"step": step, "pointer": pointer, "default": fallback}),
		from("item", "The item of the map around it.", append(required("name"), optional("pointer", "default")...),
			map[string]js{"name": ref("name", "What the map calls its item."), "pointer": pointer, "default": fallback}),
		from("outcome", "In a cleanup: how the node ended.", optional("pointer", "default"), map[string]js{"pointer": pointer, "default": fallback}),
		from("run", "A fact about the run.", optional("pointer"), map[string]js{"pointer": enumOf("Which fact.",
			"", "/run_id", "/root_run_id", "/created_at", "/step_id", "/attempt", "/idempotency_key")}),
		from("literal", "The value itself, even if it looks like a reference.", required("value"), map[string]js{"value": {"description": "Any JSON."}}),
		{has("$secret", nil), objectOf("A secret, which only its name stands for.", required("$secret"), map[string]js{"$secret": ref("name", "The name of the secret.")})},
		{onlyField("text", "array"), js{"properties": js{"text": js{
			"type": "array", "description": "Texts and references, joined.",
			"items": js{"if": js{"type": "string"}, "else": js{"allOf": []js{{"$ref": "#/$defs/reference/$defs/means"}, {"$ref": "#/$defs/reference"}}}},
		}}}},
		{onlyField("cel", "string"), js{"properties": js{"cel": prose("A CEL expression over args, steps, item, outcome and run.")}}},
	}
	var means []js
	for _, k := range kinds {
		means = append(means, k.when)
	}
	return js{
		"type": "object", "description": "A reference.", "allOf": choose(kinds...),
		"$defs": js{"means": js{"anyOf": means}},
	}
}

// onlyField is an object with that field alone, of that type.
func onlyField(field, typ string) js {
	return js{"type": "object", "required": []string{field}, "maxProperties": 1, "properties": js{field: js{"type": typ}}}
}

// conditionSchema is a template that is true or false.
func conditionSchema() js {
	return js{"type": []string{"boolean", "object"}, "allOf": []js{{"$ref": "#/$defs/template"}}}
}

// schemaSchema helps with JSON Schemas in definitions. It does not say all that
// there is to say of them: the dialect's own schema would have to be loaded.
func schemaSchema() js {
	here := js{"$ref": "#/$defs/schema"}
	list, named := js{"type": "array", "items": here}, js{"type": "object", "additionalProperties": here}
	number, count := js{"type": "number"}, js{"type": "integer", "minimum": 0}
	types := js{"enum": []string{"object", "array", "string", "number", "integer", "boolean", "null"}}
	return js{
		"type": []string{"object", "boolean"}, "description": "A JSON Schema (2020-12).",
		"properties": js{
			"type":        js{"description": "Which types a value may have.", "anyOf": []js{types, {"type": "array", "items": types}}},
			"description": js{"type": "string"}, "title": js{"type": "string"}, "default": js{"description": "Documentation only."},
			"properties": named, "patternProperties": named, "additionalProperties": here, "propertyNames": here,
			"required": js{"type": "array", "items": js{"type": "string"}}, "minProperties": count, "maxProperties": count,
			"items": here, "prefixItems": list, "contains": here, "minItems": count, "maxItems": count, "uniqueItems": js{"type": "boolean"},
			"enum": js{"type": "array"}, "const": js{"description": "The only value."},
			"minimum": number, "maximum": number, "exclusiveMinimum": number, "exclusiveMaximum": number, "multipleOf": number,
			"minLength": count, "maxLength": count, "pattern": js{"type": "string", "description": "A regular expression (RE2)."},
			"format": js{"type": "string"}, "anyOf": list, "oneOf": list, "allOf": list, "not": here, "if": here, "then": here, "else": here,
			"$ref": js{"type": "string"}, "$defs": named,
			"x-path":   js{"type": "boolean", "description": "Of an argument: it is a path, which may lead out of the workspace for tools that only read."},
			"x-secret": js{"type": "boolean", "description": "Of an argument: only a secret's handle may stand here."},
		},
	}
}
