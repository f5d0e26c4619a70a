package memory

import (
	"context"
	"fmt"

	"github.com/culm-dev/culm/store"
)

// claim is a prepared taking over. Its fields are guarded by the disk's lock.
type claim struct {
	s      *Store
	stream string
	owner  string
	epoch  uint64
	closed bool
}

// Claim implements [store.Store].
func (s *Store) Claim(_ context.Context, name string) (store.Claim, error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	d := s.disk
	defer d.mu.Unlock()
	st := d.streams[name]
	switch {
	case st == nil:
		return nil, fmt.Errorf("claim stream %s: %w", name, store.ErrNotFound)
	case d.alive[st.owner], d.claims[name] != nil:
		return nil, fmt.Errorf("claim stream %s: %w", name, store.ErrOwned)
	}
	c := &claim{s: s, stream: name, owner: st.owner, epoch: st.epoch}
	d.claims[name] = c
	return c, nil
}

func (c *claim) Stream() string { return c.stream }

func (c *claim) Close() {
	c.s.disk.mu.Lock()
	defer c.s.disk.mu.Unlock()
	c.drop()
}

func (c *claim) drop() {
	c.closed = true
	if c.s.disk.claims[c.stream] == c {
		delete(c.s.disk.claims, c.stream)
	}
}
