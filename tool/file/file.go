// Package file holds the tools that read and write files in a run's workspace:
// read_file, list_dir, glob and grep (effect read), write_file and edit_file.
//
// Paths are relative to the workspace, or absolute below it. Everything goes
// through [os.Root]: "..", absolute paths and symbolic links never lead out,
// whatever is renamed meanwhile; what would fails with "permission_denied".
// Symbolic links inside the workspace work if they are relative. Only regular
// files are read and written: no pipe can block a call. Other definite failures
// are "not_found", "invalid_input", "too_large" and "execution_failed", and those of
// edit_file.
//
// In results, names and lines that are not UTF-8 have U+FFFD in place of what is
// not.
package file

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/internal/workspace"
)

// Tools returns all tools of this package.
func Tools() []tool.Tool {
	return []tool.Tool{NewReadFile(), NewWriteFile(), NewEditFile(), NewListDir(), NewGlob(), NewGrep()}
}

// openRegular opens a regular file below root for reading.
func openRegular(c tool.Call, root *os.Root, rel, path string) (*os.File, fs.FileInfo, error) {
	// Opening a named pipe would otherwise wait for its writer.
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, workspace.Failure(c, "open", path, err)
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		return f, info, nil
	}
	_ = f.Close()
	if err != nil {
		return nil, nil, workspace.Failure(c, "open", path, err)
	}
	return nil, nil, notRegular(path, info.Mode())
}

func notRegular(path string, mode fs.FileMode) error {
	return tool.Failed("invalid_input", false, fmt.Sprintf("%q is a %s, not a regular file", path, kindOf(mode)))
}

// kindOf names what a directory entry is.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "dir"
	case mode&fs.ModeSymlink != 0:
		return "symlink"
	default:
		return "other"
	}
}

// shown is a path or line as results show it.
func shown(s string) string { return strings.ToValidUTF8(filepath.ToSlash(s), "\uFFFD") }

// limitOr is an optional limit, which the schema has checked to be in range.
func limitOr(limit, otherwise int) int {
	if limit <= 0 {
		return otherwise
	}
	return limit
}
