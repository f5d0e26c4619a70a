package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/culm-dev/culm/store"
)

const defaultReadBytes = 1 << 20

// findStream reads a stream's row, nil if there is none. The row is looked for
// by its name and by the hash of it, so that one whose name was damaged is
// damage and not a stream that never was.
func findStream(ctx context.Context, c *conn, name string) (found *streamRow, err error) {
	damage, rest := "", streamRow{}
	err = c.query(ctx, selectStream, []any{tag(name), name}, func(v []driver.Value) error {
		row, bad := scanStream(v)
		switch {
		case bad != "":
			damage, rest = bad, row
		case row.name == name:
			found = &row
		}
		return nil
	})
	if err == nil && found == nil && damage != "" {
		rest.name = name
		return &rest, rest.damaged(damage)
	}
	return found, err
}

// asDamage names the stream of a damaged page: what cannot be read of a stream
// is damage of it, and need not keep anybody from the others.
func asDamage(err error, stream string) error {
	var d *store.DamagedError
	if err == nil || errors.As(err, &d) || !corrupt(err) {
		return err
	}
	return errors.Join(&store.DamagedError{Stream: stream, Reason: err.Error()}, err)
}

// Read implements [store.Store].
func (s *Store) Read(ctx context.Context, stream string, after uint64, maxBytes int) ([]store.Group, error) {
	if maxBytes <= 0 {
		maxBytes = defaultReadBytes
	}
	j := &journal{ctx: ctx, after: after, maxBytes: maxBytes}
	err := s.read(ctx, func(c *conn) (err error) {
		j.c = c
		if j.row, err = findStream(ctx, c, stream); j.row == nil {
			return err
		}
		if err != nil {
			return j.salvage(err)
		}
		return j.read()
	})
	if err == nil && j.row == nil {
		err = store.ErrNotFound
	}
	if err != nil {
		err = asDamage(err, stream)
		s.state.NoteDamage(err)
		return j.groups, fmt.Errorf("read stream %s: %w", stream, err)
	}
	return j.groups, nil
}

// journal reads and verifies a stretch of one stream's commits.
type journal struct {
	ctx      context.Context
	c        *conn
	row      *streamRow
	after    uint64
	maxBytes int
	// scan reads the whole log instead of the index, which may be what is damaged.
	scan bool

	groups []store.Group
	last   uint64 // sequence of the last event verified
	crc    uint32 // of its commit
}

func (j *journal) damaged(format string, args ...any) error {
	return &store.DamagedError{Stream: j.row.name, After: j.last, Reason: fmt.Sprintf(format, args...)}
}

func (j *journal) each(f func(*commit) error) error {
	if j.scan {
		return scanCommits(j.ctx, j.c, j.row.id, j.last, f)
	}
	return eachCommit(j.ctx, j.c, j.row.id, j.last, f)
}

func (j *journal) read() error {
	if j.after > j.row.last {
		return nil
	}
	if err := j.seek(); err != nil {
		return err
	}
	size, full := 0, false
	err := j.each(func(c *commit) error {
		events, err := j.verify(c)
		if err != nil {
			return err
		}
		for _, e := range events {
			size += len(e)
		}
		if full = size >= j.maxBytes && j.last < j.row.last; full {
			return errStop
		}
		return nil
	})
	if err != nil || full {
		return err
	}
	if j.last != j.row.last || j.crc != j.row.chain {
		return j.damaged("its journal ends at event %d, its row says %d", j.last, j.row.last)
	}
	return nil
}

// salvage reads what verifies of a journal whose stream's row is damaged: each of
// its commits vouches for the stream's name and for all commits before it. Where the
// journal ends nobody knows, so that the damage is the result all the same.
func (j *journal) salvage(damage error) error {
	j.row.last = math.MaxUint64
	size := 0
	err := j.seek()
	if err == nil {
		err = j.each(func(c *commit) error {
			events, err := j.verify(c)
			if err != nil {
				return err
			}
			for _, e := range events {
				size += len(e)
			}
			if size >= j.maxBytes {
				return errStop
			}
			return nil
		})
	}
	var d *store.DamagedError
	if err != nil && !errors.As(err, &d) {
		return errors.Join(damage, err)
	}
	if errors.As(damage, &d) {
		return j.damaged("%s", d.Reason)
	}
	return damage
}

// seek finds the commit before the first one to verify: the last one that holds
// nothing after j.after.
func (j *journal) seek() error {
	at := j.after
	for at > 0 {
		first, count, crc, err := j.commitWith(at)
		if err != nil {
			return err
		}
		if last := first + count - 1; last <= j.after {
			j.last, j.crc = last, crc
			return nil
		}
		at = first - 1 // j.after is inside this one
	}
	return nil
}

// commitWith looks a commit up by an event that should be in it.
func (j *journal) commitWith(sequence uint64) (first, count uint64, crc uint32, err error) {
	found, err := commitBefore(j.ctx, j.c, j.row.id, sequence)
	if err != nil {
		return 0, 0, 0, err
	}
	if found != nil && !found.bad {
		first, count = found.first, uint64(strings.Count(found.events, "\n")+1)
	}
	if first+count-1 < sequence || count == 0 {
		return 0, 0, 0, j.damaged("event %d is missing", sequence)
	}
	return first, count, found.crc, nil
}

