package shell

const inputSchema = `{
	"type": "object",
	"properties": {
		"argv": {
			"type": "array", "items": {"type": "string"}, "minItems": 1,
			"description": "the program and its arguments; no shell reads them"
		},
		"shell": {"type": "string", "minLength": 1, "description": "a script for /bin/sh, instead of argv"},
		"cwd": {"type": "string", "description": "where it runs, relative to the workspace; the workspace if absent"},
		"env": {
			"type": "object", "additionalProperties": {"type": "string"},
			"description": "variables on top of the allowed ones; the place for secrets"
		},
		"stdin": {"type": "string", "description": "what it reads as standard input; nothing if absent"},
		"ok_exit_codes": {
			"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}, "minItems": 1,
			"description": "exit statuses that count as success; [0] if absent"
		},
		"retry_exit_codes": {
			"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}, "minItems": 1,
			"description": "exit statuses of failures that a retry may enter again, such as 75 for a temporary failure; none if absent"
		}
	},
	"oneOf": [{"required": ["argv"]}, {"required": ["shell"]}],
	"additionalProperties": false
}`

const outputSchema = `{
	"type": "object",
	"properties": {
		"exit_code": {"type": "integer"},
		"stdout": {"$ref": "#/$defs/output"},
		"stderr": {"$ref": "#/$defs/output"},
		"truncated": {
			"type": "array", "items": {"enum": ["stdout", "stderr"]},
			"description": "streams of which only head and tail were kept"
		}
	},
	"required": ["exit_code", "stdout", "stderr"],
	"additionalProperties": false,
	"$defs": {
		"output": {"oneOf": [
			{"type": "string"},
			{
				"type": "object",
				"description": "output that is not UTF-8; tail_base64 and omitted_bytes if it was truncated",
				"properties": {
					"base64": {"type": "string"},
					"tail_base64": {"type": "string"},
					"omitted_bytes": {"type": "integer"}
				},
				"required": ["base64"],
				"additionalProperties": false
			}
		]}
	}
}`
