package git

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/culm-dev/culm/tool"
)

type change struct {
	Path string `json:"path"`
	// Index is how the index differs from HEAD, Worktree how the file differs
	// from the index; "" if it does not.
	Index    string `json:"index"`
	Worktree string `json:"worktree"`
}

type statusResult struct {
	Dirty     bool     `json:"dirty"`
	Changes   []change `json:"changes"`
	Untracked []string `json:"untracked"`
	Truncated bool     `json:"truncated"`
}

// status compares HEAD, index and working tree without any command of git that
// reads a file of the working tree: those would run filters.
func (g *isolated) status(ctx context.Context, in args, paths []string) (statusResult, error) {
	if g.repo.top == "" {
		return statusResult{}, tool.Failed("invalid_input", false, "a bare repository has no working tree")
	}
	changes := make(map[string]change)
	if err := g.stagedChanges(ctx, paths, changes); err != nil {
		return statusResult{}, err
	}
	if err := g.worktreeChanges(ctx, paths, changes); err != nil {
		return statusResult{}, err
	}
	out := statusResult{Changes: slices.SortedFunc(maps.Values(changes), func(a, b change) int { return cmp.Compare(a.Path, b.Path) })}
	if out.Changes == nil {
		out.Changes = []change{}
	}
	for i := range out.Changes {
		out.Changes[i].Path = shown(out.Changes[i].Path)
	}
	if len(out.Changes) > in.limit() {
		out.Changes, out.Truncated = out.Changes[:in.limit()], true
	}
	out.Untracked = []string{}
	if in.Untracked == nil || *in.Untracked {
		if err := g.untracked(ctx, in, paths, &out); err != nil {
			return statusResult{}, err
		}
	}
	out.Dirty = len(out.Changes) > 0 || len(out.Untracked) > 0
	return out, nil
}

// stagedChanges compares the index with HEAD.
func (g *isolated) stagedChanges(ctx context.Context, paths []string, changes map[string]change) error {
	tree, err := g.resolve(ctx, "HEAD", "tree")
	if err != nil {
		return err
	}
	if tree == "" {
		tree = g.emptyTree()
	}
	raw := ""
	return g.records(ctx, func(record string) error {
		if raw == "" {
			raw = record
			return nil
		}
		changes[record] = change{Path: record, Index: statusWord(raw[len(raw)-1])}
		raw = ""
		return nil
	}, slices.Concat([]string{"diff-index", "--cached", "--raw", "-z", "--no-renames", tree, "--"}, paths)...)
}

// worktreeChanges compares the working tree with the index.
func (g *isolated) worktreeChanges(ctx context.Context, paths []string, changes map[string]change) error {
	root, err := os.OpenRoot(g.repo.top)
	if err != nil {
		return tool.Failed("execution_failed", false, "open working tree: "+err.Error())
	}
	defer root.Close()
	w := newWorktree(root, g)
	return g.indexEntries(ctx, paths, func(e indexEntry) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		word, err := w.compare(e)
		if err != nil || word == "" {
			return err
		}
		c := changes[e.Path]
		if e.flags&flagIntentToAdd != 0 { // a place for the file, not the file
			c.Index = ""
		}
		c.Path, c.Worktree = e.Path, word
		changes[e.Path] = c
		return nil
	})
}

// untracked lists files and folders that are neither in the index nor ignored.
// Git reads ignore rules and names for this, no contents.
func (g *isolated) untracked(ctx context.Context, in args, paths []string, out *statusResult) error {
	return g.records(ctx, func(record string) error {
		if len(out.Untracked) == in.limit() {
			out.Truncated = true
			return errEnough
		}
		out.Untracked = append(out.Untracked, shown(strings.TrimPrefix(record, "./")))
		return nil
	}, slices.Concat([]string{"ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z", "--"}, paths)...)
}
