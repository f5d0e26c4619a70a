package file

import (
	"bytes"
	"fmt"
	"maps"

	"github.com/culm-dev/culm/store"
)

// apply checks one batch, and takes it into the group if all of it holds.
func (t *txn) apply(r *request) error {
	b := r.batch
	replayed, err := t.replayed(b)
	if err != nil || replayed {
		return err
	}
	for i := range b.Appends {
		if err := t.append(&b.Appends[i]); err != nil {
			return fmt.Errorf("append to stream %s: %w", b.Appends[i].Stream, err)
		}
	}
	if err := t.takeKeys(b.Keys); err != nil {
		return err
	}
	if err := t.spend(b.Spends); err != nil {
		return err
	}
	for i := range b.Posts {
		if err := t.post(&b.Posts[i], r); err != nil {
			return fmt.Errorf("post to stream %s: %w", b.Posts[i].Stream, err)
		}
	}
	for i := range b.Blobs {
		if err := t.blob(&b.Blobs[i]); err != nil {
			return fmt.Errorf("write blob of stream %s: %w", b.Blobs[i].Stream, err)
		}
	}
	return nil
}

// replayed tells whether the batch was committed before, as a whole: it is repeated
// because the reply to the first was lost.
func (t *txn) replayed(b *store.Batch) (bool, error) {
	replayed := 0
	for i := range b.Appends {
		again, err := t.isReplay(&b.Appends[i])
		if err != nil {
			return false, fmt.Errorf("append to stream %s: %w", b.Appends[i].Stream, err)
		}
		if again {
			replayed++
		}
	}
	if replayed > 0 && replayed < len(b.Appends) {
		return false, fmt.Errorf("append to stream %s: %w", b.Appends[0].Stream, store.ErrConflict)
	}
	return replayed > 0, nil
}

// isReplay tells whether the journal holds exactly this append already.
func (t *txn) isReplay(a *store.Append) (bool, error) {
	if len(a.Events) == 0 {
		return false, nil
	}
	c, err := t.stream(a.Stream)
	if c == nil || err != nil || a.Expect >= c.head.Last {
		return false, err
	}
	durable := uint64(0)
	if c.was != nil {
		durable = c.was.Last
	}
	var g *store.Group
	if a.Expect >= durable { // a member before this one brought it
		g, err = groupIn(c, a.Expect+1, durable)
	} else {
		g, err = t.w.s.groupAt(c.was, a.Expect+1)
	}
	if g == nil || err != nil || g.First != a.Expect+1 || len(g.Events) != len(a.Events) {
		return false, err
	}
	for i, e := range g.Events {
		if !bytes.Equal(e, a.Events[i]) {
			return false, nil
		}
	}
	return true, nil
}

// append takes one append into the group.
func (t *txn) append(a *store.Append) error {
	c, err := t.forAppend(a)
	if err != nil {
		return err
	}
	h := c.head
	if err := t.takeMail(c, a.TakeMail); err != nil {
		return err
	}
	if len(a.Events) > 0 {
		first := h.Last + 1
		crc := chain(uint32(h.Chain), h.Stream, first, a.Events)
		before := len(c.journal)
		c.journal = appendCommit(c.journal, first, crc, a.Events)
		h.End += int64(len(c.journal) - before)
		h.Last += uint64(len(a.Events))
		h.Chain = hexSum(crc)
		c.signal = true
	}
	if a.Create || a.Claim != nil {
		h.Owner = t.w.s.id
		h.Epoch++
	}
	if a.Release {
		h.Owner = ""
	}
	if a.Row != nil {
		h.Row = newRow(a.Row)
		h.Row.Labels = maps.Clone(h.Row.Labels)
	}
	if a.Checkpoint != nil {
		c.state, c.lastAt, c.chainAt = a.Checkpoint, h.Last, h.Chain
		h.Checkpoint = &checkpoint{At: h.Last, Sum: checkpointSum(a.Checkpoint)}
	}
	return nil
}

// forAppend checks whether an append may be made, and gives its stream to change.
func (t *txn) forAppend(a *store.Append) (*change, error) {
	c, err := t.stream(a.Stream)
	if err != nil {
		return nil, err
	}
	if c == nil {
		if !a.Create {
			return nil, store.ErrNotFound
		}
		if c, err = t.create(a.Stream); err != nil {
			return nil, err
		}
		return c, t.adoptAccount(c)
	}
	h := c.head
	switch {
	case a.Create:
		return nil, store.ErrExists
	case a.Claim != nil:
		if err := t.checkClaim(a.Claim, h); err != nil {
			return nil, err
		}
	case h.Owner != t.w.s.id:
		return nil, store.ErrNotOwner
	}
	if a.Expect != h.Last {
		return nil, fmt.Errorf("expected %d events, there are %d: %w", a.Expect, h.Last, store.ErrConflict)
	}
	if n := a.IfNoMailAfter; n != nil && h.Mail.Waiting > 0 && h.Mail.Last > *n {
		if err := t.noMailAfter(c, *n); err != nil {
			return nil, err
		}
	}
	return t.edit(c), nil
}

// checkClaim is the comparing half of taking over.
func (t *txn) checkClaim(held store.Claim, h *head) error {
	c, ok := held.(*claim)
	if !ok || c.s != t.w.s || c.Released() || c.owner != h.Owner || c.epoch != h.Epoch {
		return store.ErrNotOwner
	}
	return nil
}

// blob keeps a value beside its stream's journal. The same value again costs
// nothing, and mends one that was damaged.
func (t *txn) blob(b *store.NewBlob) error {
	c, err := t.stream(b.Stream)
	if err != nil {
		return err
	}
	if c == nil {
		return store.ErrNotFound
	}
	for _, other := range c.blobs {
		if other.ID == b.ID {
			return nil
		}
	}
	if c.was != nil {
		if _, err := t.w.s.paths.readBlob(b.Stream, b.ID); err == nil {
			return nil
		}
	}
	c = t.edit(c)
	c.blobs = append(c.blobs, b)
	return nil
}
