package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/internal/handle"
)

// How much one step of a removal deletes, so that nobody waits long for it.
const (
	removeRows  = 256
	removeBytes = 1 << 20
)

// kindRemoved is the kind of streams whose removal is under way. They have lost
// their name, and listings leave them out.
const kindRemoved = "(removed)"

// noStream stands in commits for a row that belongs to no stream any more and is
// kept because it is the last one: ids of commits must not be given twice, or
// those who look for new ones would miss them.
const noStream = 0

// Remove implements [store.Keeper]. A small stream goes in one transaction. The
// first step of a larger one takes its name away; whatever stops the rest,
// Compact goes on with it.
func (s *Store) Remove(ctx context.Context, stream string, last uint64) error {
	c, err := s.claim(ctx, stream) // nobody owns it, nor begins to
	if err != nil {
		return fmt.Errorf("remove stream %s: %w", stream, err)
	}
	defer c.Close()
	id := int64(0)
	err = s.maintain(func(t *txn) error {
		row, err := findStream(ctx, t.c, stream)
		switch {
		case err != nil:
			return err
		case row == nil:
			return store.ErrNotFound
		case row.last != last:
			return fmt.Errorf("it has %d events, not %d: %w", row.last, last, store.ErrConflict)
		case row.owner != c.owner || row.epoch != c.epoch:
			return store.ErrOwned
		}
		id, err = t.bury(row)
		return err
	})
	for err == nil && id != 0 {
		if err = ctx.Err(); err == nil {
			id, err = s.removeStep(id)
		}
	}
	if err != nil {
		return fmt.Errorf("remove stream %s: %w", stream, err)
	}
	return nil
}

// bury takes the stream's name away and deletes the first of it. It returns the
// id of what is left, 0 if nothing is.
func (t *txn) bury(row *streamRow) (int64, error) {
	if err := t.exec(`DELETE FROM accounts WHERE name = ?`, row.name); err != nil {
		return 0, err
	}
	delete(t.w.owned, row.name)
	more, err := t.removeSome(row.id)
	if err != nil || !more {
		return 0, err
	}
	name, err := handle.NewID()
	if err != nil {
		return 0, err
	}
	buried := streamRow{id: row.id, name: kindRemoved + name, labels: "{}", checkpointAt: -1, listing: store.Row{Kind: kindRemoved, Created: row.listing.Created}}
	buried.crc = buried.sum()
	if err := t.exec(`DELETE FROM streams WHERE id = ?`, row.id); err != nil {
		return 0, err
	}
	return row.id, t.exec(insertStream, buried.values()...)
}

// removeStep deletes more of a buried stream, and returns the id of what is left.
func (s *Store) removeStep(id int64) (left int64, err error) {
	err = s.maintain(func(t *txn) error {
		more, err := t.removeSome(id)
		if more {
			left = id
		}
		return err
	})
	return left, err
}

// removeSome deletes a step's worth of a stream, and with the last of it its row.
// It tells whether there is more.
func (t *txn) removeSome(id int64) (more bool, err error) {
	budget := removeBytes
	for _, part := range []func(int64, *int) (bool, error){t.removeBlobs, t.removeCommits} {
		more, err := part(id, &budget)
		if more || err != nil {
			return more, err
		}
	}
	for _, table := range []string{"mail", "seen_mail", "checkpoints"} {
		if err := t.exec(`DELETE FROM `+table+` WHERE stream = ?`, id); err != nil {
			return false, err
		}
	}
	if _, err := t.removeCommits(noStream, &budget); err != nil {
		return false, err
	}
	return false, t.exec(`DELETE FROM streams WHERE id = ?`, id)
}

func (t *txn) removeBlobs(stream int64, budget *int) (more bool, err error) {
	var ids []int64
	err = t.c.query(context.Background(), `SELECT id, length(data) FROM blobs WHERE stream = ?`, []any{stream}, func(v []driver.Value) error {
		if len(ids) > 0 && *budget <= 0 {
			more = true
			return errStop
		}
		id, _ := v[0].(int64)
		size, _ := v[1].(int64)
		ids = append(ids, id)
		*budget -= int(size)
		return nil
	})
	for _, id := range ids {
		if err == nil {
			err = t.exec(`DELETE FROM blobs WHERE id = ?`, id)
		}
	}
	return more, err
}