// verify checks one commit against the one before and keeps what is wanted of it.
func (j *journal) verify(c *commit) ([][]byte, error) {
	first, text := c.first, []byte(c.events)
	switch {
	case first != j.last+1:
		return nil, j.damaged("the commit after event %d begins with event %d", j.last, first)
	case c.bad || chain(j.crc, j.row.name, first, text) != c.crc:
		return nil, j.damaged("the checksum of the commit that begins with event %d does not match", first)
	}
	events := bytes.Split(text, []byte{'\n'})
	last := j.last + uint64(len(events))
	if last > j.row.last {
		return nil, j.damaged("its journal goes on after event %d, where its row says it ends", j.row.last)
	}
	j.last, j.crc = last, c.crc
	if first <= j.after { // the caller has the beginning of this one
		events = events[j.after+1-first:]
		first = j.after + 1
	}
	j.groups = append(j.groups, store.Group{First: first, Events: events})
	return events, nil
}

// Head implements [store.Store]. A damaged stream gives what could be read of
// it, with a [store.DamagedError] if it is the head itself that is damaged.
func (s *Store) Head(ctx context.Context, stream string) (store.Head, error) {
	head := store.Head{Stream: stream}
	var row *streamRow
	err := s.read(ctx, func(c *conn) (err error) {
		if row, err = findStream(ctx, c, stream); err != nil || row == nil {
			return err
		}
		if err := checkTail(ctx, c, row); err != nil {
			return err
		}
		head.Checkpoint, err = readCheckpoint(ctx, c, row)
		return err
	})
	if err == nil && row == nil {
		err = store.ErrNotFound
	}
	err = asDamage(err, stream)
	if row != nil {
		head.Last, head.Row = row.last, row.listing
		if head.Checkpoint != nil {
			head.CheckpointAt = uint64(row.checkpointAt)
		}
		owner, oerr := s.locks.owner(row)
		head.Owner = owner
		if err == nil {
			err = oerr
		}
	}
	var d *store.DamagedError
	if errors.As(err, &d) {
		head.Damaged = d.Reason
	} else {
		head.Damaged = s.state.KnownDamage(stream)
	}
	if err != nil {
		return head, fmt.Errorf("read head of stream %s: %w", stream, err)
	}
	return head, nil
}

// checkTail compares the end of the journal with the stream's row.
func checkTail(ctx context.Context, c *conn, row *streamRow) error {
	tail, err := commitBefore(ctx, c, row.id, math.MaxInt64)
	if err != nil {
		return err
	}
	if tail == nil {
		tail = &commit{}
	}
	if tail.bad || tail.first > row.last || tail.crc != row.chain || (tail.first == 0) != (row.last == 0) {
		return row.damaged(fmt.Sprintf("its journal does not end at event %d, where its row says", row.last))
	}
	return nil
}

func readCheckpoint(ctx context.Context, c *conn, row *streamRow) (data []byte, err error) {
	if row.checkpointAt < 0 {
		return nil, nil
	}
	good := false
	err = c.query(ctx, `SELECT at, data, crc FROM checkpoints WHERE stream = ?`, []any{row.id}, func(v []driver.Value) error {
		cols := columns{v: v}
		at, read := cols.int(), cols.bytes()
		if good = cols.crc(checkpointSum(row.name, at, read)) && at == row.checkpointAt; good {
			data = read
		}
		return nil
	})
	if err == nil && !good {
		err = row.damaged(fmt.Sprintf("its checkpoint at event %d is missing or does not verify", row.checkpointAt))
	}
	return data, err
}

// Blob implements [store.Store].
func (s *Store) Blob(ctx context.Context, stream, id string) ([]byte, error) {
	var data []byte
	err := s.read(ctx, func(c *conn) error {
		row, err := findStream(ctx, c, stream)
		if row == nil {
			return err
		}
		// A blob vouches for itself, even where its stream's row is damaged.
		blob, berr := readBlob(ctx, c, row, id)
		if berr != nil || blob == nil {
			return errors.Join(err, berr)
		}
		data = blob
		return nil
	})
	if err == nil && data == nil {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read blob %s of stream %s: %w", id, stream, asDamage(err, stream))
	}
	return data, nil
}

func readBlob(ctx context.Context, c *conn, row *streamRow, id string) (data []byte, err error) {
	found := false
	err = c.query(ctx, `SELECT stream, hash, tag, data, crc FROM blobs WHERE tag = ? OR (stream = ? AND hash = ?)`,
		[]any{tag(row.name, id), row.id, id}, func(v []driver.Value) error {
			found = true
			cols := columns{v: v}
			stream, hash, storedTag, read := cols.int(), cols.text(), cols.int(), cols.bytes()
			if cols.crc(blobSum(row.name, id)) && stream == row.id && hash == id &&
				storedTag == tag(row.name, id) && store.BlobID(read) == id {
				data = read
			}
			return nil
		})
	if err == nil && found && data == nil {
		err = row.damaged("blob " + id + " does not verify")
	}
	return data, err
}
