package checker_test

import (
	"bytes"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/culm-dev/culm/internal/testkit/checker"
)

func TestSQLiteDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(dir, "culm.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE TABLE streams (id INTEGER PRIMARY KEY, name TEXT, kind TEXT)`)
	exec(`CREATE TABLE commits (id INTEGER PRIMARY KEY, stream INTEGER, first INTEGER, events TEXT)`)
	exec(`CREATE TABLE blobs (id INTEGER PRIMARY KEY, stream INTEGER, hash TEXT, data BLOB)`)
	exec(`INSERT INTO streams VALUES (1, ?, 'run'), (2, 'other', 'session')`, runID)
	exec(`INSERT INTO commits (stream, first, events) VALUES (2, 1, '{}')`)
	exec(`INSERT INTO blobs (stream, hash, data) VALUES (1, 'b', ?)`, marshal(t, two(t)))
	first := 1
	for _, commit := range inBlob(t, write(t, two(t), nil, "start a\ndone a;start b")).Commits {
		exec(`INSERT INTO commits (stream, first, events) VALUES (1, ?, ?)`, first, string(bytes.Join(commit, []byte("\n")))+"\n")
		first += len(commit)
	}

	journals, err := checker.ReadSQLite(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(journals) != 1 || len(journals[0].Commits) != 4 {
		t.Fatalf("got %d journals", len(journals))
	}
	found := checker.Check(journals, nil)
	if len(found) != 1 || found[0].Rule != checker.RuleBoundary || found[0].Step != "b" {
		t.Errorf("found %v", found)
	}
}

func TestDirectoryWithoutDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	journals, err := checker.ReadSQLite(dir)
	if err != nil || len(journals) != 0 {
		t.Errorf("got %v, %v", journals, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("reading left %v", left)
	}
}

// inBlob moves the pinned bundle beside the journal, under the name b.
func inBlob(t *testing.T, j checker.Journal) checker.Journal {
	t.Helper()
	bundle := append([]byte(`"definition_bundle":`), marshal(t, two(t))...)
	return replace(string(bundle), `"definition_bundle_blob":{"sha256":"b","size":1}`)(t, j)
}
