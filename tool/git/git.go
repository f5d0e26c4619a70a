// Package git is the tool "git": it reads the history and the state of a git
// repository, and is safe to use in one that nobody trusts.
//
// A repository can make git run programs: file-system monitors, hooks, filters,
// text converters, external diffs, signature checkers, pagers, aliases,
// transports of a partial clone. Here none of them ever runs, and not because a
// list of them is switched off: git never sees the repository's configuration. For
// each call a temporary git directory is made, with a configuration of our own
// and with nothing of the repository but its objects, references, index and
// ignore rules; git runs on that, by plumbing commands, in an environment made
// from scratch (no system and user configuration either). Files of the working
// tree are only looked at and hashed by Go code.
//
// What that means: configured mailmaps, global ignore rules, replace references,
// grafts and reflogs are not used, submodules are not entered, and objects that a
// partial clone lacks are missing.
//
// The repository is found at or above the folder that is asked for, also when
// that is above the workspace. A .git file or symbolic link that leads out of the
// workspace counts only if what it names points back, as linked worktrees and
// submodules do; references and index must lie inside. Objects may come from an
// alternate elsewhere, by their names only.
package git

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"

	"github.com/culm-dev/culm/tool"
)

// Options are the operator's choices. The zero value is usable.
type Options struct {
	// Program is the git binary; "" looks for git in PATH at each call. Git 2.33
	// or newer is needed.
	Program string
}

// New returns the tool "git" (effect read). `op` says what to do:
//
//   - head: {branch, commit, unborn}; branch is null when detached
//   - branches, tags: their names, commits, times and subjects
//   - log: commits from `rev` (HEAD), which may be a range a..b, newest first
//   - show: one commit and the files that it changed against its first parent
//   - diff: the files that differ between `from` and `to` (HEAD)
//   - count: how many commits there are
//   - shortlog: authors (by mailmap) with their commits, most first
//   - ls_tree: files of `rev`, with sizes; `sort: size` has the largest first
//   - ls_files: files of the index
//   - status: {dirty, changes, untracked}
//
// Paths in results are relative to the repository's top; `paths` narrows to files
// and folders, relative to `path`. Lists have at most `limit` entries (1000 by
// default) and say so in `truncated`. `patch` adds the text of the differences,
// at most 1 MiB.
//
// A tracked file is dirty if its content differs from the index byte for byte:
// where size and times differ from those recorded, the blob hash is computed.
// With clean filters or line-end conversion a file whose times changed may thus
// be called modified though git would convert it back.
//
// Definite failures: "not_found" (no repository, no such revision),
// "permission_denied", "invalid_input", "too_large", "execution_failed".
func New(o Options) tool.Tool {
	return tool.MustFunc("git", "Reads a git repository: history, files, differences, state. Safe in untrusted repositories.",
		tool.Read, o.call,
		tool.WithInput(json.RawMessage(inputSchema)), tool.WithOutput(json.RawMessage(outputSchema)))
}

const (
	defaultLimit = 1000
	maxPatch     = 1 << 20
)

type args struct {
	Op        string   `json:"op"`
	Path      string   `json:"path"`
	Rev       string   `json:"rev"`
	From      string   `json:"from"`
	To        string   `json:"to"`
	Paths     []string `json:"paths"`
	Limit     int      `json:"limit"`
	Skip      int      `json:"skip"`
	Sort      string   `json:"sort"`
	Patch     bool     `json:"patch"`
	Untracked *bool    `json:"untracked"`
}

func (in args) limit() int {
	if in.Limit <= 0 {
		return defaultLimit
	}
	return in.Limit
}

func (o Options) call(ctx context.Context, c tool.Call, in args) (tool.Result, error) {
	program := o.Program
	if program == "" {
		var err error
		if program, err = exec.LookPath("git"); err != nil {
			return tool.Result{}, tool.Failed("execution_failed", false, "git is not installed: no git in PATH")
		}
	}
	repo, err := discover(c, in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	g, err := isolate(ctx, program, repo)
	if err != nil {
		return tool.Result{}, err
	}
	defer g.close()
	out, err := g.do(ctx, in)
	if err != nil {
		if ctx.Err() != nil {
			return tool.Result{}, fmt.Errorf("read repository: %w", context.Cause(ctx))
		}
		return tool.Result{}, err
	}
	return tool.JSON(out)
}

func (g *isolated) do(ctx context.Context, in args) (any, error) {
	paths, err := pathspecs(in.Paths)
	if err != nil {
		return nil, err
	}
	switch in.Op {
	case "head":
		return g.head(ctx)
	case "branches":
		return g.refs(ctx, in, "refs/heads")
	case "tags":
		return g.refs(ctx, in, "refs/tags")
	case "log":
		return g.log(ctx, in, paths)
	case "show":
		return g.show(ctx, in, paths)
	case "diff":
		return g.diff(ctx, in, paths)
	case "count":
		return g.count(ctx, in, paths)
	case "shortlog":
		return g.shortlog(ctx, in, paths)
	case "ls_tree":
		return g.lsTree(ctx, in, paths)
	case "ls_files":
		return g.lsFiles(ctx, in, paths)
	case "status":
		return g.status(ctx, in, paths)
	default:
		return nil, tool.Failed("invalid_input", false, fmt.Sprintf("no operation %q", in.Op))
	}
}
