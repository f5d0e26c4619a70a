package sqlite_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/sqlite"
)

// harmless are columns whose value means nothing: rows are found and verified
// without them.
var harmless = map[string]bool{
	"commits.id": true, "mail.id": true, "seen_mail.id": true, "keys.id": true, "blobs.id": true, "accounts.id": true,
	"commits_indexed.upto": true, "commits_indexed.crc": true, // the index itself is asked then
}

// Every byte of every column of every row is flipped, and every column cut at
// every length. Each time the store must notice, tell no lie, and tell the
// whole truth about the other stream.
func TestInvariant23_DamagedRows(t *testing.T) {
	t.Parallel()
	path := sample(t)
	s := open(t, path)
	truth := audit(t, s)
	if list := refusals(truth); len(list) > 0 {
		t.Fatalf("the sample is damaged already: %q", list)
	}
	db := raw(t, path)
	tried := 0
	for _, table := range tables(t, path) {
		if table == "meta" || strings.HasPrefix(table, "sqlite_") {
			continue
		}
		for _, cell := range victimCells(t, db, table) {
			for _, value := range cell.variants() {
				if !cell.set(db, value) {
					continue // the schema itself refuses it
				}
				answers := audit(t, s)
				cell.check(t, truth, answers, value)
				if !cell.restore(db, value) {
					t.Fatalf("%s.%s cannot be restored", cell.table, cell.column)
				}
				tried++
			}
		}
	}
	if list := lies(truth, audit(t, s)); len(list) > 0 {
		t.Errorf("after all was restored: %q", list)
	}
	t.Logf("%d kinds of damage", tried)
}

// cell is one column of one row.
type cell struct {
	table, column string
	rowid         int64
	value         any
}

// victimCells are the cells of the rows that belong to stream victim.
func victimCells(t *testing.T, db *sql.DB, table string) []cell {
	t.Helper()
	where := map[string]string{
		"streams": `name = 'victim'`, "keys": `key = 'victim'`, "accounts": `name = 'victim'`, "commits_indexed": `true`,
	}[table]
	if where == "" {
		where = `stream = (SELECT id FROM streams WHERE name = 'victim')`
	}
	r, err := db.QueryContext(t.Context(), `SELECT `+key(table)+`, * FROM `+table+` WHERE `+where)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	columns, err := r.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var cells []cell
	for r.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := r.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, name := range columns[1:] {
			cells = append(cells, cell{table, name, values[0].(int64), values[i+1]})
		}
	}
	if r.Err() != nil || len(cells) == 0 {
		t.Fatalf("cells of %s: %d, %v", table, len(cells), r.Err())
	}
	return cells
}

// variants are all the values that one flipped byte or one cut makes of a cell.
func (c *cell) variants() []any {
	var list []any
	switch v := c.value.(type) {
	case int64:
		for i := range 8 {
			list = append(list, v^0x40<<(8*i))
		}
	case string:
		for i := range len(v) {
			b := []byte(v)
			b[i] ^= 0x01
			list = append(list, string(b), v[:i])
		}
	case []byte:
		for i := range v {
			b := bytes.Clone(v)
			b[i] ^= 0x80
			list = append(list, b, v[:i:i])
		}
	}
	return list
}

// key is a column that names a row of a table, in the sample.
func key(table string) string {
	if table == "checkpoints" {
		return "stream"
	}
	return "id"
}

func (c *cell) set(db *sql.DB, value any) bool {
	_, err := db.Exec(`UPDATE `+c.table+` SET `+c.column+` = ? WHERE `+key(c.table)+` = ?`, value, c.rowid)
	return err == nil
}

func (c *cell) restore(db *sql.DB, damaged any) bool {
	was := c.rowid
	if c.column == key(c.table) {
		c.rowid = damaged.(int64)
	}
	ok := c.set(db, c.value)
	c.rowid = was
	return ok
}

