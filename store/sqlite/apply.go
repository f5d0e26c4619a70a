package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/culm-dev/culm/store"
)

// apply checks one batch against the data, and only when all of it holds writes
// it. What it returns is the batch's own result.
func (t *txn) apply(ctx context.Context, r *request) error {
	b := r.batch
	plans := make([]appendPlan, len(b.Appends))
	replayed, fresh := 0, 0
	for i := range b.Appends {
		plans[i] = appendPlan{a: &b.Appends[i], events: r.events[i]}
		if err := plans[i].check(ctx, t); err != nil {
			return fmt.Errorf("append to stream %s: %w", b.Appends[i].Stream, err)
		}
		if plans[i].replay {
			replayed++
		} else {
			fresh++
		}
	}
	if replayed > 0 {
		// The batch was committed as a whole before, or this is another one.
		if fresh > 0 {
			return fmt.Errorf("append to stream %s: %w", b.Appends[0].Stream, store.ErrConflict)
		}
		return nil
	}
	if err := t.checkKeys(ctx, b.Keys); err != nil {
		return err
	}
	spends, err := t.checkSpends(ctx, b.Spends)
	if err != nil {
		return err
	}
	for i := range plans {
		if err := plans[i].write(ctx, t); err != nil {
			return fmt.Errorf("append to stream %s: %w", plans[i].a.Stream, err)
		}
	}
	for i := range b.Posts {
		if err := t.post(ctx, &b.Posts[i], r); err != nil {
			return fmt.Errorf("post to stream %s: %w", b.Posts[i].Stream, err)
		}
	}
	for i := range b.Blobs {
		if err := t.blob(ctx, &b.Blobs[i]); err != nil {
			return fmt.Errorf("write blob of stream %s: %w", b.Blobs[i].Stream, err)
		}
	}
	if err := t.writeKeys(b.Keys); err != nil {
		return err
	}
	return t.writeSpends(spends)
}

// appendPlan is one append, checked and ready to be written.
type appendPlan struct {
	a      *store.Append
	events string
	old    *streamRow // nil for a stream to be made
	replay bool       // exactly this was appended before
}

func (p *appendPlan) check(ctx context.Context, t *txn) error {
	a := p.a
	row, err := t.row(ctx, a.Stream)
	if err != nil {
		return err
	}
	p.old = row
	if row == nil {
		if !a.Create {
			return store.ErrNotFound
		}
		return nil
	}
	if p.replay, err = p.isReplay(ctx, t); err != nil || p.replay {
		return err
	}
	switch {
	case a.Create:
		return store.ErrExists
	case a.Claim != nil:
		if err := t.checkClaim(a.Claim, row); err != nil {
			return err
		}
	case row.owner != t.w.s.id:
		return store.ErrNotOwner
	}
	if a.Expect != row.last {
		return fmt.Errorf("expected %d events, there are %d: %w", a.Expect, row.last, store.ErrConflict)
	}
	if n := a.IfNoMailAfter; n != nil && row.mailWaiting > 0 && row.mailLast > *n {
		if err := t.noMailAfter(ctx, row, *n); err != nil {
			return err
		}
	}
	return t.checkTake(ctx, row, a.TakeMail)
}

// isReplay tells whether the journal holds exactly this append already: the
// batch is repeated because the reply to the first was lost.
func (p *appendPlan) isReplay(ctx context.Context, t *txn) (found bool, err error) {
	if p.events == "" || p.a.Expect >= p.old.last {
		return false, nil
	}
	c, err := commitBefore(ctx, t.c, p.old.id, p.a.Expect+1)
	if err != nil || c == nil {
		return false, err
	}
	return !c.bad && c.first == p.a.Expect+1 && c.events == p.events, nil
}

// checkClaim is the comparing half of taking over; the other half is that the
// row is only written if it still is the one compared.
func (t *txn) checkClaim(held store.Claim, row *streamRow) error {
	c, ok := held.(*claim)
	if !ok || c.s != t.w.s || c.Released() || c.owner != row.owner || c.epoch != row.epoch {
		return store.ErrNotOwner
	}
	return nil
}

