package git

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/culm-dev/culm/tool"
)

type person struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Time  string `json:"time"`
}

type commit struct {
	Hash      string   `json:"hash"`
	Parents   []string `json:"parents"`
	Author    person   `json:"author"`
	Committer person   `json:"committer"`
	Subject   string   `json:"subject"`
	Body      string   `json:"body"`
}

// commitFormat has commitFields fields, each ended by NUL.
const (
	commitFormat = "%H%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%s%x00%b%x00"
	commitFields = 10
)

func newCommit(f []string) commit {
	return commit{
		Hash:      f[0],
		Parents:   append([]string{}, strings.Fields(f[1])...),
		Author:    person{shown(f[2]), shown(f[3]), f[4]},
		Committer: person{shown(f[5]), shown(f[6]), f[7]},
		Subject:   shown(f[8]),
		Body:      strings.TrimRight(shown(f[9]), "\n"),
	}
}

// revList is a command that walks commits. It has no commit to walk if ok is
// false.
func (g *isolated) revList(ctx context.Context, in args, paths []string, options ...string) (argv []string, ok bool, err error) {
	commits, err := g.commitRange(ctx, in.Rev)
	if err != nil || len(commits) == 0 {
		return nil, false, err
	}
	argv = slices.Concat([]string{"rev-list"}, options, commits, []string{"--"}, paths)
	return argv, true, nil
}

type logResult struct {
	Commits   []commit `json:"commits"`
	Truncated bool     `json:"truncated"`
}

func (g *isolated) log(ctx context.Context, in args, paths []string) (logResult, error) {
	out := logResult{Commits: []commit{}}
	argv, ok, err := g.revList(ctx, in, paths, "--no-commit-header", "--format="+commitFormat,
		"--max-count="+strconv.Itoa(in.limit()+1), "--skip="+strconv.Itoa(in.Skip))
	if err != nil || !ok {
		return out, err
	}
	err = g.groups(ctx, commitFields, func(f []string) error {
		if len(out.Commits) == in.limit() {
			out.Truncated = true
			return errEnough
		}
		out.Commits = append(out.Commits, newCommit(f))
		return nil
	}, argv...)
	return out, err
}

type showResult struct {
	Commit commit `json:"commit"`
	diffResult
}

func (g *isolated) show(ctx context.Context, in args, paths []string) (showResult, error) {
	hash, err := g.resolve(ctx, in.Rev, "commit")
	if err != nil {
		return showResult{}, err
	}
	if hash == "" {
		return showResult{}, tool.Failed("not_found", false, "the repository has no commit yet")
	}
	var out showResult
	err = g.groups(ctx, commitFields, func(f []string) error {
		out.Commit = newCommit(f)
		return nil
	}, "rev-list", "--no-commit-header", "--no-walk", "--format="+commitFormat, hash)
	if err != nil {
		return showResult{}, err
	}
	from := g.emptyTree()
	if len(out.Commit.Parents) > 0 {
		from = out.Commit.Parents[0]
	}
	out.diffResult, err = g.between(ctx, in, from, hash, paths)
	return out, err
}

type countResult struct {
	Count int `json:"count"`
}

func (g *isolated) count(ctx context.Context, in args, paths []string) (countResult, error) {
	argv, ok, err := g.revList(ctx, in, paths, "--count")
	if err != nil || !ok {
		return countResult{}, err
	}
	var out countResult
	err = g.records(ctx, func(record string) error {
		n, err := strconv.Atoi(strings.TrimSpace(record))
		if err != nil {
			return tool.Failed("execution_failed", false, "read git's count: "+err.Error())
		}
		out.Count = n
		return nil
	}, argv...)
	return out, err
}

type authorCount struct {
	Name    string `json:"name"`
	Email   string `json:"email"`
	Commits int    `json:"commits"`
}

type shortlogResult struct {
	Authors   []authorCount `json:"authors"`
	Truncated bool          `json:"truncated"`
}

func (g *isolated) shortlog(ctx context.Context, in args, paths []string) (shortlogResult, error) {
	out := shortlogResult{Authors: []authorCount{}}
	argv, ok, err := g.revList(ctx, in, paths, "--no-commit-header", "--format=%aN%x00%aE%x00")
	if err != nil || !ok {
		return out, err
	}
	counts := make(map[[2]string]int)
	err = g.groups(ctx, 2, func(f []string) error {
		counts[[2]string{f[0], f[1]}]++
		return nil
	}, argv...)
	if err != nil {
		return out, err
	}
	for who, n := range counts {
		out.Authors = append(out.Authors, authorCount{shown(who[0]), shown(who[1]), n})
	}
	slices.SortFunc(out.Authors, func(a, b authorCount) int {
		return cmp.Or(cmp.Compare(b.Commits, a.Commits), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Email, b.Email))
	})
	if len(out.Authors) > in.limit() {
		out.Authors, out.Truncated = out.Authors[:in.limit()], true
	}
	return out, nil
}
