package file

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/internal/workspace"
)

const (
	// maxEdit is how large a file may be to be edited, in bytes.
	maxEdit = 16 << 20
	// maxDiff is how much of a diff is returned, in bytes.
	maxDiff = 256 << 10
)

// edit is one replacement of a text by another.
type edit struct {
	Old   string `json:"old"`
	New   string `json:"new"`
	All   bool   `json:"all"`
	Count int    `json:"count"`
}

type editArgs struct {
	Path   string  `json:"path"`
	Old    *string `json:"old"`
	New    *string `json:"new"`
	All    bool    `json:"all"`
	Count  int     `json:"count"`
	Edits  []edit  `json:"edits"`
	DryRun bool    `json:"dry_run"`
}

const editInput = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "minLength": 1, "description": "the file, relative to the workspace; it must exist"},
		"old": {"$ref": "#/$defs/old"},
		"new": {"$ref": "#/$defs/new"},
		"all": {"$ref": "#/$defs/all"},
		"count": {"$ref": "#/$defs/count"},
		"edits": {
			"type": "array", "minItems": 1, "maxItems": 1000,
			"description": "several replacements instead of one, each in what the one before has left; all of them or none",
			"items": {
				"type": "object",
				"properties": {
					"old": {"$ref": "#/$defs/old"},
					"new": {"$ref": "#/$defs/new"},
					"all": {"$ref": "#/$defs/all"},
					"count": {"$ref": "#/$defs/count"}
				},
				"required": ["old", "new"],
				"not": {"required": ["all", "count"]},
				"additionalProperties": false
			}
		},
		"dry_run": {"type": "boolean", "default": false, "description": "change nothing, and return the diff"}
	},
	"required": ["path"],
	"oneOf": [
		{"required": ["edits"], "not": {"anyOf": [{"required": ["old"]}, {"required": ["new"]}, {"required": ["all"]}, {"required": ["count"]}]}},
		{"required": ["old", "new"], "not": {"anyOf": [{"required": ["edits"]}, {"required": ["all", "count"]}]}}
	],
	"additionalProperties": false,
	"$defs": {
		"old": {"type": "string", "minLength": 1, "description": "the text to replace, exactly as it stands in the file; it must stand there once, unless all or count says otherwise"},
		"new": {"type": "string", "description": "what takes its place"},
		"all": {"type": "boolean", "default": false, "description": "replace it wherever it stands, at least once"},
		"count": {"type": "integer", "minimum": 1, "description": "replace it wherever it stands, which must be so many times"}
	}
}`

const editOutput = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "relative to the workspace"},
		"replaced": {"type": "integer", "description": "how many places were changed"},
		"diff": {"type": "string", "description": "what changed, as a unified diff"},
		"truncated": {"type": "boolean", "description": "the diff goes on behind 256 KiB"}
	},
	"required": ["path", "replaced", "diff"],
	"additionalProperties": false
}`

type editResult struct {
	Path      string `json:"path"`
	Replaced  int    `json:"replaced"`
	Diff      string `json:"diff"`
	Truncated bool   `json:"truncated,omitempty"`
}

// NewEditFile returns the tool "edit_file", with capability write.
//
// It replaces exact pieces of text in a file: `old` by `new`, or several in turn
// with `edits`, all of them or none. Each must stand in the file exactly once;
// with `all` any number of times but zero, with `count` exactly so often. What
// does not fails with "no_match" or "several_matches", which name the lines and
// the place that comes closest, and the file is as it was. So it is when another
// process changes it meanwhile, as far as that can be seen ("conflict").
//
// Text is UTF-8; other files are refused. In a file whose lines all end in CRLF, a
// line feed in `old` and `new` stands for CRLF, so line ends are kept. The file is
// replaced as [NewWriteFile] does it, with its permissions. Files over 16 MiB fail
// with "too_large".
//
// The effect is write: an edit whose new text contains the old one would happen
// again. With `dry_run` nothing is changed, and the effect is read; the capability
// is asked for all the same.
func NewEditFile() tool.Tool {
	return tool.MustFunc("edit_file", "Replaces exact pieces of text in a file.", tool.Write, editFile,
		tool.WithCapability(tool.CapWrite),
		tool.WithEffectOf(editEffect),
		tool.WithInput(json.RawMessage(editInput)), tool.WithOutput(json.RawMessage(editOutput)))
}