func (p *appendPlan) write(ctx context.Context, t *txn) error {
	a := p.a
	row, err := p.base(ctx, t)
	if err != nil {
		return err
	}
	first := row.last + 1
	if len(a.Events) > 0 {
		row.last += uint64(len(a.Events))
		row.chain = chain(row.chain, row.name, first, []byte(p.events))
	}
	if a.Create || a.Claim != nil {
		row.owner = t.w.s.id
		row.epoch++
	}
	if a.Release {
		row.owner = ""
	}
	row.mailWaiting -= uint64(len(a.TakeMail))
	if a.Row != nil {
		if err := row.setListing(a.Row); err != nil {
			return err
		}
	}
	if a.Checkpoint != nil {
		row.checkpointAt = int64(row.last)
	}
	if err := p.store(t, row); err != nil {
		return err
	}
	if len(a.Events) > 0 {
		t.bytes += len(p.events) + 3*4096
		t.signals = append(t.signals, row.name)
		id, err := t.c.insert(`INSERT INTO commits (stream, first, events, crc) VALUES (?, ?, ?, ?)`,
			row.id, first, p.events, row.chain)
		if err != nil {
			return err
		}
		if err := t.w.noteCommit(id); err != nil {
			return err
		}
		t.lastCommit = id
	}
	if err := t.takeMail(row, a.TakeMail); err != nil {
		return err
	}
	if a.Checkpoint == nil {
		return nil
	}
	t.bytes += len(a.Checkpoint)
	return t.exec(`INSERT OR REPLACE INTO checkpoints (stream, at, data, crc) VALUES (?, ?, ?, ?)`,
		row.id, row.checkpointAt, a.Checkpoint, checkpointSum(row.name, row.checkpointAt, a.Checkpoint))
}

// base is the row to start from: a copy of the old one, or a new one.
func (p *appendPlan) base(ctx context.Context, t *txn) (*streamRow, error) {
	if p.old != nil {
		row := *p.old
		return &row, nil
	}
	row := &streamRow{name: p.a.Stream, checkpointAt: -1, labels: "{}"}
	err := t.c.query(ctx, `SELECT max(id) FROM streams`, nil, func(v []driver.Value) error {
		greatest, _ := v[0].(int64)
		row.id = greatest + 1
		return nil
	})
	return row, err
}

func (p *appendPlan) store(t *txn, row *streamRow) error {
	if p.old != nil {
		return t.put(row, p.old, p.a.Row != nil)
	}
	row.crc = row.sum()
	if err := t.exec(insertStream, row.values()...); err != nil {
		return err
	}
	t.bytes += 4 * 4096
	t.use(row)
	return nil
}

func checkpointSum(stream string, at int64, data []byte) uint32 {
	return newSum("checkpoints").text(stream).int(at).crcWith(data)
}

// blob keeps a value beside its stream's journal. The same value again costs
// nothing, and mends one that was damaged.
func (t *txn) blob(ctx context.Context, b *store.NewBlob) error {
	row, err := t.row(ctx, b.Stream)
	if err != nil {
		return err
	}
	if row == nil {
		return store.ErrNotFound
	}
	data := b.Data
	if data == nil {
		data = []byte{}
	}
	t.bytes += len(data) + 2*4096
	return t.exec(`INSERT INTO blobs (stream, hash, tag, data, crc) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (stream, hash) DO UPDATE SET tag = excluded.tag, data = excluded.data, crc = excluded.crc
		WHERE data <> excluded.data OR tag <> excluded.tag OR crc <> excluded.crc`,
		row.id, b.ID, tag(b.Stream, b.ID), data, blobSum(b.Stream, b.ID))
}

// blobSum covers the columns of a blob but its data, which its hash covers.
func blobSum(stream, hash string) uint32 {
	return newSum("blobs").text(stream).text(hash).crc()
}
