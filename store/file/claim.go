package file

import (
	"context"
	"fmt"
	"os"

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
	h, err := s.claimable(ctx, stream)
	if err == nil {
		c.owner, c.epoch = h.Owner, h.Epoch
		err = c.Hold(h.Owner)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// claimable reads the stream's head and refuses it if a living process owns it.
func (s *Store) claimable(ctx context.Context, stream string) (*head, error) {
	h, err := s.look(ctx, stream, func(*head) error { return nil })
	if err != nil {
		return nil, err
	}
	o, err := s.ownerOf(h)
	switch {
	case err != nil:
		return nil, err
	case o.Alive:
		return nil, store.ErrOwned
	}
	return h, nil
}

// ownerOf fills in what is known of a stream's owner.
func (s *Store) ownerOf(h *head) (store.Owner, error) {
	o := store.Owner{ID: h.Owner, Epoch: h.Epoch}
	switch h.Owner {
	case "":
		return o, nil
	case s.id:
		o.Self, o.Alive, o.PID = true, s.state.Poisoned() == nil, os.Getpid()
		return o, nil
	}
	var err error
	o.Alive, o.PID, err = s.locks.Probe(h.Owner)
	return o, err
}

// named tells whether a stream still names an owner, or may. It is asked by who has
// the turn, or is about to take it.
func (s *Store) named(owner string) bool {
	all, err := s.listing.refresh(s.paths)
	if err != nil {
		return true
	}
	for _, l := range all {
		if l.head.Owner == owner || l.damage != nil {
			return true
		}
	}
	return false
}
