package git

import (
	"context"
	"fmt"
	"strings"

	"github.com/culm-dev/culm/tool"
)

// emptyTree is the name of the tree without entries, which git always knows.
func (g *isolated) emptyTree() string {
	if g.config.sha256 {
		return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
	}
	return "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
}

// resolve turns a revision into the name of an object of the given type, "" for
// a HEAD that has no commit yet. Git never sees what the caller wrote as
// anything but one revision.
func (g *isolated) resolve(ctx context.Context, rev, kind string) (string, error) {
	if rev == "" {
		rev = "HEAD"
	}
	if strings.HasPrefix(rev, "-") || strings.ContainsAny(rev, "\x00\n") {
		return "", tool.Failed("invalid_input", false, fmt.Sprintf("%q is no revision", rev))
	}
	hash, ok := g.line(ctx, "rev-parse", "--verify", "--quiet", rev+"^{"+kind+"}")
	if ok && hash != "" {
		return hash, nil
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if rev == "HEAD" {
		if _, symbolic := g.line(ctx, "symbolic-ref", "--quiet", "HEAD"); symbolic {
			return "", nil
		}
	}
	return "", tool.Failed("not_found", false, fmt.Sprintf("there is no revision %q", rev))
}

// commitRange turns a revision or a range a..b into arguments that select
// commits; none if there is no commit yet.
func (g *isolated) commitRange(ctx context.Context, rev string) ([]string, error) {
	from, to, isRange := strings.Cut(rev, "..")
	if !isRange {
		hash, err := g.resolve(ctx, rev, "commit")
		if err != nil || hash == "" {
			return nil, err
		}
		return []string{hash}, nil
	}
	if strings.HasPrefix(to, ".") {
		return nil, tool.Failed("invalid_input", false, fmt.Sprintf("%q: only ranges a..b are understood", rev))
	}
	toHash, err := g.resolve(ctx, to, "commit")
	if err != nil || toHash == "" {
		return nil, err
	}
	fromHash, err := g.resolve(ctx, from, "commit")
	if err != nil || fromHash == "" {
		return nil, err
	}
	return []string{toHash, "^" + fromHash}, nil
}

type headResult struct {
	Branch *string `json:"branch"`
	Commit *string `json:"commit"`
	Unborn bool    `json:"unborn"`
}

func (g *isolated) head(ctx context.Context) (headResult, error) {
	var out headResult
	if ref, ok := g.line(ctx, "symbolic-ref", "--quiet", "HEAD"); ok {
		branch := shown(strings.TrimPrefix(ref, "refs/heads/"))
		out.Branch = &branch
	}
	hash, err := g.resolve(ctx, "HEAD", "commit")
	if err != nil {
		return headResult{}, err
	}
	if hash == "" {
		out.Unborn = true
	} else {
		out.Commit = &hash
	}
	return out, nil
}

type ref struct {
	Name    string `json:"name"`
	Commit  string `json:"commit"`
	Time    string `json:"time"`
	Subject string `json:"subject"`
}

type refsResult struct {
	Refs      []ref `json:"refs"`
	Truncated bool  `json:"truncated"`
}

// refs lists references with the commits that they, or the tags they name, are of.
func (g *isolated) refs(ctx context.Context, in args, under string) (refsResult, error) {
	const format = "%(refname)%00%(objectname)%00%(*objectname)%00%(creatordate:iso-strict)%00%(subject)%00"
	out := refsResult{Refs: []ref{}}
	err := g.groups(ctx, 5, func(f []string) error {
		if len(out.Refs) == in.limit() {
			out.Truncated = true
			return errEnough
		}
		commit := f[1]
		if f[2] != "" {
			commit = f[2]
		}
		out.Refs = append(out.Refs, ref{
			Name: shown(strings.TrimPrefix(f[0], under+"/")), Commit: commit, Time: f[3], Subject: shown(f[4]),
		})
		return nil
	}, "for-each-ref", "--format="+format, under)
	return out, err
}

// groups is records for output that comes as groups of n records; a newline
// between two groups does not count.
func (g *isolated) groups(ctx context.Context, n int, fn func(fields []string) error, argv ...string) error {
	fields := make([]string, 0, n)
	return g.records(ctx, func(record string) error {
		if len(fields) == 0 {
			record = strings.TrimPrefix(record, "\n")
		}
		if fields = append(fields, record); len(fields) < n {
			return nil
		}
		err := fn(fields)
		fields = make([]string, 0, n)
		return err
	}, argv...)
}

// shown is text as results show it.
func shown(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
