package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/file"
)

// What verifies of a damaged stream is copied, and the copy stays damaged: it must not
// go on as if what was lost had never happened.
func TestSalvageCopiesWhatVerifies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file   string
		from   string
		to     string
		events uint64
	}{
		"the last commit": {"journal.jsonl", `{"n":3`, `{"n":4`, 2},
		"the first":       {"journal.jsonl", `{"n":1`, `{"n":4`, 0},
		"the head":        {"head.json", `"run"`, `"ran"`, 3},
		"a blob":          {"blobs/" + store.BlobID([]byte(victim)), "v", "w", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := sample(t, true)
			path := filepath.Join(dir, "runs", victim, test.file)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(b), test.from, test.to, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, dir)
			to := filepath.Join(t.TempDir(), "saved")
			saved := make(map[string]store.Salvaged)
			if err := s.Salvage(t.Context(), to, func(s store.Salvaged) { saved[s.Stream] = s }); err != nil {
				t.Fatal(err)
			}
			if v := saved[victim]; v.Events != test.events || v.Damage == "" || saved[bystander] != (store.Salvaged{Stream: bystander, Events: 3}) {
				t.Errorf("saved %+v", saved)
			}
			c := open(t, to)
			groups, err := c.Read(t.Context(), victim, 0, 0)
			var d *store.DamagedError
			n := uint64(0)
			for _, g := range groups {
				n += uint64(len(g.Events))
			}
			if !errors.As(err, &d) || n != test.events {
				t.Errorf("%d events of the victim, %v", n, err)
			}
			if _, err := c.Read(t.Context(), bystander, 0, 0); err != nil {
				t.Error(err)
			}
			var codes []string
			err = c.Examine(t.Context(), func(f store.Finding) { codes = append(codes, f.Code+" "+f.Stream) })
			if err != nil || !slices.Equal(codes, []string{store.FoundDamagedStream + " " + victim}) {
				t.Errorf("found %q, %v", codes, err)
			}
		})
	}
}

// A redo log that lost what was applied of it is refused, named, and salvaged from.
func TestADamagedLogIsRefusedAndSalvaged(t *testing.T) {
	t.Parallel()
	dir := sample(t, false)
	path := filepath.Join(dir, "log", "redo")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[2*4096+40] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Open(t.Context(), dir, file.Options{}); err == nil || !strings.Contains(err.Error(), "redo log is damaged") {
		t.Fatalf("open: %v", err)
	}
	s, err := file.Open(t.Context(), dir, file.Options{Repair: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var codes []string
	if err := s.Examine(t.Context(), func(f store.Finding) { codes = append(codes, f.Code) }); err != nil || !slices.Contains(codes, store.FoundDamagedPage) {
		t.Errorf("found %q, %v", codes, err)
	}
	if err := s.Commit(t.Context(), newStream("new")); !errors.Is(err, store.ErrPoisoned) {
		t.Errorf("commit: %v", err)
	}
	to := filepath.Join(t.TempDir(), "saved")
	if err := s.Salvage(t.Context(), to, func(store.Salvaged) {}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{victim, bystander} {
		if groups, err := open(t, to).Read(t.Context(), name, 0, 0); err != nil || len(groups) != 2 {
			t.Errorf("%s: %d groups, %v", name, len(groups), err)
		}
	}
}

// Folders that are made ahead become streams like any other; those of the dead go.
func TestSpareFolders(t *testing.T) {
	t.Parallel()
	dir := dirOf(t)
	staged := func() int {
		entries, err := os.ReadDir(filepath.Join(dir, "staged"))
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	s := open(t, dir)
	commit(t, s, newStream("first", `{}`))
	s.Refill()
	ahead := staged()
	commit(t, s, newStream("second", `{}`))
	if n := staged(); ahead == 0 || n != ahead-1 {
		t.Errorf("%d folders were made ahead, and then there are %d", ahead, n)
	}
	other := open(t, dir)
	for _, name := range []string{"first", "second"} {
		if groups, err := other.Read(t.Context(), name, 0, 0); err != nil || len(groups) != 1 {
			t.Errorf("%s: %d groups, %v", name, len(groups), err)
		}
	}
	if err := other.Examine(t.Context(), func(f store.Finding) { t.Errorf("found %+v", f) }); err != nil {
		t.Error(err)
	}
	if _, err := other.Compact(t.Context()); err != nil || staged() != ahead-1 {
		t.Errorf("%d folders of the living are left, %v", staged(), err)
	}
	if err := s.Abandon(); err != nil {
		t.Fatal(err)
	}
	next := open(t, dir)
	commit(t, next, newStream("third", `{}`))
	if n := staged(); n != 0 {
		t.Errorf("%d folders of the dead are left", n)
	}
}
