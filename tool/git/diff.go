package git

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/culm-dev/culm/tool"
)

type changedFile struct {
	Path   string `json:"path"`
	Status string `json:"status"`
	// Added and Deleted count lines; both are null for a binary file.
	Added   *int `json:"added"`
	Deleted *int `json:"deleted"`
}

type diffResult struct {
	Files          []changedFile `json:"files"`
	Truncated      bool          `json:"truncated"`
	Patch          *string       `json:"patch,omitempty"`
	PatchTruncated bool          `json:"patch_truncated,omitempty"`
}

func (g *isolated) diff(ctx context.Context, in args, paths []string) (diffResult, error) {
	if in.From == "" {
		return diffResult{}, tool.Failed("invalid_input", false, "give from, the revision to compare with")
	}
	from, err := g.resolve(ctx, in.From, "tree")
	if err != nil {
		return diffResult{}, err
	}
	to, err := g.resolve(ctx, in.To, "tree")
	if err != nil {
		return diffResult{}, err
	}
	for _, tree := range []*string{&from, &to} {
		if *tree == "" {
			*tree = g.emptyTree()
		}
	}
	return g.between(ctx, in, from, to, paths)
}

// between compares two trees in the object store; no file is looked at.
func (g *isolated) between(ctx context.Context, in args, from, to string, paths []string) (diffResult, error) {
	argv := func(format ...string) []string {
		return slices.Concat(
			[]string{"diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none"},
			format, []string{from, to, "--"}, paths)
	}
	out, err := g.changedFiles(ctx, in, argv("-z", "--raw", "--numstat"))
	if err != nil || !in.Patch {
		return out, err
	}
	err = g.run(ctx, func(r io.Reader) error {
		b, err := io.ReadAll(io.LimitReader(r, maxPatch+1))
		if err != nil {
			return err
		}
		patch := shown(string(b[:min(maxPatch, len(b))]))
		out.Patch, out.PatchTruncated = &patch, len(b) > maxPatch
		if out.PatchTruncated {
			return errEnough
		}
		return nil
	}, argv("-p", "--full-index")...)
	return out, err
}

// changedFiles reads what --raw -z (":modes hashes S", path) and then --numstat
// -z ("added\tdeleted\tpath") say of each file.
func (g *isolated) changedFiles(ctx context.Context, in args, argv []string) (diffResult, error) {
	out := diffResult{Files: []changedFile{}}
	index := make(map[string]int)
	raw := ""
	err := g.records(ctx, func(record string) error {
		switch {
		case raw != "":
			if len(out.Files) < in.limit() {
				index[record] = len(out.Files)
				out.Files = append(out.Files, changedFile{Path: shown(record), Status: statusWord(raw[len(raw)-1])})
			} else {
				out.Truncated = true
			}
			raw = ""
		case strings.HasPrefix(record, ":"):
			raw = record
		default:
			return countLines(out.Files, index, record)
		}
		return nil
	}, argv...)
	return out, err
}

func countLines(files []changedFile, index map[string]int, record string) error {
	fields := strings.SplitN(record, "\t", 3)
	if len(fields) != 3 {
		return tool.Failed("execution_failed", false, fmt.Sprintf("read git's line counts: %q", record))
	}
	i, listed := index[fields[2]]
	added, err := strconv.Atoi(fields[0])
	deleted, err2 := strconv.Atoi(fields[1])
	if listed && err == nil && err2 == nil {
		files[i].Added, files[i].Deleted = &added, &deleted
	}
	return nil
}

// statusWord spells out git's status letters.
func statusWord(letter byte) string {
	switch letter {
	case 'A':
		return "added"
	case 'D':
		return "deleted"
	case 'T':
		return "type_changed"
	case 'U':
		return "unmerged"
	default:
		return "modified"
	}
}
