package git

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/culm-dev/culm/tool"
)

type treeEntry struct {
	Path string `json:"path"`
	Mode string `json:"mode"`
	Type string `json:"type"`
	Hash string `json:"hash"`
	Size *int64 `json:"size"` // null for a submodule, and for a blob that is missing
}

type lsTreeResult struct {
	Files     []treeEntry `json:"files"`
	Truncated bool        `json:"truncated"`
}

func (g *isolated) lsTree(ctx context.Context, in args, paths []string) (lsTreeResult, error) {
	out := lsTreeResult{Files: []treeEntry{}}
	hash, err := g.resolve(ctx, in.Rev, "tree")
	if err != nil || hash == "" {
		return out, err
	}
	bySize := in.Sort == "size"
	err = g.records(ctx, func(record string) error {
		if len(out.Files) == in.limit() && !bySize {
			out.Truncated = true
			return errEnough
		}
		e, err := parseTreeEntry(record)
		if err != nil {
			return err
		}
		out.Files = append(out.Files, e)
		return nil
	}, slices.Concat([]string{"ls-tree", "-r", "-l", "-z", "--full-tree", hash, "--"}, paths)...)
	if bySize {
		slices.SortStableFunc(out.Files, func(a, b treeEntry) int { return cmp.Compare(sizeOf(b), sizeOf(a)) })
		if len(out.Files) > in.limit() {
			out.Files, out.Truncated = out.Files[:in.limit()], true
		}
	}
	return out, err
}

func sizeOf(e treeEntry) int64 {
	if e.Size == nil {
		return -1
	}
	return *e.Size
}

// parseTreeEntry reads "mode type hash size\tpath".
func parseTreeEntry(record string) (treeEntry, error) {
	head, path, ok := strings.Cut(record, "\t")
	fields := strings.Fields(head)
	if !ok || len(fields) != 4 {
		return treeEntry{}, tool.Failed("execution_failed", false, fmt.Sprintf("read git's tree entry: %q", record))
	}
	e := treeEntry{Path: shown(path), Mode: fields[0], Type: fields[1], Hash: fields[2]}
	if size, err := strconv.ParseInt(fields[3], 10, 64); err == nil {
		e.Size = &size
	}
	return e, nil
}

type indexFile struct {
	Path  string `json:"path"`
	Mode  string `json:"mode"`
	Hash  string `json:"hash"`
	Stage int    `json:"stage"`
}

type lsFilesResult struct {
	Files     []indexFile `json:"files"`
	Truncated bool        `json:"truncated"`
}

func (g *isolated) lsFiles(ctx context.Context, in args, paths []string) (lsFilesResult, error) {
	out := lsFilesResult{Files: []indexFile{}}
	err := g.records(ctx, func(record string) error {
		if len(out.Files) == in.limit() {
			out.Truncated = true
			return errEnough
		}
		f, err := parseIndexFile(record)
		if err != nil {
			return err
		}
		f.Path = shown(f.Path)
		out.Files = append(out.Files, f)
		return nil
	}, slices.Concat([]string{"ls-files", "--stage", "-z", "--"}, paths)...)
	return out, err
}

// parseIndexFile reads "mode hash stage\tpath".
func parseIndexFile(record string) (indexFile, error) {
	head, path, ok := strings.Cut(record, "\t")
	fields := strings.Fields(head)
	if !ok || len(fields) != 3 {
		return indexFile{}, tool.Failed("execution_failed", false, fmt.Sprintf("read git's index entry: %q", record))
	}
	stage, err := strconv.Atoi(fields[2])
	if err != nil {
		return indexFile{}, tool.Failed("execution_failed", false, fmt.Sprintf("read git's index entry: %q", record))
	}
	return indexFile{Path: path, Mode: fields[0], Hash: fields[1], Stage: stage}, nil
}
