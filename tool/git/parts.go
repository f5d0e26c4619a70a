package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/culm-dev/culm/tool"
)

// maxPointer is how long a file may be that names another place, in bytes.
const maxPointer = 64 << 10

// readPointer reads a file that holds one path, and makes it absolute from the
// file's folder. A missing file is [fs.ErrNotExist].
func readPointer(file, prefix string) (string, error) {
	text, err := readSmall(file)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(strings.TrimRight(text, "\r\n"), prefix)
	if !ok || target == "" || strings.ContainsRune(target, 0) {
		return "", tool.Failed("execution_failed", false, fmt.Sprintf("%s is malformed", file))
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(file), target)
	}
	return filepath.Clean(target), nil
}

// readSmall reads a small regular file.
func readSmall(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", tool.Failed("execution_failed", false, fmt.Sprintf("%s is not a regular file", file))
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPointer+1))
	if err == nil && len(b) > maxPointer {
		err = tool.Failed("too_large", false, fmt.Sprintf("%s is too large", file))
	}
	return string(b), err
}

// pointsBack reports whether the git directory knows dir as its working tree: a
// linked worktree's by its file gitdir, a submodule's by core.worktree. Only
// whoever can write there can have arranged that.
func pointsBack(gitDir, dir string) bool {
	if back, err := readPointer(filepath.Join(gitDir, "gitdir"), ""); err == nil {
		return samePath(filepath.Dir(back), dir)
	}
	config, err := readSmall(filepath.Join(gitDir, "config"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(config) {
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.TrimSpace(key) != "worktree" {
			continue
		}
		back := strings.Trim(strings.TrimSpace(value), `"`)
		if !filepath.IsAbs(back) {
			back = filepath.Join(gitDir, back)
		}
		return samePath(back, dir)
	}
	return false
}

func samePath(a, b string) bool {
	resolved, err := filepath.EvalSymlinks(a)
	return err == nil && resolved == b
}

// checkParts refuses symbolic links by which references, index or configuration
// would come from outside the repository.
func (r *repository) checkParts(within string) error {
	parts := []string{
		filepath.Join(r.gitDir, "HEAD"), filepath.Join(r.gitDir, "index"),
		filepath.Join(r.commonDir, "packed-refs"), filepath.Join(r.commonDir, "config"),
		filepath.Join(r.commonDir, "shallow"), filepath.Join(r.commonDir, "info", "exclude"),
		filepath.Join(r.commonDir, "objects"), filepath.Join(r.commonDir, "reftable"),
	}
	for _, part := range parts {
		if err := r.checkPart(part, within); err != nil {
			return err
		}
	}
	refs := filepath.Join(r.commonDir, "refs")
	if err := r.checkPart(refs, within); err != nil {
		return err
	}
	return filepath.WalkDir(refs, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink == 0 {
			return nil
		}
		return r.checkPart(path, within)
	})
}

func (r *repository) checkPart(part, within string) error {
	resolved, err := filepath.EvalSymlinks(part)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return tool.Failed("execution_failed", false, "look at repository: "+err.Error())
	}
	for _, allowed := range []string{within, r.gitDir, r.commonDir} {
		if inside(allowed, resolved) {
			return nil
		}
	}
	return tool.Failed("permission_denied", false, fmt.Sprintf("%s leads to %s, outside the repository and the workspace", part, resolved))
}
