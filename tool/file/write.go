package file

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/internal/workspace"
)

type writeArgs struct {
	Path       string  `json:"path"`
	Content    *string `json:"content"`
	Base64     *string `json:"base64"`
	Append     bool    `json:"append"`
	Executable *bool   `json:"executable"`
}

const writeInput = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "minLength": 1, "description": "the file, relative to the workspace; its folders are made"},
		"content": {"type": "string", "description": "the text to write"},
		"base64": {"type": "string", "contentEncoding": "base64", "description": "the bytes to write, instead of content"},
		"append": {"type": "boolean", "default": false, "description": "add to the end, which cannot be repeated safely, instead of replacing the file"},
		"executable": {"type": "boolean", "description": "make the file executable, or not; unchanged, and not for a new file, if absent"}
	},
	"required": ["path"],
	"oneOf": [{"required": ["content"]}, {"required": ["base64"]}],
	"additionalProperties": false
}`

const writeOutput = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "relative to the workspace"},
		"bytes": {"type": "integer", "description": "how many were written"}
	},
	"required": ["path", "bytes"],
	"additionalProperties": false
}`

type writeResult struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
}

// NewWriteFile returns the tool "write_file", with capability write.
//
// It replaces the file as a whole: at every moment, also after a crash, the path
// holds the old content or the new, and when the call returns the new one is on
// disk. Doing that again changes nothing, so the effect is idempotent. With
// `append` the content is added to the end, and the effect is write. Missing
// folders are made. A symbolic link is refused, not followed and not replaced.
// Permissions of a file that exists are kept.
func NewWriteFile() tool.Tool {
	return tool.MustFunc("write_file", "Writes a file: replaces it as a whole, or appends to it.", tool.Write, writeFile,
		tool.WithCapability(tool.CapWrite),
		tool.WithEffectOf(writeEffect),
		tool.WithInput(json.RawMessage(writeInput)), tool.WithOutput(json.RawMessage(writeOutput)))
}

func writeEffect(args json.RawMessage) tool.Effect {
	var in writeArgs
	if err := tool.DecodeArgs(args, &in); err != nil || in.Append {
		return tool.Write
	}
	return tool.Idempotent
}

func writeFile(ctx context.Context, c tool.Call, in writeArgs) (writeResult, error) {
	content, err := in.bytes()
	if err != nil {
		return writeResult{}, err
	}
	root, err := workspace.Open(c)
	if err != nil {
		return writeResult{}, err
	}
	defer root.Close()
	rel, err := workspace.Rel(c, in.Path)
	if err != nil {
		return writeResult{}, err
	}
	w := writer{call: c, root: root, rel: rel, path: in.Path, executable: in.Executable}
	if err := w.prepare(); err != nil {
		return writeResult{}, err
	}
	if ctx.Err() != nil {
		return writeResult{}, tool.Failed("cancelled", false, "cancelled before anything was written")
	}
	write := w.replace
	if in.Append {
		write = w.append
	}
	if err := write(content); err != nil {
		return writeResult{}, err
	}
	return writeResult{Path: shown(rel), Bytes: len(content)}, nil
}

func (in writeArgs) bytes() ([]byte, error) {
	switch {
	case in.Content != nil && in.Base64 != nil, in.Content == nil && in.Base64 == nil:
		return nil, tool.Failed("invalid_input", false, "give either content or base64")
	case in.Content != nil:
		return []byte(*in.Content), nil
	}
	b, err := base64.StdEncoding.DecodeString(*in.Base64)
	if err != nil {
		return nil, tool.Failed("invalid_input", false, "decode base64: "+err.Error())
	}
	return b, nil
}

// writer writes one file.
type writer struct {
	call       tool.Call
	root       *os.Root
	rel, path  string
	executable *bool
	perm       fs.FileMode
	exists     bool
}

// prepare looks at what is there and makes missing folders. Its failures are
// definite: the file was not touched.
func (w *writer) prepare() error {
	info, err := w.root.Lstat(w.rel)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return tool.Failed("invalid_input", false, fmt.Sprintf("%q is a symbolic link: write to what it names", w.path))
	case err == nil && !info.Mode().IsRegular():
		return notRegular(w.path, info.Mode())
	case err == nil:
		w.exists, w.perm = true, info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return w.failure("look at", err)
	default:
		w.perm = 0o644
	}
	if w.executable != nil {
		w.perm &^= 0o111
		if *w.executable {
			w.perm |= (w.perm & 0o444) >> 2 // whoever may read it may run it
		}
	}
	return w.makeFolders()
}

// makeFolders makes the file's folders durable from the first missing one on.
func (w *writer) makeFolders() error {
	var missing []string
	for dir := filepath.Dir(w.rel); dir != "."; dir = filepath.Dir(dir) {
		if _, err := w.root.Stat(dir); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return w.failure("make the folder of", err)
		}
		missing = append(missing, dir)
	}
	if len(missing) == 0 {
		return nil
	}
	if err := w.root.MkdirAll(missing[0], 0o755); err != nil {
		return w.failure("make the folder of", err)
	}
	for _, dir := range missing {
		if err := syncDir(w.root, filepath.Dir(dir)); err != nil {
			return w.failure("sync the folder of", err)
		}
	}
	return nil
}

// append adds to the end. Once a byte may have been written, an error no longer
// says what the file holds.
func (w *writer) append(content []byte) error {
	f, err := w.root.OpenFile(w.rel, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, w.perm)
	if err != nil {
		return w.failure("open", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return w.failure("open", err)
	}
	if !info.Mode().IsRegular() { // replaced since prepare
		return notRegular(w.path, info.Mode())
	}
	if w.executable != nil {
		if err := f.Chmod(w.perm); err != nil {
			return w.failure("set permissions of", err)
		}
	}
	if _, err := f.Write(content); err != nil {
		return fmt.Errorf("append to %q: %w", w.path, err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync %q: %w", w.path, err)
	}
	if w.exists {
		return nil
	}
	if err := syncDir(w.root, filepath.Dir(w.rel)); err != nil {
		return fmt.Errorf("sync folder of %q: %w", w.path, err)
	}
	return nil
}

func (w *writer) failure(verb string, err error) error {
	return workspace.Failure(w.call, verb, w.path, err)
}
