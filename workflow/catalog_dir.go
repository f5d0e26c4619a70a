package workflow

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// DirCatalog is a catalog of the files *.yaml, *.yml and *.json that lie
// directly in the given folders. Files without a workflow_schema are no
// workflows and are ignored, as are folders that do not exist; a folder given
// twice is read once.
func DirCatalog(dirs ...string) Catalog { return dirCatalog(slices.Clone(dirs)) }

type dirCatalog []string

func (dirs dirCatalog) Snapshot() (*Snapshot, error) {
	var sources []*Source
	var unreadable []error
	var seen []os.FileInfo
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read catalog: %w", err)
		}
		if slices.ContainsFunc(seen, func(other os.FileInfo) bool { return os.SameFile(info, other) }) {
			continue
		}
		seen = append(seen, info)
		found, bad, err := readDir(dir)
		if err != nil {
			return nil, fmt.Errorf("read catalog: %w", err)
		}
		sources, unreadable = append(sources, found...), append(unreadable, bad...)
	}
	snapshot := NewSnapshot(sources...)
	snapshot.Unreadable = unreadable
	return snapshot, nil
}

// readDir reads the workflows of one folder, in the order of their names.
func readDir(dir string) (sources []*Source, unreadable []error, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range entries {
		ext := filepath.Ext(entry.Name())
		if entry.IsDir() || ext != ".yaml" && ext != ".yml" && ext != ".json" {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		data, err := readFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed since the folder was read
		}
		if err != nil {
			unreadable = append(unreadable, fmt.Errorf("read workflow: %w", err))
			continue
		}
		src, err := loadWorkflow(path, data)
		switch {
		case src != nil:
			sources = append(sources, src)
		case err != nil:
			unreadable = append(unreadable, err)
		}
	}
	return sources, unreadable, nil
}

// loadWorkflow loads a file if it is a workflow; for any other it returns nil.
func loadWorkflow(path string, data []byte) (*Source, error) {
	root, r := parse(path, data)
	if root == nil {
		if strings.Contains(string(data), "workflow_schema") {
			return nil, r.sorted()
		}
		return nil, nil
	}
	if !root.has("workflow_schema") {
		return nil, nil
	}
	src, err := load(path, root, r)
	if src == nil || src.def.ID == "" || src.def.Revision == 0 {
		return nil, err
	}
	return src, nil
}