// removeCommits deletes rows of the journal and their index entries, but never
// the greatest id.
func (t *txn) removeCommits(stream int64, budget *int) (more bool, err error) {
	ctx := context.Background()
	upto, err := indexedUpTo(ctx, t.c)
	if err != nil {
		return false, err
	}
	greatest := int64(0)
	if err := t.c.query(ctx, `SELECT max(id) FROM commits`, nil, func(v []driver.Value) error {
		greatest, _ = v[0].(int64)
		return nil
	}); err != nil {
		return false, err
	}
	rows := 0
	full := func() bool { return rows >= removeRows || *budget <= 0 }
	type entry struct{ id, first int64 }
	var indexed, recent []entry
	collect := func(into *[]entry) func(v []driver.Value) error {
		return func(v []driver.Value) error {
			id, _ := v[0].(int64)
			first, _ := v[1].(int64)
			size, _ := v[2].(int64)
			if stream == noStream && id == greatest {
				return nil // it is needed still
			}
			if full() {
				more = true
				return errStop
			}
			rows++
			*budget -= int(size)
			*into = append(*into, entry{id, first})
			return nil
		}
	}
	if err := t.c.query(ctx, `SELECT i.id, i.first, length(c.events) FROM commits_index i LEFT JOIN commits c ON c.id = i.id
		WHERE i.stream = ?`, []any{stream}, collect(&indexed)); err != nil {
		return false, err
	}
	if err := t.c.query(ctx, `SELECT id, first, length(events) FROM commits WHERE id > ? AND stream = ?`,
		[]any{upto, stream}, collect(&recent)); err != nil {
		return false, err
	}
	for _, e := range indexed {
		if err := t.exec(`DELETE FROM commits_index WHERE stream = ? AND first = ?`, stream, e.first); err != nil {
			return false, err
		}
	}
	for _, e := range append(indexed, recent...) {
		if err := t.removeCommit(stream, e.id, greatest, upto); err != nil {
			return false, err
		}
	}
	return more, nil
}

func (t *txn) removeCommit(stream, id, greatest, upto int64) error {
	if id < greatest {
		return t.exec(`DELETE FROM commits WHERE id = ? AND stream = ?`, id, stream)
	}
	if err := t.exec(`UPDATE commits SET stream = ?, first = id, events = '', crc = 0 WHERE id = ? AND stream = ?`, noStream, id, stream); err != nil {
		return err
	}
	if id > upto {
		return nil // the index comes to it
	}
	return t.exec(`INSERT OR REPLACE INTO commits_index (stream, first, id) VALUES (?, ?, ?)`, noStream, id, id)
}

// Forget implements [store.Keeper].
func (s *Store) Forget(ctx context.Context, before time.Time) (int, error) {
	forgotten := 0
	for after := int64(0); ; {
		found, next, err := s.forgettable(ctx, before, after)
		if err == nil && len(found) > 0 {
			err = s.maintain(func(t *txn) error { return t.forget(ctx, found, &forgotten) })
		}
		if err != nil {
			return forgotten, fmt.Errorf("forget keys: %w", err)
		}
		if next == 0 {
			return forgotten, nil
		}
		after = next
	}
}

// keyRow is a key, and where it stands.
type keyRow struct {
	id     int64
	stream string
}

// forgettable looks at some keys, and tells where to go on; 0 at the end.
func (s *Store) forgettable(ctx context.Context, before time.Time, after int64) (found []keyRow, next int64, err error) {
	err = s.read(ctx, func(c *conn) error {
		rows := 0
		err := eachKey(ctx, c, after, removeRows, func(id int64, k *store.KeyRecord, good bool) error {
			rows++
			next = id
			if good && k.At.Before(before) {
				found = append(found, keyRow{id, k.Stream})
			}
			return nil
		})
		if rows < removeRows {
			next = 0
		}
		return err
	})
	return found, next, err
}

// forget deletes those of the keys whose stream is gone.
func (t *txn) forget(ctx context.Context, keys []keyRow, forgotten *int) error {
	n := 0
	for _, k := range keys {
		row, err := findStream(ctx, t.c, k.stream)
		if row != nil || err != nil {
			continue // it is there, or may be
		}
		if err := t.exec(`DELETE FROM keys WHERE id = ?`, k.id); err != nil {
			return err
		}
		n++
	}
	*forgotten += n
	return nil
}

// eachKey gives keys in the order of their rows, and whether each verifies.
func eachKey(ctx context.Context, c *conn, after int64, limit int, f func(id int64, k *store.KeyRecord, good bool) error) error {
	return c.query(ctx, `SELECT id, scope, key, tag, hash, stream, at, crc FROM keys WHERE id > ? ORDER BY id LIMIT ?`,
		[]any{after, limit}, func(v []driver.Value) error {
			cols := columns{v: v}
			id := cols.int()
			k := &store.KeyRecord{Scope: cols.text(), Key: cols.text()}
			storedTag := cols.int()
			k.Hash, k.Stream = cols.text(), cols.text()
			at := cols.text()
			when, err := parseTime(at)
			good := cols.crc(keySum(k, at)) && storedTag == tag(k.Scope, k.Key) && err == nil
			k.At = when
			return f(id, k, good)
		})
}
