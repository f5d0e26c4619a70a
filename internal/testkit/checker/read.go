package checker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// Read reads every run's journal of a data directory, whichever store made it.
func Read(dir string) ([]Journal, error) {
	if _, err := os.Stat(filepath.Join(dir, "format.json")); err == nil {
		return ReadFiles(dir)
	}
	return ReadSQLite(dir)
}

// ReadFiles reads every run's journal of a store of files: the lines of journal.jsonl
// up to where head.json says that it ends.
func ReadFiles(dir string) ([]Journal, error) {
	folders, err := os.ReadDir(filepath.Join(dir, "runs"))
	if err != nil {
		return nil, fmt.Errorf("read journals: %w", err)
	}
	type dated struct {
		Journal
		created string
	}
	var all []dated
	for _, f := range folders {
		folder := filepath.Join(dir, "runs", f.Name())
		h, err := readHead(filepath.Join(folder, "head.json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // not committed yet
		}
		if err != nil {
			return nil, fmt.Errorf("read journals: %w", err)
		}
		if h.Row.Kind != "run" {
			continue
		}
		commits, err := readCommits(filepath.Join(folder, "journal.jsonl"), h.End)
		if err != nil {
			return nil, fmt.Errorf("read journal of %s: %w", h.Stream, err)
		}
		blob := func(sha256 string) ([]byte, error) { return os.ReadFile(filepath.Join(folder, "blobs", sha256)) }
		all = append(all, dated{Journal{Run: h.Stream, Commits: commits, Blob: blob}, h.Row.Created})
	}
	slices.SortStableFunc(all, func(a, b dated) int { return bytes.Compare([]byte(a.created), []byte(b.created)) })
	var journals []Journal
	for _, d := range all {
		journals = append(journals, d.Journal)
	}
	return journals, nil
}

// fileHead is what is needed of a head.
type fileHead struct {
	Stream string `json:"stream"`
	End    int64  `json:"end"`
	Row    struct {
		Kind    string `json:"kind"`
		Created string `json:"created"`
	} `json:"row"`
}

// readHead reads a head that may just be written, in place.
func readHead(path string) (h fileHead, err error) {
	for range 100 {
		var text []byte
		if text, err = os.ReadFile(path); err != nil {
			return h, err
		}
		if err = json.Unmarshal(text, &h); err == nil {
			return h, nil
		}
	}
	return h, err
}

func readCommits(path string, end int64) ([][][]byte, error) {
	mark := regexp.MustCompile(`,"_commit":\{"first":\d+,"crc":"[0-9a-f]{8}"\}\}$`)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if int64(len(text)) < end {
		return nil, fmt.Errorf("it has %d bytes of %d", len(text), end)
	}
	var commits [][][]byte
	var commit [][]byte
	for line := range bytes.Lines(text[:end]) {
		line = bytes.TrimSuffix(line, []byte{'\n'})
		bare := mark.ReplaceAll(line, []byte("}"))
		commit = append(commit, bare)
		if len(bare) < len(line) {
			commits = append(commits, commit)
			commit = nil
		}
	}
	if len(commit) > 0 {
		return nil, errors.New("it ends in the middle of a commit")
	}
	return commits, nil
}
