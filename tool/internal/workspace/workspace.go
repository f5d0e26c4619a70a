// Package workspace confines the built-in tools to the folder that a run may
// touch. Files are reached through [os.Root] only, so that neither "..", an
// absolute path, nor a symbolic link leads out, however often the tree changes
// meanwhile.
package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/culm-dev/culm/tool"
)

// Open opens the workspace of a call. The failure is "permission_denied" if the
// run has none.
func Open(c tool.Call) (*os.Root, error) {
	if c.Workspace == "" {
		return nil, tool.Failed("permission_denied", false, "this run has no workspace: start it with one, e.g. --workspace .")
	}
	root, err := os.OpenRoot(c.Workspace)
	if err != nil {
		return nil, tool.Failed(CodeOf(err), false, "open workspace: "+err.Error())
	}
	return root, nil
}

// For gives the call as one over a folder outside the workspace, and the path as
// an absolute one, if the path leads into a folder that the run's arguments
// name; else it changes nothing. Only tools that read may use it.
func For(c tool.Call, path string) (tool.Call, string) {
	abs := path
	if !filepath.IsAbs(path) {
		abs = filepath.Join(c.Workspace, path)
	}
	if within(c.Workspace, abs) {
		return c, path
	}
	for _, folder := range c.ReadPaths {
		if within(folder, abs) {
			c.Workspace = folder
			return c, abs
		}
	}
	return c, path
}

func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// Rel turns a path argument, relative to the workspace or absolute below it, into
// a clean path relative to it; "" is the workspace itself. What is outside fails
// with "permission_denied".
func Rel(c tool.Call, path string) (string, error) {
	if strings.ContainsRune(path, 0) {
		return "", tool.Failed("invalid_input", false, "a path cannot hold a NUL character")
	}
	if path == "" {
		return ".", nil
	}
	rel := path
	if filepath.IsAbs(path) {
		var err error
		if rel, err = relToWorkspace(c.Workspace, path); err != nil {
			return "", Outside(c, path)
		}
	}
	if rel = filepath.Clean(rel); !filepath.IsLocal(rel) {
		return "", Outside(c, path)
	}
	return rel, nil
}

// relToWorkspace also accepts a path through the workspace's resolved name: on
// macOS /tmp is /private/tmp.
func relToWorkspace(workspace, path string) (string, error) {
	rel, err := filepath.Rel(workspace, path)
	if err != nil || filepath.IsLocal(rel) {
		return rel, err
	}
	resolved, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return "", err
	}
	return filepath.Rel(resolved, path)
}

// Outside is the failure for a path that leads out of the workspace.
func Outside(c tool.Call, path string) error {
	return tool.Failed("permission_denied", false, fmt.Sprintf(
		"%q is outside the workspace %s: give a path inside it, or run with --workspace set to a folder that holds both", path, c.Workspace))
}

// Failure turns an error of a file operation into a definite failure that names
// the path as the caller wrote it.
func Failure(c tool.Call, verb, path string, err error) error {
	if isEscape(err) {
		return Outside(c, path)
	}
	return tool.Failed(CodeOf(err), retryable(err), fmt.Sprintf("%s %q: %v", verb, path, cause(err)))
}

// CodeOf is the stable failure code of a file error: "not_found",
// "permission_denied", "already_exists", else "execution_failed".
func CodeOf(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "not_found"
	case errors.Is(err, fs.ErrPermission), isEscape(err):
		return "permission_denied"
	case errors.Is(err, fs.ErrExist):
		return "already_exists"
	default:
		return "execution_failed"
	}
}

// isEscape recognises what os.Root says about a path that leads out; the error
// has no exported value.
func isEscape(err error) bool {
	return err != nil && strings.HasPrefix(cause(err).Error(), "path escapes")
}

func retryable(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EMFILE) ||
		errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EBUSY)
}

func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}
