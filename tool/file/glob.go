package file

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/internal/workspace"
)

const defaultGlobLimit = 1000

type globArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Limit   int    `json:"limit"`
	Dirs    bool   `json:"dirs"`
}

const globInput = `{
	"type": "object",
	"properties": {
		"pattern": {"type": "string", "minLength": 1, "description": "such as **/*.go: ** is any folders, * and ? stay in one, {a,b} is a or b"},
		"path": {"type": "string", "description": "the folder that the pattern starts in; the workspace if absent"},
		"limit": {"type": "integer", "minimum": 1, "maximum": 100000, "default": 1000},
		"dirs": {"type": "boolean", "default": false, "description": "return folders too"}
	},
	"required": ["pattern"],
	"additionalProperties": false
}`

const globOutput = `{
	"type": "object",
	"properties": {
		"paths": {"type": "array", "items": {"type": "string"}, "description": "relative to the workspace, sorted"},
		"truncated": {"type": "boolean", "description": "there are more than limit"}
	},
	"required": ["paths", "truncated"],
	"additionalProperties": false
}`

type globResult struct {
	Paths     []string `json:"paths"`
	Truncated bool     `json:"truncated"`
}

// NewGlob returns the tool "glob": the files whose path matches a pattern,
// sorted, at most `limit` (1000 by default). Names that start with a dot match
// like others, but nothing in .git does. Symbolic links are returned, not
// followed.
func NewGlob() tool.Tool {
	return tool.MustFunc("glob", "Finds files by a pattern such as **/*.go.", tool.Read, glob,
		tool.WithInput(json.RawMessage(globInput)), tool.WithOutput(json.RawMessage(globOutput)))
}

func glob(ctx context.Context, c tool.Call, in globArgs) (globResult, error) {
	p, err := parsePattern(in.Pattern)
	if err != nil {
		return globResult{}, err
	}
	c, in.Path = workspace.For(c, in.Path)
	root, err := workspace.Open(c)
	if err != nil {
		return globResult{}, err
	}
	defer root.Close()
	rel, err := workspace.Rel(c, in.Path)
	if err != nil {
		return globResult{}, err
	}
	base, limit := filepath.ToSlash(rel), limitOr(in.Limit, defaultGlobLimit)
	out := globResult{Paths: []string{}}
	err = walk(ctx, root, base, func(name string, d fs.DirEntry) error {
		inner := below(base, name)
		if name != base && (in.Dirs || !d.IsDir()) && p.matches(inner) {
			if len(out.Paths) == limit {
				out.Truncated = true
				return errEnough
			}
			out.Paths = append(out.Paths, shown(name))
		}
		if d.IsDir() && name != base && p.tooDeep(inner) {
			return fs.SkipDir
		}
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return globResult{}, context.Cause(ctx)
	case err != nil && !errors.Is(err, errEnough):
		return globResult{}, workspace.Failure(c, "search", in.Path, err)
	}
	slices.Sort(out.Paths)
	return out, nil
}
