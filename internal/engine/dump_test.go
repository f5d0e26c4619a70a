package engine_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/store"
)

// dump is everything that is durable, as text: on SQLite every row of every
// table, the bytes of its files and the names of its locks; on memory all that
// the port shows.
func (w *world) dump() string {
	w.t.Helper()
	if w.db != "" {
		return w.dumpFiles() + w.dumpTables()
	}
	st := w.open()
	defer st.Close()
	var b strings.Builder
	page, err := st.List(context.Background(), store.Query{Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, row := range page.Rows {
		head, err1 := st.Head(context.Background(), row.ID)
		groups, err2 := st.Read(context.Background(), row.ID, 0, 1<<30)
		mail, err3 := st.Mail(context.Background(), row.ID, 0)
		account, err4 := st.Account(context.Background(), row.ID)
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			w.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%+v\n%+v\n%+v\n%+v\n", row, head, mail, account)
		for _, g := range groups {
			fmt.Fprintf(&b, "%d %s\n", g.First, g.Events)
		}
	}
	return b.String()
}

func (w *world) dumpFiles() string {
	w.t.Helper()
	var b strings.Builder
	for _, name := range []string{w.db, w.db + "-wal"} {
		data, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			w.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %d %x\n", name, len(data), sha256.Sum256(data))
	}
	locks, err := filepath.Glob(filepath.Join(filepath.Dir(w.db), "locks", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	fmt.Fprintln(&b, locks)
	return b.String()
}

func (w *world) dumpTables() string {
	w.t.Helper()
	if _, err := os.Stat(w.db); errors.Is(err, os.ErrNotExist) {
		return ""
	}
	db, err := sql.Open("sqlite", "file:"+w.db+"?mode=ro")
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	var b strings.Builder
	for _, name := range w.column(db, "select name from sqlite_master where type = 'table' order by name") {
		fmt.Fprintf(&b, "== %s\n", name)
		rows, err := db.Query("select * from " + name)
		if err != nil {
			w.t.Fatal(err)
		}
		cols, err := rows.Columns()
		if err != nil {
			w.t.Fatal(err)
		}
		for rows.Next() {
			vals, ptrs := make([]any, len(cols)), make([]any, len(cols))
			for i := range vals {
				ptrs[i] = &vals[i]
			}
			if err := rows.Scan(ptrs...); err != nil {
				w.t.Fatal(err)
			}
			fmt.Fprintf(&b, "%v\n", vals)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			w.t.Fatal(err)
		}
	}
	return b.String()
}

func (w *world) column(db *sql.DB, query string) (names []string) {
	w.t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			w.t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// unchanged fails the test if anything durable is not as it was.
func (w *world) unchanged(before string) {
	w.t.Helper()
	if diff := cmp.Diff(strings.Split(before, "\n"), strings.Split(w.dump(), "\n")); diff != "" {
		w.t.Errorf("it changed what is stored: %.4000s", diff)
	}
}

func mkdir(dir string) error { return os.MkdirAll(dir, 0o700) }
