package runfiles

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/culm-dev/culm/store"
)

// Error says what is wrong with an exported run, and where.
type Error struct {
	Path   string // of the file or folder
	Reason string
	Newer  bool // a newer version wrote it
}

func (e *Error) Error() string { return e.Path + ": " + e.Reason }

// Find gives the folders of the runs in what was given to import: a run's own
// folder, or one that Write wrote below.
func Find(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, manifestFile)); err == nil {
		return []string{dir}, nil
	}
	runs := filepath.Join(dir, runsFolder)
	entries, err := os.ReadDir(runs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Path: dir, Reason: "it holds no exported run: neither " + manifestFile + " nor a folder " + runsFolder}
	}
	if err != nil {
		return nil, fmt.Errorf("look for runs: %w", err)
	}
	var folders []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			folders = append(folders, filepath.Join(runs, e.Name()))
		}
	}
	return folders, nil
}

// Read reads an exported run and verifies all of it: that its files are those
// that were written, and that they hold together. The error is an [*Error] if it
// is not what was exported.
func Read(folder string) (*store.Extract, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("read exported run: %w", err)
	}
	defer root.Close()
	r := &reader{folder: folder, root: root}
	x, err := r.run()
	if err != nil {
		return nil, err
	}
	return x, nil
}

type reader struct {
	folder string
	root   *os.Root // links must not lead out of the folder
	files  map[string]file
}

func (r *reader) wrong(name, format string, args ...any) error {
	return &Error{Path: filepath.Join(r.folder, filepath.FromSlash(name)), Reason: fmt.Sprintf(format, args...)}
}

func (r *reader) run() (*store.Extract, error) {
	if err := r.manifest(); err != nil {
		return nil, err
	}
	text, err := r.read(headFile)
	if err != nil {
		return nil, err
	}
	var h head
	if err := decode(text, &h); err != nil {
		return nil, r.wrong(headFile, "%v", err)
	}
	if h.Damaged != "" {
		return nil, r.wrong("", "run %s was exported damaged: %s", h.RunID, h.Damaged)
	}
	x := new(store.Extract)
	h.fill(x)
	lines, err := r.read(journalFile)
	if err != nil {
		return nil, err
	}
	groups, crc, err := decodeJournal(h.RunID, lines)
	if err != nil {
		return nil, r.wrong(journalFile, "%v", err)
	}
	if x.Groups = groups; x.Last() != h.Last || fmt.Sprintf("%08x", crc) != h.CRC {
		return nil, r.wrong(journalFile, "it ends at event %d, and %s says %d", x.Last(), headFile, h.Last)
	}
	if x.Blobs, err = r.blobs(); err != nil {
		return nil, err
	}
	if _, has := r.files[snapshotFile]; has {
		_, err = r.read(snapshotFile)
	}
	return x, err
}

// manifest reads the manifest, and looks for files that it does not have.
func (r *reader) manifest() error {
	text, err := r.whole(manifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return r.wrong(manifestFile, "it is missing")
	}
	if err != nil {
		return err
	}
	var m manifest
	if err := decode(text, &m); err != nil {
		var version struct {
			Format int `json:"export_format"`
		}
		if decodeLoosely(text, &version) == nil && version.Format > Format {
			return r.newer(version.Format)
		}
		return r.wrong(manifestFile, "%v", err)
	}
	switch {
	case m.Format > Format:
		return r.newer(m.Format)
	case m.Format < 1:
		return r.wrong(manifestFile, "it has no export_format")
	}
	r.files = m.Files
	return fs.WalkDir(r.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == manifestFile {
			return err
		}
		if _, known := r.files[name]; !known {
			return r.wrong(name, "it is not in %s", manifestFile)
		}
		return nil
	})
}

func (r *reader) newer(format int) error {
	return &Error{
		Path: r.folder, Newer: true,
		Reason: fmt.Sprintf("it has export format %d, and this version reads up to %d", format, Format),
	}
}

// read reads a file and compares it with the manifest.
func (r *reader) read(name string) ([]byte, error) {
	want, known := r.files[name]
	if !known {
		return nil, r.wrong(manifestFile, "it does not have %s", name)
	}
	data, err := r.whole(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, r.wrong(name, "it is missing")
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if int64(len(data)) != want.Size || hex.EncodeToString(sum[:]) != want.SHA256 {
		return nil, r.wrong(name, "it is not what was exported: its SHA-256 or size is another one")
	}
	return data, nil
}

func (r *reader) whole(name string) ([]byte, error) {
	f, err := r.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, r.wrong(name, "it is not a regular file")
	}
	return io.ReadAll(f)
}

func (r *reader) blobs() ([]store.NewBlob, error) {
	var blobs []store.NewBlob
	for name := range r.files {
		id, ok := strings.CutPrefix(name, blobFolder+"/")
		if !ok {
			continue
		}
		data, err := r.read(path.Join(blobFolder, id))
		if err != nil {
			return nil, err
		}
		if store.BlobID(data) != id {
			return nil, r.wrong(name, "its name is not its SHA-256")
		}
		blobs = append(blobs, store.NewBlob{ID: id, Data: data})
	}
	slices.SortFunc(blobs, func(a, b store.NewBlob) int { return strings.Compare(a.ID, b.ID) })
	return blobs, nil
}
