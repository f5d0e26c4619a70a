package git

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/culm-dev/culm/tool"
)

// indexEntry is an entry of the index with what was recorded of its file.
type indexEntry struct {
	indexFile
	modified time.Time
	changed  time.Time // of the inode
	size     uint32    // the length's low 32 bits; 0 also if it must not be trusted
	flags    uint32
}

// Flags of an index entry, as git's read-cache.h has them in memory.
const (
	flagAssumeUnchanged = 0x8000
	flagIntentToAdd     = 1 << 29
	flagSkipWorktree    = 1 << 30
)

// debugLines is how many lines `ls-files --debug` prints about an entry.
const debugLines = 5

// indexEntries has git parse the index, whatever its version and extensions. An
// entry is "mode hash stage\tpath", NUL, and then the lines about it, so that a
// record holds the lines about one entry and the head of the next.
func (g *isolated) indexEntries(ctx context.Context, paths []string, fn func(indexEntry) error) error {
	var current *indexEntry
	return g.records(ctx, func(record string) error {
		if current != nil {
			var err error
			if record, err = current.parseDebug(record); err != nil {
				return err
			}
			if err := fn(*current); err != nil {
				return err
			}
			current = nil
		}
		if record == "" {
			return nil
		}
		f, err := parseIndexFile(record)
		if err != nil {
			return err
		}
		current = &indexEntry{indexFile: f}
		return nil
	}, slices.Concat([]string{"ls-files", "--stage", "--debug", "-z", "--"}, paths)...)
}

// parseDebug reads the lines about an entry and returns what follows them.
func (e *indexEntry) parseDebug(record string) (rest string, err error) {
	lines := strings.SplitN(record, "\n", debugLines+1)
	if len(lines) != debugLines+1 {
		return "", debugError(record)
	}
	for _, field := range strings.Split(strings.Join(lines[:debugLines], "\t"), "\t") {
		key, value, ok := strings.Cut(strings.TrimSpace(field), ": ")
		if !ok {
			return "", debugError(record)
		}
		if err := e.set(key, value); err != nil {
			return "", debugError(record)
		}
	}
	return lines[debugLines], nil
}

func (e *indexEntry) set(key, value string) (err error) {
	switch key {
	case "mtime":
		e.modified, err = parseStamp(value)
	case "ctime":
		e.changed, err = parseStamp(value)
	case "size":
		e.size, err = parseUint32(value, 10)
	case "flags":
		e.flags, err = parseUint32(value, 16)
	}
	return err
}

// parseStamp reads "seconds:nanoseconds".
func parseStamp(value string) (time.Time, error) {
	sec, nsec, _ := strings.Cut(value, ":")
	s, err := strconv.ParseInt(sec, 10, 64)
	if err != nil {
		return time.Time{}, err
	}
	n, err := strconv.ParseInt(nsec, 10, 64)
	return time.Unix(s, n), err
}

func parseUint32(value string, base int) (uint32, error) {
	n, err := strconv.ParseUint(value, base, 32)
	return uint32(n), err
}

func debugError(record string) error {
	return tool.Failed("execution_failed", false, fmt.Sprintf("read what git's index says of a file: %q", record))
}
