package sqlite

import (
	"bytes"
	"context"
	"time"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/internal/group"
)

// request is one batch on its way.
type request struct {
	group.Ticket
	batch  *store.Batch
	events []string // of each append, joined to what the journal stores
	at     time.Time
	err    error // the result; valid once its group was run
}

func newRequest(b *store.Batch, now time.Time) *request {
	r := &request{batch: b, at: now, Ticket: group.NewTicket(b)}
	r.events = make([]string, len(b.Appends))
	for i := range b.Appends {
		r.events[i] = string(bytes.Join(b.Appends[i].Events, []byte{'\n'}))
	}
	return r
}

// Commit implements [store.Store].
func (s *Store) Commit(ctx context.Context, b *store.Batch) error {
	if err := s.state.Begin(); err != nil {
		return err
	}
	defer s.state.End()
	if err := b.Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.state.Poisoned(); err != nil {
		return err
	}
	r := newRequest(b, s.opt.Clock())
	if err := s.queue.Do(ctx, r, s.commitGroup); err != nil {
		return err
	}
	return r.err
}
