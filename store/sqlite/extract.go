package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"math"

	"github.com/culm-dev/culm/store"
)

// Extract implements [store.Keeper].
func (s *Store) Extract(ctx context.Context, stream string) (*store.Extract, error) {
	var x *store.Extract
	var damage error
	err := s.read(ctx, func(c *conn) error {
		row, err := findStream(ctx, c, stream)
		if row == nil {
			return err
		}
		x, damage, err = extract(ctx, c, row, err, false)
		return err
	})
	switch {
	case err != nil:
		err = asDamage(err, stream)
	case x == nil:
		err = store.ErrNotFound
	default:
		err = damage
	}
	if err != nil {
		s.state.NoteDamage(err)
		return x, fmt.Errorf("extract stream %s: %w", stream, err)
	}
	return x, nil
}

// extract reads what belongs to a stream. rowErr is what is wrong with its row;
// scan is for its journal (see journal). damage is the first that was found; err
// is what kept it from reading at all.
func extract(ctx context.Context, c *conn, row *streamRow, rowErr error, scan bool) (x *store.Extract, damage, err error) {
	x = &store.Extract{Stream: row.name, Row: row.listing, Epoch: row.epoch}
	x.Row.ID = row.name
	g := &gather{stream: row.name}
	j := &journal{ctx: ctx, c: c, row: row, maxBytes: math.MaxInt, scan: scan}
	if rowErr != nil {
		err = g.take(j.salvage(rowErr))
	} else {
		err = g.take(j.read())
	}
	x.Groups, g.after = j.groups, j.last
	if err == nil {
		x.Mail, err = readMail(ctx, c, row, 0)
		err = g.take(err)
	}
	if err == nil {
		var a *account
		if a, err = findAccount(ctx, c, row.name); a != nil {
			x.Account = &a.Account
		}
		err = g.take(err)
	}
	if err == nil {
		x.Blobs, err = readBlobs(ctx, c, row)
		err = g.take(err)
	}
	return x, g.result(), err
}

// readBlobs reads all the blobs of a stream that verify.
func readBlobs(ctx context.Context, c *conn, row *streamRow) (blobs []store.NewBlob, err error) {
	var damage error
	err = c.query(ctx, `SELECT hash, tag, data, crc FROM blobs WHERE stream = ? ORDER BY hash`, []any{row.id}, func(v []driver.Value) error {
		cols := columns{v: v}
		b := store.NewBlob{ID: cols.text()}
		storedTag := cols.int()
		b.Data = cols.bytes()
		if !cols.crc(blobSum(row.name, b.ID)) || storedTag != tag(row.name, b.ID) || store.BlobID(b.Data) != b.ID {
			damage = row.damaged("blob " + b.ID + " does not verify")
			return nil
		}
		blobs = append(blobs, b)
		return nil
	})
	if err == nil {
		err = damage
	}
	return blobs, err
}

// Raw implements [store.Keeper].
func (s *Store) Raw(ctx context.Context, stream string, w io.Writer) error {
	found := false
	err := s.read(ctx, func(c *conn) error {
		row, err := findStream(ctx, c, stream)
		if row == nil {
			return err
		}
		found = true
		return eachCommit(ctx, c, row.id, 0, func(cm *commit) error {
			_, err := io.WriteString(w, cm.events+"\n")
			return err
		})
	})
	if err == nil && !found {
		err = store.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("read what is stored of stream %s: %w", stream, asDamage(err, stream))
	}
	return nil
}