func (c *cell) check(t *testing.T, truth, answers map[string]string, value any) {
	t.Helper()
	where := fmt.Sprintf("%s.%s of row %d: %q instead of %q", c.table, c.column, c.rowid, value, c.value)
	for _, lie := range lies(truth, answers) {
		t.Errorf("%s\n\t%s", where, lie)
	}
	noticed := false
	for _, what := range refusals(answers) {
		noticed = true
		if strings.HasPrefix(what, bystander) {
			t.Errorf("%s\n\thurt %s", where, what)
		}
	}
	if !noticed && !harmless[c.table+"."+c.column] {
		t.Errorf("%s\n\tnobody noticed", where)
	}
}

// The row that says what the database is.
func TestInvariant23_DamagedMeta(t *testing.T) {
	t.Parallel()
	path := sample(t)
	db := raw(t, path)
	for column, damage := range map[string]string{
		"format": "format - 1", "generation": "substr(generation, 2)", "crc": "crc + 1",
	} {
		execSQL(t, db, `UPDATE meta SET `+column+` = `+damage)
		if s, err := sqlite.Open(t.Context(), path, sqlite.Options{}); err == nil {
			_ = s.Close()
			t.Errorf("%s = %s: accepted", column, damage)
		}
		back := map[string]string{"format": "format + 1", "crc": "crc - 1", "generation": "generation"}[column]
		if column == "generation" {
			break // the last one that can be tried: the row is not what it was
		}
		execSQL(t, db, `UPDATE meta SET `+column+` = `+back)
	}
}

