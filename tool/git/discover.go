package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/internal/workspace"
)

// repository is where the parts of a repository lie. All paths are absolute and
// free of symbolic links.
type repository struct {
	gitDir    string // holds HEAD and index
	commonDir string // holds objects, refs and config; gitDir but in a linked worktree
	top       string // the working tree; "" if there is none
}

// discover finds the repository at or above path.
func discover(c tool.Call, arg string) (*repository, error) {
	start, within, err := startFolder(c, arg)
	if err != nil {
		return nil, err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		gitDir, err := gitDirAt(dir, within)
		if err != nil {
			return nil, err
		}
		if gitDir != "" {
			return newRepository(gitDir, dir, within)
		}
		if dir == start && isGitDir(start) {
			return newRepository(start, "", within)
		}
		if dir == filepath.Dir(dir) {
			return nil, tool.Failed("not_found", false, fmt.Sprintf("there is no git repository at or above %q: run `git init`, or give the path of one", start))
		}
	}
}

// startFolder resolves the argument and the workspace that it must lie in.
func startFolder(c tool.Call, arg string) (start, within string, err error) {
	c, arg = workspace.For(c, arg)
	root, err := workspace.Open(c)
	if err != nil {
		return "", "", err
	}
	defer root.Close()
	rel, err := workspace.Rel(c, arg)
	if err != nil {
		return "", "", err
	}
	info, err := root.Stat(rel)
	if err != nil {
		return "", "", workspace.Failure(c, "open", arg, err)
	}
	if !info.IsDir() {
		return "", "", tool.Failed("invalid_input", false, fmt.Sprintf("%q is not a folder", arg))
	}
	if within, err = filepath.EvalSymlinks(c.Workspace); err != nil {
		return "", "", workspace.Failure(c, "open", arg, err)
	}
	if start, err = filepath.EvalSymlinks(filepath.Join(c.Workspace, rel)); err != nil {
		return "", "", workspace.Failure(c, "open", arg, err)
	}
	if !inside(within, start) { // changed since the look through root
		return "", "", workspace.Outside(c, arg)
	}
	return start, within, nil
}

// gitDirAt returns the git directory that dir's .git is or names, "" if dir has
// none.
func gitDirAt(dir, within string) (string, error) {
	dotGit := filepath.Join(dir, ".git")
	info, err := os.Lstat(dotGit)
	if err != nil {
		return "", nil // none, or none that may be seen
	}
	target := dotGit
	if info.Mode().IsRegular() {
		if target, err = readPointer(dotGit, "gitdir: "); err != nil {
			return "", err
		}
	}
	resolved, err := filepath.EvalSymlinks(target)
	if err != nil || !isGitDir(resolved) {
		if info.IsDir() {
			return "", nil // an unrelated folder, which git passes over too
		}
		return "", tool.Failed("not_found", false, fmt.Sprintf("%s names a git directory that is not there", dotGit))
	}
	if resolved == dotGit || inside(within, resolved) || pointsBack(resolved, dir) {
		return resolved, nil
	}
	return "", tool.Failed("permission_denied", false, fmt.Sprintf(
		"%s leads to %s outside the workspace, which does not point back: it is no worktree of that repository", dotGit, resolved))
}

// newRepository completes a repository whose git directory was accepted.
func newRepository(gitDir, top, within string) (*repository, error) {
	r := &repository{gitDir: gitDir, commonDir: gitDir, top: top}
	common, err := readPointer(filepath.Join(gitDir, "commondir"), "")
	if errors.Is(err, fs.ErrNotExist) {
		return r, r.checkParts(within)
	}
	if err != nil {
		return nil, err
	}
	if r.commonDir, err = filepath.EvalSymlinks(common); err != nil {
		return nil, tool.Failed("not_found", false, "the repository of this worktree is gone: "+err.Error())
	}
	// The directory of a linked worktree lies in its repository, so whoever made
	// it there may have it read.
	if !inside(within, r.commonDir) && filepath.Dir(gitDir) != filepath.Join(r.commonDir, "worktrees") {
		return nil, tool.Failed("permission_denied", false, fmt.Sprintf("%s is no worktree of %s, which is outside the workspace", gitDir, r.commonDir))
	}
	return r, r.checkParts(within)
}

// pathspecs checks paths, which are relative to the repository's top as those in
// results are.
func pathspecs(paths []string) ([]string, error) {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		joined := path.Clean(filepath.ToSlash(p))
		if p == "" || path.IsAbs(p) || joined == ".." || strings.HasPrefix(joined, "../") || strings.ContainsRune(p, 0) {
			return nil, tool.Failed("invalid_input", false, fmt.Sprintf("%q is not a path inside the repository", p))
		}
		out = append(out, joined)
	}
	return out, nil
}

// isGitDir recognises a git directory as git does.
func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	if _, err := os.Stat(filepath.Join(dir, "commondir")); err == nil {
		return true
	}
	for _, part := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, part)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// inside reports whether path is dir or below it. Both are absolute and clean.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
