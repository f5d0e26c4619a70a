package sqlite

import (
	"context"
	"database/sql/driver"
)

// The journal is one log for all streams, and behind it an index of whose
// commits are where. Writing an index entry with each commit would touch one
// more page each time, a third of what a small commit writes. So the entries
// are made for indexEvery commits at once, and who looks for commits of a stream
// looks into the index and then through the end of the log.

const indexEvery = 256

// indexedUpTo is the greatest id that the index covers.
func indexedUpTo(ctx context.Context, c *conn) (upto int64, err error) {
	known := false
	err = c.query(ctx, `SELECT upto, crc FROM commits_indexed`, nil, func(v []driver.Value) error {
		cols := columns{v: v}
		upto = cols.int()
		known = cols.crc(indexedSum(upto))
		return nil
	})
	if err != nil || known {
		return upto, err
	}
	// Missing or damaged: the index itself knows.
	upto = 0
	err = c.query(ctx, `SELECT max(id) FROM commits_index`, nil, func(v []driver.Value) error {
		upto, _ = v[0].(int64)
		return nil
	})
	return upto, err
}

func indexedSum(upto int64) uint32 { return newSum("commits_indexed").int(upto).crc() }

// indexCommits makes the entries that are missing, once they are many. id is the
// commit written last.
func (w *writer) indexCommits(id int64) error {
	if id-w.indexed < w.s.indexEvery {
		return nil
	}
	ctx := context.Background()
	upto, err := indexedUpTo(ctx, w.conn) // another process may have been here
	if err != nil {
		return err
	}
	w.indexed = upto
	if id-upto < w.s.indexEvery {
		return nil
	}
	// A damaged row must not keep everybody from committing: one that claims the
	// place of another is left out.
	if _, err := w.conn.exec(`INSERT OR IGNORE INTO commits_index (stream, first, id)
		SELECT stream, first, id FROM commits WHERE id > ? ORDER BY stream, first`, upto); err != nil {
		return err
	}
	_, err = w.conn.exec(`INSERT OR REPLACE INTO commits_indexed (id, upto, crc) VALUES (1, ?, ?)`, id, indexedSum(id))
	return err
}

const (
	selectIndexed = `SELECT c.first, c.events, c.crc FROM commits_index i JOIN commits c ON c.id = i.id
		WHERE i.stream = ?1 AND i.first > ?2 ORDER BY i.first`
	selectRecent = `SELECT first, events, crc FROM commits WHERE id > ?3 AND stream = ?1 AND first > ?2 ORDER BY id`

	selectIndexedBefore = `SELECT c.first, c.events, c.crc FROM commits_index i JOIN commits c ON c.id = i.id
		WHERE i.stream = ?1 AND i.first <= ?2 ORDER BY i.first DESC LIMIT 1`
	selectRecentBefore = `SELECT first, events, crc FROM commits WHERE id > ?3 AND stream = ?1 AND first <= ?2 ORDER BY id DESC LIMIT 1`
)

// eachCommit calls f for a stream's commits that begin after an event, in order,
// with the columns first, events and crc.
func eachCommit(ctx context.Context, c *conn, stream int64, after uint64, f func(v []driver.Value) error) error {
	upto, err := indexedUpTo(ctx, c)
	if err != nil {
		return err
	}
	stopped := false
	watch := func(v []driver.Value) error {
		err := f(v)
		stopped = err != nil
		return err
	}
	if err := c.query(ctx, selectIndexed, []any{stream, clamp(after)}, watch); err != nil || stopped {
		return err
	}
	return c.query(ctx, selectRecent, []any{stream, clamp(after), upto}, f)
}

// commit is one row of the journal.
type commit struct {
	first  uint64
	events string
	crc    uint32
	bad    bool // it holds values that it cannot hold
}

// commitBefore finds the last commit of a stream that begins at or before an
// event, nil if there is none.
func commitBefore(ctx context.Context, c *conn, stream int64, sequence uint64) (found *commit, err error) {
	upto, err := indexedUpTo(ctx, c)
	if err != nil {
		return nil, err
	}
	take := func(v []driver.Value) error {
		cols := columns{v: v}
		found = &commit{first: uint64(cols.int()), events: cols.text(), crc: cols.sum()}
		found.bad = cols.bad
		return nil
	}
	if err := c.query(ctx, selectRecentBefore, []any{stream, clamp(sequence), upto}, take); err != nil || found != nil {
		return found, err
	}
	err = c.query(ctx, selectIndexedBefore, []any{stream, clamp(sequence)}, take)
	return found, err
}
