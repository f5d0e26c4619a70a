package git

const inputSchema = `{
	"type": "object",
	"properties": {
		"op": {
			"enum": ["head", "branches", "tags", "log", "show", "diff", "count", "shortlog", "ls_tree", "ls_files", "status"],
			"description": "what to do"
		},
		"path": {"type": "string", "description": "a folder in the repository, relative to the workspace; the workspace if absent"},
		"rev": {"type": "string", "minLength": 1, "description": "log, show, count, shortlog, ls_tree: the revision (HEAD if absent); a range a..b for log, count, shortlog"},
		"from": {"type": "string", "minLength": 1, "description": "diff: the revision to compare with"},
		"to": {"type": "string", "minLength": 1, "description": "diff: the revision to compare; HEAD if absent"},
		"paths": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 1000, "description": "only these files and folders, relative to the repository's top, as paths in results are"},
		"limit": {"type": "integer", "minimum": 1, "maximum": 100000, "default": 1000},
		"skip": {"type": "integer", "minimum": 0, "default": 0, "description": "log: leave out that many commits first"},
		"sort": {"enum": ["path", "size"], "default": "path", "description": "ls_tree: size has the largest first"},
		"patch": {"type": "boolean", "default": false, "description": "show, diff: add the text of the differences"},
		"untracked": {"type": "boolean", "default": true, "description": "status: look for files that are not in the index too"}
	},
	"required": ["op"],
	"if": {"properties": {"op": {"const": "diff"}}},
	"then": {"required": ["from"]},
	"additionalProperties": false
}`

const outputSchema = `{
	"anyOf": [
		{
			"title": "head", "type": "object",
			"properties": {
				"branch": {"type": ["string", "null"], "description": "null when detached"},
				"commit": {"type": ["string", "null"]},
				"unborn": {"type": "boolean", "description": "there is no commit yet"}
			},
			"required": ["branch", "commit", "unborn"], "additionalProperties": false
		},
		{
			"title": "branches, tags", "type": "object",
			"properties": {
				"refs": {"type": "array", "items": {
					"type": "object",
					"properties": {"name": {"type": "string"}, "commit": {"type": "string"}, "time": {"type": "string"}, "subject": {"type": "string"}},
					"required": ["name", "commit", "time", "subject"], "additionalProperties": false
				}},
				"truncated": {"type": "boolean"}
			},
			"required": ["refs", "truncated"], "additionalProperties": false
		},
		{
			"title": "log", "type": "object",
			"properties": {"commits": {"type": "array", "items": {"$ref": "#/$defs/commit"}}, "truncated": {"type": "boolean"}},
			"required": ["commits", "truncated"], "additionalProperties": false
		},
		{
			"title": "show, diff", "type": "object",
			"properties": {
				"commit": {"$ref": "#/$defs/commit"},
				"files": {"type": "array", "items": {
					"type": "object",
					"properties": {
						"path": {"type": "string"},
						"status": {"enum": ["added", "deleted", "modified", "type_changed", "unmerged"]},
						"added": {"type": ["integer", "null"], "description": "lines; null for a binary file"},
						"deleted": {"type": ["integer", "null"]}
					},
					"required": ["path", "status", "added", "deleted"], "additionalProperties": false
				}},
				"truncated": {"type": "boolean"},
				"patch": {"type": "string"},
				"patch_truncated": {"type": "boolean"}
			},
			"required": ["files", "truncated"], "additionalProperties": false
		},
		{
			"title": "count", "type": "object",
			"properties": {"count": {"type": "integer"}},
			"required": ["count"], "additionalProperties": false
		},
		{
			"title": "shortlog", "type": "object",
			"properties": {
				"authors": {"type": "array", "items": {
					"type": "object",
					"properties": {"name": {"type": "string"}, "email": {"type": "string"}, "commits": {"type": "integer"}},
					"required": ["name", "email", "commits"], "additionalProperties": false
				}},
				"truncated": {"type": "boolean"}
			},
			"required": ["authors", "truncated"], "additionalProperties": false
		},
		{
			"title": "ls_tree", "type": "object",
			"properties": {
				"files": {"type": "array", "items": {
					"type": "object",
					"properties": {
						"path": {"type": "string"}, "mode": {"type": "string"}, "type": {"type": "string"},
						"hash": {"type": "string"}, "size": {"type": ["integer", "null"], "description": "bytes; null for a submodule or a missing object"}
					},
					"required": ["path", "mode", "type", "hash", "size"], "additionalProperties": false
				}},
				"truncated": {"type": "boolean"}
			},
			"required": ["files", "truncated"], "additionalProperties": false
		},
		{
			"title": "ls_files", "type": "object",
			"properties": {
				"files": {"type": "array", "items": {
					"type": "object",
					"properties": {"path": {"type": "string"}, "mode": {"type": "string"}, "hash": {"type": "string"}, "stage": {"type": "integer"}},
					"required": ["path", "mode", "hash", "stage"], "additionalProperties": false
				}},
				"truncated": {"type": "boolean"}
			},
			"required": ["files", "truncated"], "additionalProperties": false
		},
		{
			"title": "status", "type": "object",
			"properties": {
				"dirty": {"type": "boolean"},
				"changes": {"type": "array", "items": {
					"type": "object",
					"properties": {
						"path": {"type": "string"},
						"index": {"enum": ["", "added", "deleted", "modified", "type_changed", "unmerged"], "description": "index against HEAD"},
						"worktree": {"enum": ["", "added", "deleted", "modified", "type_changed", "unmerged"], "description": "file against index"}
					},
					"required": ["path", "index", "worktree"], "additionalProperties": false
				}},
				"untracked": {"type": "array", "items": {"type": "string"}},
				"truncated": {"type": "boolean"}
			},
			"required": ["dirty", "changes", "untracked", "truncated"], "additionalProperties": false
		}
	],
	"$defs": {
		"person": {
			"type": "object",
			"properties": {"name": {"type": "string"}, "email": {"type": "string"}, "time": {"type": "string"}},
			"required": ["name", "email", "time"], "additionalProperties": false
		},
		"commit": {
			"type": "object",
			"properties": {
				"hash": {"type": "string"}, "parents": {"type": "array", "items": {"type": "string"}},
				"author": {"$ref": "#/$defs/person"}, "committer": {"$ref": "#/$defs/person"},
				"subject": {"type": "string"}, "body": {"type": "string"}
			},
			"required": ["hash", "parents", "author", "committer", "subject", "body"], "additionalProperties": false
		}
	}
}`
