package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/sqlite"
	"github.com/culm-dev/culm/store/storetest"
)

// harness is one database in a folder of its own.
type harness struct{ path string }

func newHarness(t *testing.T) storetest.Harness {
	return harness{filepath.Join(t.TempDir(), "data", "culm.db")}
}

func (h harness) Open(t *testing.T) store.Store {
	return open(t, h.path)
}

func (h harness) Kill(t *testing.T, s store.Store) {
	if err := s.(*sqlite.Store).Abandon(); err != nil {
		t.Errorf("abandon store: %v", err)
	}
}

func (h harness) OpenCopy(t *testing.T, path string) store.Store { return open(t, path) }

// Size counts rows and pages.
func (h harness) Size(t *testing.T) int64 {
	db := raw(t, h.path)
	var n int64
	if err := db.QueryRow(`SELECT (SELECT count(*) FROM commits) + (SELECT count(*) FROM streams) +
		(SELECT count(*) FROM mail) + (SELECT count(*) FROM checkpoints) +
		(SELECT page_count FROM pragma_page_count)`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, newHarness)
}

func open(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
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