func TestInvariant23_HolesAndWrongLengths(t *testing.T) {
	t.Parallel()
	const mine = ` stream = (SELECT id FROM streams WHERE name = 'victim')`
	for name, damage := range map[string]string{
		"first commit gone":      `DELETE FROM commits WHERE first = 1 AND` + mine,
		"last commit gone":       `DELETE FROM commits WHERE first = 3 AND` + mine,
		"all commits gone":       `DELETE FROM commits WHERE` + mine,
		"a commit too many":      `INSERT INTO commits (stream, first, events, crc) SELECT stream, 4, events, crc FROM commits WHERE first = 3 AND` + mine,
		"commits exchanged":      ``,
		"index entry gone":       `DELETE FROM commits_index WHERE` + mine,
		"index points elsewhere": `UPDATE commits_index SET id = id + 1 WHERE` + mine,
		"index points nowhere":   `UPDATE commits_index SET id = 999 WHERE` + mine,
		"another stream's":       `UPDATE commits SET events = (SELECT events FROM commits WHERE first = 3 LIMIT 1) WHERE first = 1 AND` + mine,
		"events moved by one":    `UPDATE commits SET first = first + 1 WHERE` + mine,
		"mail gone":              `DELETE FROM mail WHERE` + mine,
		"checkpoint gone":        `DELETE FROM checkpoints WHERE` + mine,
		"checkpoint of another":  `UPDATE checkpoints SET data = CAST('other' AS BLOB) WHERE` + mine,
		"row set back by commit": `UPDATE streams SET last = 2, chain = (SELECT crc FROM commits WHERE first = 1 AND` + mine + `) WHERE name = 'victim'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := sample(t)
			s := open(t, path)
			truth := audit(t, s)
			db := raw(t, path)
			if name == "commits exchanged" { // by way of a free id
				execSQL(t, db, `UPDATE commits SET id = -1 WHERE first = 1 AND`+mine)
				execSQL(t, db, `UPDATE commits SET id = 1 WHERE first = 3 AND`+mine)
				damage = `UPDATE commits SET id = 3 WHERE id = -1`
			}
			execSQL(t, db, damage)
			answers := audit(t, s)
			if list := lies(truth, answers); len(list) > 0 {
				t.Errorf("lies: %q", list)
			}
			list := refusals(answers)
			if len(list) == 0 {
				t.Error("nobody noticed")
			}
			for _, what := range list {
				if strings.HasPrefix(what, bystander) {
					t.Errorf("hurt %s", what)
				}
			}
		})
	}
}

// Where the end of the log was lost, ids are given again. What is written under
// them must be found all the same.
func TestInvariant23_WhatFollowsALostEndIsFound(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path)
	s.IndexEvery(1)
	commit(t, s, newStream("a", `{"n":1}`))
	commit(t, s, newStream("b", `{"n":1}`))
	commit(t, s, appendTo("b", 1, `{"n":2}`))
	execSQL(t, raw(t, path), `DELETE FROM commits WHERE id > 1`)
	next := open(t, path)
	commit(t, next, newStream("c", `{"n":1}`))
	commit(t, next, appendTo("c", 1, `{"n":2}`))
	for _, name := range []string{"a", "c"} {
		if _, err := next.Read(t.Context(), name, 0, 0); err != nil {
			t.Error(err)
		}
	}
	var d *store.DamagedError
	if _, err := next.Read(t.Context(), "b", 0, 0); !asError(err, &d) {
		t.Errorf("read what was lost: %v", err)
	}
}

func TestADamagedStreamIsNamedAndReadUpToTheDamage(t *testing.T) {
	t.Parallel()
	path := sample(t)
	s := open(t, path)
	execSQL(t, raw(t, path), `UPDATE commits SET events = '{"n":4}' WHERE first = 3 AND stream = (SELECT id FROM streams WHERE name = 'victim')`)
	groups, err := s.Read(t.Context(), victim, 0, 0)
	var d *store.DamagedError
	if !asError(err, &d) || d.Stream != victim || d.After != 2 || d.Reason == "" || len(groups) != 1 || len(groups[0].Events) != 2 {
		t.Errorf("read: %+v, %v", groups, err)
	}
	if h := head(t, s, victim); h.Damaged == "" || h.Last != 3 {
		t.Errorf("head after that: %+v", h)
	}
	page, err := s.List(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range page.Rows {
		if (r.Damaged != "") != (r.ID == victim) {
			t.Errorf("%s is listed as damaged: %q", r.ID, r.Damaged)
		}
	}
	// Everything else goes on.
	commit(t, s, newStream("new", `{}`))
}

// Pages are damaged and files cut anywhere: whatever the store still says is true.
func TestInvariant23_DamagedPages(t *testing.T) {
	t.Parallel()
	path := sample(t)
	intact := open(t, path)
	truth := audit(t, intact)
	if err := intact.Close(); err != nil {
		t.Fatal(err)
	}
	try := func(dir, what string, change func([]byte) []byte) {
		damaged := copyFile(t, path, dir, change)
		s, err := sqlite.Open(t.Context(), damaged, sqlite.Options{})
		if err != nil {
			return // refused
		}
		if list := lies(truth, audit(t, s)); len(list) > 0 {
			t.Errorf("%s: %s", what, strings.Join(list, "\n\t"))
		}
		_ = s.Close()
	}
	const page = 4096
	dir, size := t.TempDir(), 0
	copyFile(t, path, dir, func(b []byte) []byte { size = len(b); return b })
	rng := rand.New(rand.NewPCG(1, 2))
	for start := 0; start < size; start += page {
		// The page's header and first pointers, and anywhere.
		offsets := []int{0, 2, 3, 4, 5, 6, 8, 9, 11}
		for range 4 {
			offsets = append(offsets, rng.IntN(page))
		}
		for _, off := range offsets {
			at := start + off
			try(dir, fmt.Sprint("flip of byte ", at), func(b []byte) []byte {
				b[at] ^= 1 << rng.IntN(8)
				return b
			})
		}
		for _, at := range []int{start, start + 1 + rng.IntN(page-1)} {
			if at == 0 {
				continue // an empty file is a database that was never begun
			}
			try(dir, fmt.Sprint("cut at ", at), func(b []byte) []byte { return b[:at] })
		}
	}
}
