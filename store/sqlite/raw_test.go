package sqlite_test

import (
	"database/sql"
	"net/url"
	"testing"
	"time"

	"github.com/culm-dev/culm/store"
)

// raw opens the database as any tool would.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: "_pragma=busy_timeout(10000)"}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func execSQL(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func epoch() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func newStream(name string, events ...string) *store.Batch {
	b := appendTo(name, 0, events...)
	b.Appends[0].Create = true
	b.Appends[0].Row = &store.Row{ID: name, Kind: "run", Status: "running", Workflow: "wf@1", Created: epoch()}
	return b
}

func appendTo(name string, expect uint64, events ...string) *store.Batch {
	a := store.Append{Stream: name, Expect: expect}
	for _, e := range events {
		a.Events = append(a.Events, []byte(e))
	}
	return &store.Batch{Appends: []store.Append{a}}
}

func commit(t *testing.T, s store.Store, b *store.Batch) {
	t.Helper()
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatalf("commit: %v", err)
	}
}
