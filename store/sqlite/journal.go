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
	err = w.conn.query(ctx, `SELECT max(id) FROM commits`, nil, func(v []driver.Value) error {
		id, _ = v[0].(int64) // a member that was rolled back may have had a greater one
		return nil
	})
	if err != nil {
		return err
	}
	return w.setIndexed(id)
}

func (w *writer) setIndexed(upto int64) error {
	_, err := w.conn.exec(`INSERT OR REPLACE INTO commits_indexed (id, upto, crc) VALUES (1, ?, ?)`, upto, indexedSum(upto))
	return err
}

// noteCommit looks at the id that a commit got. They follow each other while
// this handle is alone; when one does not, it is made sure that it is beyond
// what the index covers. It is not if damage took the end of the log away: then
// the index is set back, or readers would not find what is written now.
func (w *writer) noteCommit(id int64) error {
	expected := id == w.highest+1
	w.highest = id
	if expected {
		return nil
	}
	upto, err := indexedUpTo(context.Background(), w.conn)
	if err != nil || id > upto {
		return err
	}
	if _, err := w.conn.exec(`DELETE FROM commits_index WHERE id >= ?`, id); err != nil {
		return err
	}
	w.indexed = id - 1
	return w.setIndexed(id - 1)
}

// The last column tells whether the commit is the one that the index means.
const (
	selectIndexed = `SELECT i.first, c.events, c.crc, c.stream = i.stream AND c.first = i.first
		FROM commits_index i JOIN commits c ON c.id = i.id
		WHERE i.stream = ?1 AND i.first > ?2 ORDER BY i.first`
	selectRecent = `SELECT first, events, crc, 1 FROM commits WHERE id > ?3 AND stream = ?1 AND first > ?2 ORDER BY id`

	selectIndexedBefore = `SELECT i.first, c.events, c.crc, c.stream = i.stream AND c.first = i.first
		FROM commits_index i JOIN commits c ON c.id = i.id
		WHERE i.stream = ?1 AND i.first <= ?2 ORDER BY i.first DESC LIMIT 1`
	selectRecentBefore = `SELECT first, events, crc, 1 FROM commits WHERE id > ?3 AND stream = ?1 AND first <= ?2 ORDER BY id DESC LIMIT 1`
)

// commit is one row of the journal.
type commit struct {
	first  uint64
	events string
	crc    uint32
	bad    bool // it cannot be what was written
}

func scanCommit(v []driver.Value) *commit {
	cols := columns{v: v}
	c := &commit{first: uint64(cols.int()), events: cols.text(), crc: cols.sum()}
	c.bad = cols.int() != 1 || cols.bad || c.first == 0
	return c
}

// eachCommit calls f for a stream's commits that begin after an event, in order.
func eachCommit(ctx context.Context, c *conn, stream int64, after uint64, f func(*commit) error) error {
	upto, err := indexedUpTo(ctx, c)
	if err != nil {
		return err
	}
	stopped := false
	each := func(v []driver.Value) error {
		err := f(scanCommit(v))
		stopped = err != nil
		return err
	}
	if err := c.query(ctx, selectIndexed, []any{stream, clamp(after)}, each); err != nil || stopped {
		return err
	}
	return c.query(ctx, selectRecent, []any{stream, clamp(after), upto}, each)
}

// scanCommits is eachCommit without the index.
func scanCommits(ctx context.Context, c *conn, stream int64, after uint64, f func(*commit) error) error {
	return c.query(ctx, `SELECT first, events, crc, 1 FROM commits NOT INDEXED WHERE stream = ? AND first > ? ORDER BY id`,
		[]any{stream, clamp(after)}, func(v []driver.Value) error { return f(scanCommit(v)) })
}

// commitBefore finds the last commit of a stream that begins at or before an
// event, nil if there is none.
func commitBefore(ctx context.Context, c *conn, stream int64, sequence uint64) (found *commit, err error) {
	upto, err := indexedUpTo(ctx, c)
	if err != nil {
		return nil, err
	}
	take := func(v []driver.Value) error {
		found = scanCommit(v)
		return nil
	}
	if err := c.query(ctx, selectRecentBefore, []any{stream, clamp(sequence), upto}, take); err != nil || found != nil {
		return found, err
	}
	err = c.query(ctx, selectIndexedBefore, []any{stream, clamp(sequence)}, take)
	return found, err
}
