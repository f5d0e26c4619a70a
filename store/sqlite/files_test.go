package sqlite_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/sqlite"
	"github.com/google/go-cmp/cmp"
)

func isError(err, want error) bool { return errors.Is(err, want) }

// files lists what is below a folder, with modes.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		list = append(list, info.Mode().String()+" "+filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// dump reads every row of every table.
func dump(t *testing.T, path string) []string {
	t.Helper()
	db := raw(t, path)
	var rows []string
	for _, table := range tables(t, path) {
		r, err := db.QueryContext(t.Context(), `SELECT * FROM `+table+` ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := r.Columns()
		if err != nil {
			t.Fatal(err)
		}
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		for r.Next() {
			if err := r.Scan(into...); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, fmt.Sprintf("%s %q", table, values))
		}
		if err := errors.Join(r.Err(), r.Close()); err != nil {
			t.Fatal(err)
		}
	}
	_ = db.Close()
	return rows
}

func tables(t *testing.T, path string) []string {
	t.Helper()
	db := raw(t, path)
	r, err := db.QueryContext(t.Context(), `SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var names []string
	for r.Next() {
		var name string
		if err := r.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestOpeningReadingAndRefusingMakeNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "a", "b", "culm.db"))
	ctx := t.Context()
	if _, err := s.Head(ctx, "s"); !isError(err, store.ErrNotFound) {
		t.Errorf("head: %v", err)
	}
	if _, err := s.Claim(ctx, "s"); !isError(err, store.ErrNotFound) {
		t.Errorf("claim: %v", err)
	}
	if page, err := s.List(ctx, store.Query{}); err != nil || len(page.Rows) != 0 {
		t.Errorf("list: %+v, %v", page, err)
	}
	if err := s.Commit(ctx, appendTo("s", 0, `{}`)); !isError(err, store.ErrNotFound) {
		t.Errorf("append: %v", err)
	}
	if err := s.Commit(ctx, &store.Batch{Posts: []store.Post{{Stream: "s", ID: "m"}}}); !isError(err, store.ErrNotFound) {
		t.Errorf("post: %v", err)
	}
	_, stop := s.Watch("s")
	stop()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if list := files(t, dir); len(list) != 0 {
		t.Errorf("files: %q", list)
	}
}

func TestModesOfFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "culm.db")
	s := open(t, path)
	commit(t, s, newStream("s", `{}`))
	want := []string{
		"drwx------ a", "drwx------ a/b",
		"-rw------- a/b/culm.db", "-rw------- a/b/culm.db-shm", "-rw------- a/b/culm.db-wal",
		"drwx------ a/b/locks", "-rw------- a/b/locks/" + s.Owner() + ".lock",
		"-rw------- a/b/locks/next", "-rw------- a/b/locks/turn",
	}
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Error(diff)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	want = []string{
		"drwx------ a", "drwx------ a/b", "-rw------- a/b/culm.db",
		"drwx------ a/b/locks", "-rw------- a/b/locks/next", "-rw------- a/b/locks/turn",
	}
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Errorf("after close:\n%s", diff)
	}
}

