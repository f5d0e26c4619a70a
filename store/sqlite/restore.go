package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/culm-dev/culm/store"
)

// Restore implements [store.Keeper].
func (s *Store) Restore(ctx context.Context, x *store.Extract) error {
	if err := x.Check(); err != nil {
		return fmt.Errorf("restore stream %s: %w", x.Stream, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := s.maintain(func(t *txn) error { return t.restore(ctx, x, x.Last()) })
	if err != nil {
		return fmt.Errorf("restore stream %s: %w", x.Stream, err)
	}
	return nil
}

// restore makes a stream. One whose journal is said to end later than it does is
// damaged: so Salvage marks what has lost its end.
func (t *txn) restore(ctx context.Context, x *store.Extract, last uint64) error {
	if row, err := findStream(ctx, t.c, x.Stream); row != nil || err != nil {
		if err == nil {
			err = store.ErrExists
		}
		return err
	}
	p := appendPlan{a: &store.Append{Stream: x.Stream}}
	row, err := p.base(ctx, t)
	if err != nil {
		return err
	}
	if err := row.setListing(&x.Row); err != nil {
		return err
	}
	row.epoch, row.last = x.Epoch, last
	if err := t.restoreJournal(row, x.Groups); err != nil {
		return err
	}
	if last != x.Last() {
		row.chain = ^row.chain // no commit of it ends so
	}
	if n := len(x.Mail); n > 0 {
		row.mailLast, row.mailWaiting = x.Mail[n-1].Number, uint64(n)
	}
	for i := range x.Mail {
		if err := t.restoreMail(row, &x.Mail[i]); err != nil {
			return err
		}
	}
	if err := p.store(t, row); err != nil {
		return err
	}
	for i := range x.Blobs {
		b := x.Blobs[i]
		b.Stream = x.Stream
		if err := t.blob(ctx, &b); err != nil {
			return err
		}
	}
	return t.restoreAccount(ctx, x.Account)
}

func (t *txn) restoreJournal(row *streamRow, groups []store.Group) error {
	for _, g := range groups {
		events := bytes.Join(g.Events, []byte{'\n'})
		row.chain = chain(row.chain, row.name, g.First, events)
		id, err := t.c.insert(`INSERT INTO commits (stream, first, events, crc) VALUES (?, ?, ?, ?)`,
			row.id, g.First, string(events), row.chain)
		if err != nil {
			return err
		}
		if err := t.w.noteCommit(id); err != nil {
			return err
		}
		t.lastCommit = id
		t.bytes += len(events) + 4096
	}
	t.signals = append(t.signals, row.name)
	return nil
}

// restoreMail puts back a message that nobody has taken, and that it was posted.
func (t *txn) restoreMail(row *streamRow, m *store.Mail) error {
	body, at := m.Body, timeText(m.At)
	if body == nil {
		body = []byte{}
	}
	t.bytes += len(body) + 2*4096
	if err := t.exec(`INSERT INTO mail (stream, number, message, body, at, crc) VALUES (?, ?, ?, ?, ?, ?)`,
		row.id, m.Number, m.ID, body, at, mailSum(row.name, m.Number, m.ID, at, body)); err != nil {
		return err
	}
	hash := sha256.Sum256(body)
	return t.exec(`INSERT INTO seen_mail (stream, message, tag, hash, crc) VALUES (?, ?, ?, ?, ?)`,
		row.id, m.ID, tag(row.name, m.ID), hash[:], seenSum(row.name, m.ID, hash[:]))
}

func (t *txn) restoreAccount(ctx context.Context, a *store.Account) error {
	if a == nil {
		return nil
	}
	old, err := findAccount(ctx, t.c, a.ID)
	switch {
	case err != nil:
		return err
	case old != nil:
		return fmt.Errorf("account %s: %w", a.ID, store.ErrExists)
	}
	return t.writeSpends([]*account{{Account: *a}})
}
