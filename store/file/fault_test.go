package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/file"
)

// members builds a group of which the second appends and only then fails.
func members() []*store.Batch {
	bad := appendTo("b", 1, `{"n":"bad"}`)
	bad.Posts = []store.Post{{Stream: "none", ID: "m"}}
	return []*store.Batch{appendTo("a", 1, `{"n":2}`), bad, appendTo("c", 1, `{"n":2}`), appendTo("b", 1, `{"n":"good"}`)}
}

func TestAMemberThatFailsHalfWayFailsAlone(t *testing.T) {
	t.Parallel()
	s := open(t, dirOf(t))
	for _, name := range []string{"a", "b", "c"} {
		commit(t, s, newStream(name, `{"n":1}`))
	}
	for i, err := range s.Group(members()...) {
		if want := i == 1; isError(err, store.ErrNotFound) != want || (err != nil) != want {
			t.Errorf("member %d: %v", i, err)
		}
	}
	for name, want := range map[string]string{"a": `{"n":2}`, "b": `{"n":"good"}`, "c": `{"n":2}`} {
		groups, err := s.Read(t.Context(), name, 1, 0)
		if err != nil || len(groups) != 1 || string(groups[0].Events[0]) != want {
			t.Errorf("%s: %+v, %v", name, groups, err)
		}
	}
}

// Members of one group see each other: the second append to a stream follows
// the first, a third at the same sequence conflicts.
func TestMembersOfAGroupFollowEachOther(t *testing.T) {
	t.Parallel()
	s := open(t, dirOf(t))
	commit(t, s, newStream("other"))
	errs := s.Group(newStream("s", `{"n":1}`), appendTo("s", 1, `{"n":2}`), appendTo("s", 1, `{"n":"other"}`),
		&store.Batch{Posts: []store.Post{{Stream: "s", ID: "m"}}}, appendTo("s", 2, `{"n":3}`))
	for i, err := range errs {
		if want := i == 2; isError(err, store.ErrConflict) != want || (err != nil) != want {
			t.Errorf("member %d: %v", i, err)
		}
	}
	if h := head(t, s, "s"); h.Last != 3 {
		t.Errorf("head: %+v", h)
	}
	commit(t, s, appendTo("s", 3, `{"n":4}`))
}

// The child fills a real file system; then its parent makes room.
func TestAFullDiskRecoversInPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, ok := startOnSmallDisk(t, dir)
	if !ok {
		t.Skip("a small file system cannot be mounted here")
	}
	if line := p.next(); !strings.HasPrefix(line, "full after ") {
		t.Fatalf("the child says %q", line)
	}
	p.tell("there is room now")
	if line := p.next(); line != "recovered" {
		t.Errorf("the child says %q", line)
	}
}

// A write error that is not a full disk: what the disk holds is no longer known
// to this process, only to one that opens the file anew.
func TestAnIOErrorPoisonsTheHandle(t *testing.T) {
	t.Parallel()
	path := dirOf(t)
	p, ok := startWithFileLimit(t, path)
	if !ok {
		t.Skip("the size of files cannot be limited here")
	}
	var acknowledged uint64
	if _, err := fmt.Sscanf(p.next(), "poisoned after %d", &acknowledged); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	groups, err := s.Read(t.Context(), "s", 0, 1<<30)
	if err != nil || uint64(len(groups)) < acknowledged || uint64(len(groups)) > acknowledged+1 {
		t.Errorf("%d commits acknowledged, %d there, %v", acknowledged, len(groups), err)
	}
	if h := head(t, s, "s"); h.Owner.ID == "" || h.Owner.Alive {
		t.Errorf("a poisoned owner is %+v", h.Owner)
	}
	claim, err := s.Claim(t.Context(), "s")
	if err != nil {
		t.Fatalf("take over from a poisoned owner: %v", err)
	}
	claim.Close()
	p.tell("enough")
}

