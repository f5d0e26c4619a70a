package docs_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
	_ "modernc.org/sqlite"

	"github.com/culm-dev/culm/run"
)

// The queries in the pages run on a database that Culm made.
func TestSQL(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	hello, err := filepath.Abs(filepath.Join(root, "examples", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	if out, status := culm("run", "hello", "--workspace", hello, "--data", data); status != 0 {
		t.Fatalf("exit status %d:\n%s", status, out)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(data, "culm.db"))+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, b := range blocks(t, "sql") {
		for _, statement := range strings.Split(strings.TrimSpace(b.text), ";") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			count, err := query(db, statement)
			if err != nil {
				t.Errorf("%s: %v\n%s", b, err, statement)
			}
			// One run's journal is asked for by an id that is an example.
			if count == 0 && !strings.Contains(statement, "WHERE stream = ") {
				t.Errorf("%s: no rows\n%s", b, statement)
			}
		}
	}
}

func query(db *sql.DB, statement string) (count int, err error) {
	found, err := db.Query(statement)
	if err != nil {
		return 0, err
	}
	defer found.Close()
	for found.Next() {
		count++
	}
	return count, found.Err()
}

// The jq programs in the pages run on journals that Culm wrote, and say something.
func TestJQ(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	hello, err := filepath.Abs(filepath.Join(root, "examples", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	if out, status := culm("run", "hello", "--workspace", hello, "--store", "file:"+data); status != 0 {
		t.Fatalf("exit status %d:\n%s", status, out)
	}
	journals, err := filepath.Glob(filepath.Join(data, "runs", "*", "journal.jsonl"))
	if err != nil || len(journals) != 1 {
		t.Fatalf("%d journals, %v", len(journals), err)
	}
	programs := 0
	for _, b := range blocks(t, "jq") {
		for _, program := range strings.Split(strings.TrimSpace(b.text), "\n\n") {
			programs++
			if said, err := jq(program, journals[0]); err != nil || said == 0 {
				t.Errorf("%s: it said %d lines, %v:\n%s", b, said, err, program)
			}
		}
	}
	if programs == 0 {
		t.Error("there are no programs")
	}
}

// jq runs a program as jq -n does, and counts what it says.
func jq(program, file string) (said int, err error) {
	query, err := gojq.Parse(program)
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	var events []any
	for line := range bytes.Lines(text) {
		var event any
		if err := json.Unmarshal(line, &event); err != nil {
			return 0, err
		}
		events = append(events, event)
	}
	code, err := gojq.Compile(query, gojq.WithInputIter(gojq.NewIter(events...)))
	if err != nil {
		return 0, err
	}
	for results := code.Run(nil); ; said++ {
		v, ok := results.Next()
		if !ok {
			return said, nil
		}
		if err, failed := v.(error); failed {
			return said, err
		}
	}
}

// The tables that the page lists are those of the database.
func TestTablesOfTheDatabase(t *testing.T) {
	t.Parallel()
	listed := " " + strings.Join(names(section(t, "docs/storage.md", "## Tables")), " ") + " "
	schema := read(t, "store/sqlite/schema.go")
	made := 0
	for line := range strings.Lines(schema) {
		rest, ok := strings.CutPrefix(line, "CREATE TABLE ")
		if !ok {
			continue
		}
		made++
		if name := strings.TrimSuffix(strings.TrimSpace(rest), " ("); !strings.Contains(listed, " "+name+" ") {
			t.Errorf("docs/storage.md does not have table %s", name)
		}
	}
	if made != len(strings.Fields(listed)) {
		t.Errorf("docs/storage.md lists %d tables, and %d are made", len(strings.Fields(listed)), made)
	}
}

// JSON in the pages is JSON, and what looks like a journal line is one.
func TestJSON(t *testing.T) {
	t.Parallel()
	events := 0
	for _, b := range blocks(t, "json") {
		for line := range strings.Lines(b.text) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s: not JSON: %s", b, line)
			}
			if strings.Contains(line, `"sequence"`) {
				events++
				if _, err := run.Decode([]byte(strings.TrimSpace(line))); err != nil {
					t.Errorf("%s: %v", b, err)
				}
			}
		}
	}
	if events == 0 {
		t.Error("found no journal lines")
	}
}
