package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/culm-dev/culm/internal/proc"
	"github.com/culm-dev/culm/store"
)

// claim is a prepared taking over. It holds two locks: one of its own, named
// for the stream, that keeps other claims of this stream out; and a shared one
// on the dead owner's file, proof that the owner is dead, which it will stay:
// the id of an owner is never used again. The second is shared because a dead
// server leaves many streams, whose claims must not refuse each other, and
// because whoever probes the owner meanwhile must still see that it is dead.
type claim struct {
	s      *Store
	stream string
	owner  string // whom the stream is taken from, "" for nobody
	epoch  uint64

	released  atomic.Bool
	release   sync.Once
	exclusive *proc.FileLock
	dead      *proc.FileLock // nil if there is no such file any more
}

var _ store.Claim = (*claim)(nil)

func (c *claim) Stream() string { return c.stream }

func (c *claim) Close() {
	c.release.Do(func() {
		c.released.Store(true)
		if c.dead != nil {
			_ = c.dead.Close()
		}
		_ = c.exclusive.Remove() // while holding it: see FileLock.Linked
		_ = c.exclusive.Close()
	})
}

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
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	if err := s.paths.makeDirs(); err != nil {
		return nil, err
	}
	exclusive, err := s.lockClaim(stream)
	if err != nil {
		return nil, err
	}
	c := &claim{s: s, stream: stream, exclusive: exclusive}
	// Only now nobody else can be taking it over: look again.
	row, err := s.claimable(ctx, stream)
	if err != nil {
		c.Close()
		return nil, err
	}
	c.owner, c.epoch = row.owner, row.epoch
	if c.dead, err = s.lockDead(row.owner); err != nil {
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

// lockClaim takes the lock that excludes other claims of a stream.
func (s *Store) lockClaim(stream string) (*proc.FileLock, error) {
	hash := sha256.Sum256([]byte(stream))
	path := filepath.Join(s.paths.locks, "claim-"+hex.EncodeToString(hash[:16])+".lock")
	for {
		lock, err := proc.OpenFileLock(path)
		if err != nil {
			return nil, fmt.Errorf("open claim lock: %w", err)
		}
		switch ok, err := lock.TryLock(); {
		case err != nil:
			return nil, errors.Join(err, lock.Close())
		case ok && lock.Linked():
			return lock, nil
		case !ok:
			// A claim holds it exclusively. If it can be shared, what was in the
			// way was only somebody removing what a crash had left.
			if swept, err := lock.TryShared(); !swept || err != nil {
				return nil, errors.Join(store.ErrOwned, err, lock.Close())
			}
		}
		_ = lock.Close() // removed, or just being removed: open it again
	}
}

// lockDead holds a dead owner's lock, nil if it left none.
func (s *Store) lockDead(owner string) (*proc.FileLock, error) {
	if !validOwner(owner) {
		return nil, nil
	}
	lock, err := proc.OpenFileLockIfExists(s.paths.ownerLock(owner))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open owner lock: %w", err)
	}
	ok, err := lock.TryShared()
	switch {
	case err != nil:
		return nil, errors.Join(err, lock.Close())
	case !ok:
		return nil, errors.Join(store.ErrOwned, lock.Close())
	}
	return lock, nil
}