// The disk fails a sync: the handle acknowledges nothing any more, and whoever comes
// next finds of the commit at hand all or nothing.
func TestAFailedSyncPoisonsTheHandle(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"sync", "write"} {
		dir := dirOf(t)
		disk, opt := file.NewRecorder(dir, 0)
		s, err := file.Open(t.Context(), dir, opt)
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, work(0))
		commit(t, s, work(1))
		disk.Fail(what)
		for range 2 {
			if err := s.Commit(t.Context(), work(2)); !errors.Is(err, store.ErrPoisoned) {
				t.Errorf("%s: commit: %v", what, err)
			}
		}
		if _, err := s.Head(t.Context(), "s"); err != nil {
			t.Errorf("%s: head of a poisoned handle: %v", what, err)
		}
		if _, err := worked(t.Context(), open(t, dir), 2, 3); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		_ = s.Close()
	}
}

// Opening and reading make nothing, and neither does a refusal.
func TestReadingChangesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir)
	if _, err := s.Head(t.Context(), "s"); !isError(err, store.ErrNotFound) {
		t.Errorf("head: %v", err)
	}
	if err := s.Commit(t.Context(), appendTo("s", 1, `{}`)); !isError(err, store.ErrNotFound) {
		t.Errorf("commit: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(dir)); !isError(err, os.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
	for _, cleanly := range []bool{true, false} {
		dir := sample(t, cleanly)
		before := contents(t, dir)
		s, err := file.Open(t.Context(), dir, file.Options{})
		if err != nil {
			t.Fatal(err)
		}
		audit(t, s)
		if err := s.Commit(t.Context(), appendTo(victim, 3, `{}`)); !isError(err, store.ErrNotOwner) {
			t.Errorf("commit: %v", err)
		}
		if err := s.Abandon(); err != nil {
			t.Fatal(err)
		}
		after := contents(t, dir)
		for name, content := range after {
			if string(before[name]) != string(content) {
				t.Errorf("%s changed", name)
			}
		}
		if len(before) != len(after) {
			t.Errorf("%d files, there were %d", len(after), len(before))
		}
	}
}

// A folder that cannot be written can be read.
func TestAFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := sample(t, true)
	copied := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(copied, "locks")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(copied, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(copied, 0o700)
	s := open(t, copied)
	h, err := s.Head(t.Context(), victim)
	if err != nil || h.Last != 3 {
		t.Errorf("head: %+v, %v", h, err)
	}
}

func TestFormatsOfTomorrowAreRefused(t *testing.T) {
	t.Parallel()
	dir := sample(t, true)
	path := filepath.Join(dir, "format.json")
	if err := os.WriteFile(path, []byte(`{"culm_file_store":2,"how":"else"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Open(t.Context(), dir, file.Options{}); !isError(err, store.ErrNewerFormat) {
		t.Errorf("open: %v", err)
	}
}

// Names of streams are no paths.
func TestNamesAreNoPaths(t *testing.T) {
	t.Parallel()
	dir := dirOf(t)
	s := open(t, dir)
	names := []string{"..", ".", "a/b", "/", "a\x00b", "A", "a", "%41", "~x", " ", strings.Repeat("long", 100)}
	for _, name := range names {
		commit(t, s, newStream(name, `{}`))
	}
	for _, name := range names {
		if h := head(t, s, name); h.Last != 1 || h.Row.ID != name {
			t.Errorf("%q: %+v", name, h)
		}
	}
	if err := s.Commit(t.Context(), newStream("\xff")); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("a name that no file can hold: %v", err)
	}
	page, err := s.List(t.Context(), store.Query{})
	if err != nil || len(page.Rows) != len(names) {
		t.Errorf("%d rows, %v", len(page.Rows), err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "runs"))
	if err != nil || len(entries) != len(names) {
		t.Errorf("%d folders, %v", len(entries), err)
	}
	if _, err := s.Blob(t.Context(), "a", "../head.json"); !isError(err, store.ErrNotFound) {
		t.Errorf("a path as a blob: %v", err)
	}
}
