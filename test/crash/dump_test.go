//go:build unix

package crash_test

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // the driver
)

// everything is all that is in a data directory, but locks: every row of every table,
// and a hash of every file.
type everything struct {
	Rows  []string
	Files map[string]string
}

// everything looks at the data directory. Rows are read by a connection that cannot
// write, after the files.
func (s *site) everything() everything {
	s.t.Helper()
	return everything{Files: s.hashes(), Rows: s.rows()}
}

// wantUnchanged checks that not a byte is different.
func (s *site) wantUnchanged(before everything) {
	s.t.Helper()
	if diff := cmp.Diff(before, s.everything()); diff != "" {
		s.t.Errorf("the data changed (-before +after):\n%s", diff)
	}
}

// hashes are of all files but locks. culm.db-shm is one: SQLite's index of its log,
// made anew from it by whoever comes first, holds its locks of readers.
func (s *site) hashes() map[string]string {
	s.t.Helper()
	sums := make(map[string]string)
	err := filepath.WalkDir(s.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".db-shm") {
			return err
		}
		name, err := filepath.Rel(s.data, path)
		if err != nil || strings.HasPrefix(name, "locks"+string(filepath.Separator)) {
			return err
		}
		content, err := os.ReadFile(path)
		sums[name] = fmt.Sprintf("%d bytes, %x", len(content), sha256.Sum256(content))
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return sums
}

// locks are the names of the lock files.
func (s *site) locks() []string {
	s.t.Helper()
	names, err := filepath.Glob(filepath.Join(s.data, "locks", "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	return names
}

// database opens the database as anybody could.
func (s *site) database(mode string) *sql.DB {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.data, "culm.db")+"?_pragma=busy_timeout(60000)&mode="+mode)
	if err != nil {
		s.t.Fatal(err)
	}
	return db
}

func (s *site) rows() []string {
	s.t.Helper()
	if s.kind == inFiles {
		return nil // what it holds is in the files
	}
	db := s.database("ro")
	defer db.Close()
	var all []string
	for _, table := range s.column(db, `SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`) {
		for _, row := range s.column(db, `SELECT * FROM "`+table+`"`) {
			all = append(all, table+": "+row)
		}
	}
	if len(all) == 0 {
		s.t.Fatal("the database is empty")
	}
	return all
}

// column runs a query and gives its rows as text, sorted.
func (s *site) column(db *sql.DB, query string) []string {
	s.t.Helper()
	rows, err := db.QueryContext(s.t.Context(), query)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		s.t.Fatal(err)
	}
	var all []string
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			s.t.Fatal(err)
		}
		cells := make([]string, len(names))
		for i, v := range values {
			if b, ok := v.([]byte); ok {
				v = fmt.Sprintf("x%x", b)
			}
			cells[i] = fmt.Sprint(v)
		}
		all = append(all, strings.Join(cells, " | "))
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	slices.Sort(all)
	return all
}
