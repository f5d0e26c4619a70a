package checker

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ReadSQLite reads every run's journal of a data directory: what culm.db in it
// holds, with plain SQL and a connection that cannot write. A directory without a
// database has no runs, and a database whose tables are still to be made neither.
func ReadSQLite(dir string) ([]Journal, error) {
	path, err := filepath.Abs(filepath.Join(dir, "culm.db"))
	if err != nil {
		return nil, fmt.Errorf("read journals: %w", err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	source := url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro&_pragma=busy_timeout(60000)"}
	db, err := sql.Open("sqlite", source.String())
	if err != nil {
		return nil, fmt.Errorf("read journals: %w", err)
	}
	defer db.Close()
	tx, err := db.Begin() // one look at everything
	if err != nil {
		return nil, fmt.Errorf("read journals: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	journals, err := readJournals(tx)
	if unmade(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read journals of %s: %w", path, err)
	}
	return journals, nil
}

// unmade tells the error of a database whose maker died before it was in WAL mode:
// its first bytes are still to be rolled back, which a reader must not do.
func unmade(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_READONLY_ROLLBACK
}

func readJournals(tx *sql.Tx) ([]Journal, error) {
	var made bool
	if err := tx.QueryRow(`SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'streams'`).Scan(&made); err != nil || !made {
		return nil, err
	}
	rows, err := tx.Query(`
		SELECT s.name, c.events FROM streams s JOIN commits c ON c.stream = s.id
		WHERE s.kind = 'run' ORDER BY s.id, c.first`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	blobs, err := readBlobs(tx)
	if err != nil {
		return nil, err
	}
	var journals []Journal
	for rows.Next() {
		var run, events string
		if err := rows.Scan(&run, &events); err != nil {
			return nil, err
		}
		if n := len(journals); n == 0 || journals[n-1].Run != run {
			journals = append(journals, Journal{Run: run, Blob: blobs[run].get})
		}
		if events == "" { // a commit of something else than events
			continue
		}
		j := &journals[len(journals)-1]
		j.Commits = append(j.Commits, splitLines(events))
	}
	return journals, rows.Err()
}

func splitLines(events string) [][]byte {
	var lines [][]byte
	for line := range strings.SplitSeq(strings.TrimSuffix(events, "\n"), "\n") {
		lines = append(lines, []byte(line))
	}
	return lines
}

// blobs are a run's values that are kept beside its journal, by hash.
type blobs map[string][]byte

func (b blobs) get(sha256 string) ([]byte, error) {
	data, ok := b[sha256]
	if !ok {
		return nil, fmt.Errorf("no value %s is kept", sha256)
	}
	return data, nil
}

func readBlobs(tx *sql.Tx) (map[string]blobs, error) {
	rows, err := tx.Query(`SELECT s.name, b.hash, b.data FROM blobs b JOIN streams s ON s.id = b.stream`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := make(map[string]blobs)
	for rows.Next() {
		var run, hash string
		var data []byte
		if err := rows.Scan(&run, &hash, &data); err != nil {
			return nil, err
		}
		if all[run] == nil {
			all[run] = make(blobs)
		}
		all[run][hash] = data
	}
	return all, rows.Err()
}
