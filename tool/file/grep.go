package file

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/internal/workspace"
)

const (
	defaultGrepLimit = 200
	// maxGrepFile is how large a file may be to be searched, in bytes.
	maxGrepFile = 16 << 20
	// maxGrepLine is how much of a line is returned, in bytes.
	maxGrepLine = 1000
	// maxGrepText is how much text is returned in all, in bytes, context included.
	maxGrepText = 8 << 20
)

type grepArgs struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	IgnoreCase bool   `json:"ignore_case"`
	Context    int    `json:"context"`
	Limit      int    `json:"limit"`
}

const grepInput = `{
	"type": "object",
	"properties": {
		"pattern": {"type": "string", "minLength": 1, "description": "a regular expression (RE2), matched against each line"},
		"path": {"type": "string", "description": "the folder or file to search; the workspace if absent"},
		"glob": {"type": "string", "minLength": 1, "description": "search only files whose path below path matches, such as **/*.go"},
		"ignore_case": {"type": "boolean", "default": false},
		"context": {"type": "integer", "minimum": 0, "maximum": 20, "default": 0, "description": "lines to return before and after each match"},
		"limit": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 200}
	},
	"required": ["pattern"],
	"additionalProperties": false
}`

const grepOutput = `{
	"type": "object",
	"properties": {
		"matches": {
			"type": "array",
			"items": {
				"type": "object",
				"properties": {
					"path": {"type": "string", "description": "relative to the workspace"},
					"line": {"type": "integer", "minimum": 1},
					"text": {"type": "string"},
					"before": {"type": "array", "items": {"type": "string"}},
					"after": {"type": "array", "items": {"type": "string"}}
				},
				"required": ["path", "line", "text"],
				"additionalProperties": false
			}
		},
		"skipped": {"type": "integer", "description": "files that are binary, larger than 16 MiB or not readable"},
		"truncated": {"type": "boolean", "description": "there are more than limit, or than 8 MiB of text"}
	},
	"required": ["matches", "skipped", "truncated"],
	"additionalProperties": false
}`

type grepMatch struct {
	Path   string   `json:"path"`
	Line   int      `json:"line"`
	Text   string   `json:"text"`
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
}

type grepResult struct {
	Matches   []grepMatch `json:"matches"`
	Skipped   int         `json:"skipped"`
	Truncated bool        `json:"truncated"`
}

// NewGrep returns the tool "grep": the lines of text files that match a regular
// expression (the syntax of Go's regexp, RE2), in the order of their paths, at
// most `limit` (200 by default). It leaves out .git and, counting them as
// skipped, binary files (a NUL in the first 8 KiB), files over 16 MiB and what
// cannot be read. Of a line at most 1000 bytes are returned.
func NewGrep() tool.Tool {
	return tool.MustFunc("grep", "Finds lines of text files by a regular expression.", tool.Read, grep,
		tool.WithInput(json.RawMessage(grepInput)), tool.WithOutput(json.RawMessage(grepOutput)))
}

func grep(ctx context.Context, c tool.Call, in grepArgs) (grepResult, error) {
	s, err := newSearch(in)
	if err != nil {
		return grepResult{}, err
	}
	c, in.Path = workspace.For(c, in.Path)
	root, err := workspace.Open(c)
	if err != nil {
		return grepResult{}, err
	}
	defer root.Close()
	rel, err := workspace.Rel(c, in.Path)
	if err != nil {
		return grepResult{}, err
	}
	s.root, s.base = root, filepath.ToSlash(rel)
	err = walk(ctx, root, s.base, s.visit)
	switch {
	case ctx.Err() != nil:
		return grepResult{}, context.Cause(ctx)
	case err != nil && !errors.Is(err, errEnough):
		return grepResult{}, workspace.Failure(c, "search", in.Path, err)
	}
	return s.out, nil
}

// search is one call of grep.
type search struct {
	root    *os.Root
	base    string
	expr    *regexp.Regexp
	glob    *pattern
	context int
	limit   int
	size    int // bytes of text in out
	out     grepResult
}

func newSearch(in grepArgs) (*search, error) {
	expr := in.Pattern
	if in.IgnoreCase {
		expr = "(?i:" + expr + ")"
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, tool.Failed("invalid_input", false, "compile pattern: "+err.Error())
	}
	s := &search{
		expr: re, context: in.Context, limit: limitOr(in.Limit, defaultGrepLimit),
		out: grepResult{Matches: []grepMatch{}},
	}
	if in.Glob == "" {
		return s, nil
	}
	p, err := parsePattern(in.Glob)
	if err != nil {
		return nil, err
	}
	s.glob = &p
	return s, nil
}

func (s *search) visit(name string, d fs.DirEntry) error {
	inner := below(s.base, name)
	if d.IsDir() {
		if s.glob != nil && name != s.base && s.glob.tooDeep(inner) {
			return fs.SkipDir
		}
		return nil
	}
	if !d.Type().IsRegular() || s.glob != nil && name != s.base && !s.glob.matches(inner) {
		return nil
	}
	text, ok := s.read(name)
	if !ok {
		s.out.Skipped++
		return nil
	}
	return s.lines(name, text)
}