// What a refused commit leaves is what was there before: in every table, and
// among the files once its handle is closed.
func TestARefusalChangesNoByteAndLeavesNoLock(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	owner := open(t, path)
	commit(t, owner, newStream("s", `{"n":1}`))
	commit(t, owner, newStream("free", `{"n":1}`))
	release := appendTo("free", 1)
	release.Appends[0].Release = true
	commit(t, owner, release)
	rows, list := dump(t, path), files(t, filepath.Dir(path))

	s := open(t, path)
	ctx := t.Context()
	for name, b := range map[string]*store.Batch{
		"conflict":  appendTo("s", 7, `{}`),
		"not owner": appendTo("s", 1, `{}`),
		"exists":    newStream("s", `{"other":1}`),
		"not found": appendTo("none", 0, `{}`),
		"mail":      {Posts: []store.Post{{Stream: "s", ID: "m"}, {Stream: "none", ID: "m"}}},
	} {
		if err := s.Commit(ctx, b); err == nil {
			t.Errorf("%s: not refused", name)
		}
	}
	if _, err := s.Claim(ctx, "s"); !isError(err, store.ErrOwned) {
		t.Errorf("claim: %v", err)
	}
	c, err := s.Claim(ctx, "free")
	if err != nil {
		t.Fatal(err)
	}
	b := appendTo("free", 7, `{}`)
	b.Appends[0].Claim = c
	if err := s.Commit(ctx, b); !isError(err, store.ErrConflict) {
		t.Errorf("commit of a claim: %v", err)
	}
	c.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(rows, dump(t, path)); diff != "" {
		t.Errorf("rows changed:\n%s", diff)
	}
	if diff := cmp.Diff(list, files(t, filepath.Dir(path))); diff != "" {
		t.Errorf("files changed:\n%s", diff)
	}
}

// A process that was killed leaves a write-ahead log. Looking at its runs must
// not move that into the database: the evidence stays as it was.
func TestReadingAfterAKillRewritesNothing(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	owner := startChild(t, "own", path, "s")
	owner.next()
	owner.kill()
	content := func() [2]string {
		var c [2]string
		for i, name := range []string{path, path + "-wal"} {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			c[i] = string(b)
		}
		return c
	}
	before := content()
	s := open(t, path)
	if h := head(t, s, "s"); h.Last != 1 {
		t.Errorf("head: %+v", h)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if content() != before {
		t.Error("reading rewrote the database or its log")
	}
}

func TestAnyToolReadsTheEvents(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path)
	commit(t, s, newStream("s", `{"type":"a","at":"t1","x":[1,2]}`, `{"type":"b","at":"t2","text":"line\nfeed, {\"q\"}"}`))
	commit(t, s, appendTo("s", 2, `{"type":"c","at":"t3"}`))
	r, err := raw(t, path).QueryContext(t.Context(), `SELECT stream, sequence, type, at, json FROM events ORDER BY sequence`)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []string
	for r.Next() {
		var stream, kind, at, json string
		var sequence int
		if err := r.Scan(&stream, &sequence, &kind, &at, &json); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(stream, sequence, kind, at, json))
	}
	want := []string{
		`s1at1{"type":"a","at":"t1","x":[1,2]}`,
		`s2bt2{"type":"b","at":"t2","text":"line\nfeed, {\"q\"}"}`,
		`s3ct3{"type":"c","at":"t3"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" || r.Err() != nil {
		t.Errorf("%v\n%s", r.Err(), diff)
	}
}

func TestANewerFormatIsRefusedAsSuch(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path)
	commit(t, s, newStream("s", `{}`))
	generation, err := s.Generation(t.Context())
	if err != nil || len(generation) != 32 {
		t.Errorf("generation %q, %v", generation, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	execSQL(t, raw(t, path), `UPDATE meta SET format = format + 1`)
	if _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); !isError(err, store.ErrNewerFormat) {
		t.Errorf("open: %v", err)
	}
}

func TestWhatIsNoDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	if err := os.WriteFile(path, []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); err == nil {
		t.Error("a text file was opened as a database")
	}
	if _, err := sqlite.Open(t.Context(), filepath.Dir(path), sqlite.Options{}); err == nil {
		t.Error("a folder was opened as a database")
	}
}

func TestAFolderThatCannotBeWrittenCanBeRead(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	path := dbPath(t)
	s := open(t, path)
	commit(t, s, newStream("s", `{}`))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	frozen := open(t, path)
	if h := head(t, frozen, "s"); h.Last != 1 {
		t.Errorf("head: %+v", h)
	}
	if err := frozen.Commit(t.Context(), newStream("t", `{}`)); err == nil {
		t.Error("a commit into a folder that cannot be written succeeded")
	}
}

func asError[T error](err error, target *T) bool { return errors.As(err, target) }
