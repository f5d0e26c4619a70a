package file_test

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/file"
	"github.com/culm-dev/culm/store/storetest"
)

// harness is one store in a folder of its own.
type harness struct{ dir string }

func newHarness(t *testing.T) storetest.Harness {
	return harness{filepath.Join(t.TempDir(), "data", "store")}
}

func (h harness) Open(t *testing.T) store.Store { return open(t, h.dir) }

func (h harness) Kill(t *testing.T, s store.Store) {
	if err := s.(*file.Store).Abandon(); err != nil {
		t.Errorf("abandon store: %v", err)
	}
}

// Size counts the bytes of all files but the redo log, which is written again and
// again.
func (h harness) Size(t *testing.T) int64 {
	var size int64
	err := filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(filepath.Dir(path)) == "log" {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, newHarness)
}

func open(t *testing.T, dir string) *file.Store {
	t.Helper()
	s, err := file.Open(t.Context(), dir, file.Options{})
	if err != nil {
		t.Fatalf("open store: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	return s
}

// OpenCopy implements [storetest.Copier].
func (h harness) OpenCopy(t *testing.T, dir string) store.Store { return open(t, dir) }