func editEffect(args json.RawMessage) tool.Effect {
	var in editArgs
	if err := tool.DecodeArgs(args, &in); err != nil || !in.DryRun {
		return tool.Write
	}
	return tool.Read
}

func editFile(ctx context.Context, c tool.Call, in editArgs) (editResult, error) {
	edits, err := in.edits()
	if err != nil {
		return editResult{}, err
	}
	root, err := workspace.Open(c)
	if err != nil {
		return editResult{}, err
	}
	defer root.Close()
	rel, err := workspace.Rel(c, in.Path)
	if err != nil {
		return editResult{}, err
	}
	w := writer{call: c, root: root, rel: rel, path: in.Path}
	was, read, err := w.readText()
	if err != nil {
		return editResult{}, err
	}
	now, replaced, err := applyEdits(in.Path, was, edits)
	if err != nil {
		return editResult{}, err
	}
	out := editResult{Path: shown(rel), Replaced: replaced}
	out.Diff, out.Truncated = unifiedDiff(out.Path, was, now)
	if in.DryRun {
		return out, nil
	}
	if ctx.Err() != nil {
		return editResult{}, tool.Failed("cancelled", false, "cancelled before anything was written")
	}
	if err := w.unchanged(read); err != nil {
		return editResult{}, err
	}
	return out, w.replace([]byte(now))
}

// edits are the replacements in either of the two spellings.
func (in editArgs) edits() ([]edit, error) {
	edits := in.Edits
	if in.Old != nil && in.New != nil && edits == nil {
		edits = []edit{{Old: *in.Old, New: *in.New, All: in.All, Count: in.Count}}
	}
	if len(edits) == 0 {
		return nil, tool.Failed("invalid_input", false, "give either old and new, or edits")
	}
	for i, e := range edits {
		if e.Old == "" {
			return nil, tool.Failed("invalid_input", false, place(edits, i)+"old is empty; write_file makes files")
		}
		if e.Old == e.New {
			return nil, tool.Failed("invalid_input", false, place(edits, i)+"old and new are the same")
		}
	}
	return edits, nil
}

// place names one of several edits, for messages.
func place(edits []edit, i int) string {
	if len(edits) == 1 {
		return ""
	}
	return fmt.Sprintf("edits[%d]: ", i)
}

// readText reads the file that is to be replaced.
func (w *writer) readText() (string, fs.FileInfo, error) {
	if err := w.prepareExisting(); err != nil {
		return "", nil, err
	}
	f, info, err := openRegular(w.call, w.root, w.rel, w.path)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxEdit+1))
	switch {
	case err != nil:
		return "", nil, w.failure("read", err)
	case len(b) > maxEdit:
		return "", nil, tool.Failed("too_large", false, fmt.Sprintf("%q is larger than %d MiB, which is the most that is edited", w.path, maxEdit>>20))
	case !utf8.Valid(b) || strings.ContainsRune(string(b), 0):
		return "", nil, tool.Failed("invalid_input", false, fmt.Sprintf("%q is binary, or not UTF-8: only text is edited", w.path))
	}
	return string(b), info, nil
}

// prepareExisting is prepare for a file that must be there already.
func (w *writer) prepareExisting() error {
	if _, err := w.root.Lstat(w.rel); err != nil {
		return w.failure("edit", err)
	}
	return w.prepare()
}

// unchanged makes sure that the file is still the one that was read.
func (w *writer) unchanged(read fs.FileInfo) error {
	now, err := w.root.Lstat(w.rel)
	if err != nil {
		return w.failure("look at", err)
	}
	if os.SameFile(read, now) && read.Size() == now.Size() && read.ModTime().Equal(now.ModTime()) {
		return nil
	}
	return tool.Failed("conflict", true, fmt.Sprintf("%q was changed by somebody else meanwhile; nothing was written", w.path))
}

// unifiedDiff is what changed, cut at the end of a line if it is long.
func unifiedDiff(path, was, now string) (text string, truncated bool) {
	d := diff.Diff("a/"+path, []byte(was), "b/"+path, []byte(now))
	_, text, _ = strings.Cut(string(d), "\n") // the line that repeats the names
	if len(text) <= maxDiff {
		return text, false
	}
	return text[:strings.LastIndexByte(text[:maxDiff], '\n')+1], true
}
