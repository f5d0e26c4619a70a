package runfiles

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/culm-dev/culm/store"
)

// Names of files in a run's folder.
const (
	journalFile  = "journal.jsonl"
	headFile     = "export.json"
	snapshotFile = "snapshot.json"
	manifestFile = "manifest.json"
	blobFolder   = "blobs"
	rawFile      = "damaged/raw.jsonl"
	reasonFile   = "damaged/reason.txt"
)

// runsFolder holds the runs of an export.
const runsFolder = "runs"

// Run is what is written of one run.
type Run struct {
	Extract  *store.Extract
	Snapshot any    // encoded as JSON; nil writes none
	Damaged  string // why the run is damaged; "" if it is not
	// Raw writes what is stored of a damaged run. It is called only for one.
	Raw func(w io.Writer) error
	At  time.Time // when the extract was made
}

// Write writes a run below dir, in place of an earlier export of it, and returns
// its folder and how many bytes it holds. When it returns, all of it is durable.
func Write(dir string, r *Run) (folder string, size int64, err error) {
	id := r.Extract.Stream
	if !safeName(id) {
		return "", 0, fmt.Errorf("write run %q: its id cannot be the name of a folder", id)
	}
	runs := filepath.Join(dir, runsFolder)
	folder = filepath.Join(runs, id)
	if err := os.MkdirAll(runs, 0o700); err != nil {
		return "", 0, fmt.Errorf("write run %s: %w", id, err)
	}
	part, err := os.MkdirTemp(runs, "."+id+".partial-")
	if err != nil {
		return "", 0, fmt.Errorf("write run %s: %w", id, err)
	}
	w := &writer{dir: part, files: make(map[string]file)}
	err = w.run(r)
	if err == nil {
		err = replace(part, folder)
	}
	if err != nil {
		_ = os.RemoveAll(part)
		return "", 0, fmt.Errorf("write run %s: %w", id, err)
	}
	return folder, w.size, errors.Join(syncDir(runs), syncDir(dir))
}

// safeName tells names of runs that are names of files as well.
func safeName(id string) bool {
	return id != "" && !strings.HasPrefix(id, ".") && !strings.ContainsAny(id, "/\\:\x00") && filepath.IsLocal(id)
}

// replace moves a folder to where it is to be. An earlier one is moved away
// first, since a folder cannot be replaced in one step.
func replace(part, folder string) error {
	old := part + ".old"
	err := os.Rename(folder, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(part, folder); err != nil {
		_ = os.Rename(old, folder)
		return err
	}
	return os.RemoveAll(old)
}

// writer writes the files of one run and remembers them for the manifest.
type writer struct {
	dir   string
	files map[string]file
	size  int64
}

func (w *writer) run(r *Run) error {
	lines, crc, err := encodeJournal(r.Extract.Stream, r.Extract.Groups)
	if err != nil {
		return err
	}
	if err := w.bytes(journalFile, lines); err != nil {
		return err
	}
	if err := w.json(headFile, newHead(r, crc)); err != nil {
		return err
	}
	if r.Snapshot != nil {
		if err := w.json(snapshotFile, r.Snapshot); err != nil {
			return err
		}
	}
	for _, b := range r.Extract.Blobs {
		if err := w.bytes(path.Join(blobFolder, b.ID), b.Data); err != nil {
			return err
		}
	}
	if r.Damaged != "" {
		if err := w.bytes(reasonFile, []byte(r.Damaged+"\n")); err != nil {
			return err
		}
		if err := w.stream(rawFile, r.Raw); err != nil {
			return err
		}
	}
	if err := w.json(manifestFile, manifest{Format, w.files}); err != nil {
		return err
	}
	return w.syncDirs()
}

func (w *writer) json(name string, v any) error {
	text, err := encode(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return w.bytes(name, text)
}

func (w *writer) bytes(name string, data []byte) error {
	return w.stream(name, func(to io.Writer) error {
		_, err := io.Copy(to, bytes.NewReader(data))
		return err
	})
}

func (w *writer) stream(name string, fill func(io.Writer) error) error {
	full := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(full, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	hash := sha256.New()
	count := &counter{to: io.MultiWriter(f, hash)}
	err = fill(count)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	w.files[name] = file{count.n, hex.EncodeToString(hash.Sum(nil))}
	w.size += count.n
	return nil
}

func (w *writer) syncDirs() error {
	return filepath.WalkDir(w.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return syncDir(name)
	})
}

type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // a file system whose folders need no sync
	}
	return errors.Join(err, f.Close())
}
