package owner

import (
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

// Claim is what a prepared taking over holds: a lock of its own, named for the
// stream, that keeps other claims of this stream out; and a shared one on the dead
// owner's file, proof that the owner is dead, which it will stay: the id of an
// owner is never used again. The second is shared because a dead server leaves
// many streams, whose claims must not refuse each other, and because whoever
// probes the owner meanwhile must still see that it is dead.
type Claim struct {
	l         *Locks
	released  atomic.Bool
	release   sync.Once
	exclusive *proc.FileLock
	dead      *proc.FileLock // nil if there is no such file any more
}

// Claim takes the lock that excludes other claims of a stream;
// [store.ErrOwned] if one is under way. The folder must exist.
func (l *Locks) Claim(stream string) (*Claim, error) {
	hash := sha256.Sum256([]byte(stream))
	path := filepath.Join(l.dir, "claim-"+hex.EncodeToString(hash[:16])+".lock")
	for {
		lock, err := proc.OpenFileLock(path)
		if err != nil {
			return nil, fmt.Errorf("open claim lock: %w", err)
		}
		switch ok, err := lock.TryLock(); {
		case err != nil:
			return nil, errors.Join(err, lock.Close())
		case ok && lock.Linked():
			return &Claim{l: l, exclusive: lock}, nil
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

// Hold holds the lock of a dead owner, if it left one; [store.ErrOwned] if it lives.
func (c *Claim) Hold(owner string) error {
	if !Valid(owner) {
		return nil
	}
	lock, err := proc.OpenFileLockIfExists(c.l.path(owner))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open owner lock: %w", err)
	}
	alive, _, err := c.l.alive(owner, lock)
	switch {
	case err != nil:
		return errors.Join(err, lock.Close())
	case alive:
		return errors.Join(store.ErrOwned, lock.Close())
	}
	c.dead = lock
	return nil
}

// Released tells whether the claim was closed.
func (c *Claim) Released() bool { return c.released.Load() }

// Close gives the locks up. It is idempotent.
func (c *Claim) Close() {
	c.release.Do(func() {
		c.released.Store(true)
		if c.dead != nil {
			_ = c.dead.Close()
		}
		_ = c.exclusive.Remove() // while holding it: see FileLock.Linked
		_ = c.exclusive.Close()
	})
}
