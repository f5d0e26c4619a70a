package file

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/internal/workspace"
)

const (
	defaultMaxRead = 1 << 20
)

type readArgs struct {
	Path      string `json:"path"`
	StartLine int    `json:"start_line"`
	Lines     int    `json:"lines"`
	Offset    int64  `json:"offset"`
	Length    int64  `json:"length"`
	MaxBytes  int    `json:"max_bytes"`
}

const readInput = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "minLength": 1, "description": "the file, relative to the workspace"},
		"start_line": {"type": "integer", "minimum": 1, "description": "the first line to return, from 1"},
		"lines": {"type": "integer", "minimum": 1, "description": "how many lines to return; all if absent"},
		"offset": {"type": "integer", "minimum": 0, "description": "the first byte to return, from 0"},
		"length": {"type": "integer", "minimum": 1, "description": "how many bytes to return; all if absent"},
		"max_bytes": {
			"type": "integer", "minimum": 1, "maximum": 16777216, "default": 1048576,
			"description": "more than that is a failure, not a part"
		}
	},
	"required": ["path"],
	"not": {"allOf": [
		{"anyOf": [{"required": ["start_line"]}, {"required": ["lines"]}]},
		{"anyOf": [{"required": ["offset"]}, {"required": ["length"]}]}
	]},
	"additionalProperties": false
}`

const readOutput = `{"oneOf": [
	{"type": "string"},
	{
		"type": "object", "description": "content that is not UTF-8",
		"properties": {"base64": {"type": "string"}},
		"required": ["base64"], "additionalProperties": false
	}
]}`

// NewReadFile returns the tool "read_file". The result is the file's text, which
// a step with an output schema reads as JSON if it is one JSON document, or
// {"base64": ...} if it is not UTF-8. A part is chosen by lines (start_line,
// lines) or by bytes (offset, length); a part behind the end is empty. More than
// max_bytes (1 MiB by default, at most 16 MiB) fails with "too_large": nothing is
// cut silently.
func NewReadFile() tool.Tool {
	return tool.MustFunc("read_file", "Reads a text or binary file, or a part of it.", tool.Read, readFile,
		tool.WithInput(json.RawMessage(readInput)), tool.WithOutput(json.RawMessage(readOutput)))
}

func readFile(_ context.Context, c tool.Call, in readArgs) (tool.Result, error) {
	c, in.Path = workspace.For(c, in.Path)
	root, err := workspace.Open(c)
	if err != nil {
		return tool.Result{}, err
	}
	defer root.Close()
	rel, err := workspace.Rel(c, in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	f, _, err := openRegular(c, root, rel, in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	defer f.Close()
	b, err := in.part(f)
	if errors.Is(err, errTooLarge) {
		return tool.Result{}, tool.Failed("too_large", false, fmt.Sprintf(
			"%q has more than %d bytes to return: ask for a part (start_line and lines, or offset and length) or raise max_bytes", in.Path, in.limit()))
	}
	if err != nil {
		return tool.Result{}, workspace.Failure(c, "read", in.Path, err)
	}
	if utf8.Valid(b) {
		return tool.Text(string(b)), nil
	}
	return tool.JSON(workspace.Bytes(b))
}

// errTooLarge ends a reading that finds more than it may return.
var errTooLarge = errors.New("more bytes than the limit")

func (in readArgs) limit() int { return limitOr(in.MaxBytes, defaultMaxRead) }

// part reads what was asked for.
func (in readArgs) part(f io.ReadSeeker) ([]byte, error) {
	if in.StartLine > 0 || in.Lines > 0 {
		return readLines(bufio.NewReaderSize(f, 64<<10), max(in.StartLine, 1), in.Lines, in.limit())
	}
	if _, err := f.Seek(in.Offset, io.SeekStart); err != nil {
		return nil, err
	}
	var r io.Reader = f
	if in.Length > 0 {
		r = io.LimitReader(r, in.Length)
	}
	b, err := io.ReadAll(io.LimitReader(r, int64(in.limit())+1))
	if err == nil && len(b) > in.limit() {
		return nil, errTooLarge
	}
	return b, err
}

// readLines returns count lines (all if 0) from line start on, with their ends.
func readLines(r *bufio.Reader, start, count, limit int) ([]byte, error) {
	var out bytes.Buffer
	for line := 1; count == 0 || line < start+count; {
		piece, err := r.ReadSlice('\n')
		if line >= start {
			out.Write(piece)
		}
		if out.Len() > limit {
			return nil, errTooLarge
		}
		switch {
		case err == nil:
			line++
		case errors.Is(err, bufio.ErrBufferFull): // a long line comes in pieces
		case errors.Is(err, io.EOF):
			return out.Bytes(), nil
		default:
			return nil, err
		}
	}
	return out.Bytes(), nil
}
