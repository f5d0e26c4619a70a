package sqlite

import (
	"context"
	"fmt"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/internal/owner"
)

// claim is a prepared taking over.
type claim struct {
	*owner.Claim
	s      *Store
	stream string
	owner  string // whom the stream is taken from, "" for nobody
	epoch  uint64
}

var _ store.Claim = (*claim)(nil)

func (c *claim) Stream() string { return c.stream }

// Claim implements [store.Store].
func (s *Store) Claim(ctx context.Context, stream string) (store.Claim, error) {
	c, err := s.claim(ctx, stream)
	if err != nil {
		return nil, fmt.Errorf("claim stream %s: %w", stream, err)
	}
	return c, nil
}

func (s *Store) claim(ctx context.Context, stream string) (*claim, error) {
	if _, err := s.claimable(ctx, stream); err != nil {
		return nil, err
	}
	if err := s.state.Begin(); err != nil {
		return nil, err
	}
	defer s.state.End()
	if err := s.paths.makeDirs(); err != nil {
		return nil, err
	}
	held, err := s.locks.Claim(stream)
	if err != nil {
		return nil, err
	}
	c := &claim{Claim: held, s: s, stream: stream}
	// Only now nobody else can be taking it over: look again.
	row, err := s.claimable(ctx, stream)
	if err != nil {
		c.Close()
		return nil, err
	}
	c.owner, c.epoch = row.owner, row.epoch
	if err := c.Hold(row.owner); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// claimable reads the stream's row and refuses it if a living process owns it.
func (s *Store) claimable(ctx context.Context, stream string) (*streamRow, error) {
	var row *streamRow
	err := s.read(ctx, func(c *conn) (err error) {
		row, err = findStream(ctx, c, stream)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case row == nil:
		return nil, store.ErrNotFound
	}
	owner, err := s.locks.owner(row)
	switch {
	case err != nil:
		return nil, err
	case owner.Alive:
		return nil, store.ErrOwned
	}
	return row, nil
}
