package file

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"slices"
	"time"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/internal/workspace"
)

const defaultListLimit = 1000

type listArgs struct {
	Path  string `json:"path"`
	Limit int    `json:"limit"`
}

const listInput = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "the folder, relative to the workspace; the workspace if absent"},
		"limit": {"type": "integer", "minimum": 1, "maximum": 100000, "default": 1000}
	},
	"additionalProperties": false
}`

const listOutput = `{
	"type": "object",
	"properties": {
		"entries": {
			"type": "array",
			"items": {
				"type": "object",
				"properties": {
					"name": {"type": "string"},
					"type": {"enum": ["file", "dir", "symlink", "other"]},
					"size": {"type": "integer", "description": "of a file, in bytes"},
					"modified": {"type": "string", "format": "date-time"}
				},
				"required": ["name", "type", "size", "modified"],
				"additionalProperties": false
			}
		},
		"truncated": {"type": "boolean", "description": "there are more than limit"}
	},
	"required": ["entries", "truncated"],
	"additionalProperties": false
}`

type listEntry struct {
	Name     string    `json:"name"`
	Type     string    `json:"type"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
}

type listResult struct {
	Entries   []listEntry `json:"entries"`
	Truncated bool        `json:"truncated"`
}

// NewListDir returns the tool "list_dir": the entries of one folder by name, at
// most `limit` (1000 by default). Symbolic links are listed, not followed.
func NewListDir() tool.Tool {
	return tool.MustFunc("list_dir", "Lists a folder.", tool.Read, listDir,
		tool.WithInput(json.RawMessage(listInput)), tool.WithOutput(json.RawMessage(listOutput)))
}

func listDir(ctx context.Context, c tool.Call, in listArgs) (listResult, error) {
	c, in.Path = workspace.For(c, in.Path)
	root, err := workspace.Open(c)
	if err != nil {
		return listResult{}, err
	}
	defer root.Close()
	rel, err := workspace.Rel(c, in.Path)
	if err != nil {
		return listResult{}, err
	}
	sub, err := root.OpenRoot(rel) // a folder, or an error
	if err != nil {
		return listResult{}, workspace.Failure(c, "list", in.Path, err)
	}
	defer sub.Close()
	entries, err := fs.ReadDir(sub.FS(), ".")
	if err != nil {
		return listResult{}, workspace.Failure(c, "list", in.Path, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	limit := limitOr(in.Limit, defaultListLimit)
	out := listResult{Entries: []listEntry{}, Truncated: len(entries) > limit}
	for _, e := range entries[:min(limit, len(entries))] {
		if ctx.Err() != nil {
			return listResult{}, context.Cause(ctx)
		}
		info, err := e.Info()
		if err != nil { // it has gone since
			continue
		}
		out.Entries = append(out.Entries, entryOf(e.Name(), info))
	}
	return out, nil
}

func entryOf(name string, info fs.FileInfo) listEntry {
	e := listEntry{Name: shown(name), Type: kindOf(info.Mode()), Modified: info.ModTime().UTC()}
	if info.Mode().IsRegular() {
		e.Size = info.Size()
	}
	return e
}
