package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/culm-dev/culm/internal/proc"
	"github.com/culm-dev/culm/store"
)

// locks is what this handle shows of its life and sees of others'.
//
// An owner holds its lock file exclusively for as long as it lives; nobody else
// ever locks one exclusively, so that a shared lock that fails means a living
// owner and nothing else. A file that is missing stands for a dead owner: it is
// removed at Close, and, after a crash, by a process that starts to own when no
// stream names that owner any more.
type locks struct {
	s  *Store
	mu sync.Mutex
	// mine is this handle's lock, nil until it first owns something.
	mine *proc.FileLock
}

func (l *locks) open(s *Store) { l.s = s }

// own makes sure that this handle shows its life, before any stream names it.
func (l *locks) own() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mine != nil {
		return nil
	}
	l.sweep()
	for {
		lock, err := proc.CreateFileLock(l.s.paths.ownerLock(l.s.id))
		if err != nil {
			return fmt.Errorf("make owner lock: %w", err)
		}
		// Between making and locking it another process may have taken the file
		// for a dead owner's and removed it.
		if err := lock.Lock(); err != nil {
			return errors.Join(err, lock.Close())
		}
		if !lock.Linked() {
			_ = lock.Close()
			continue
		}
		if _, err := fmt.Fprintf(lock.File(), "%d\n", os.Getpid()); err != nil {
			return errors.Join(fmt.Errorf("write owner lock: %w", err), lock.Remove(), lock.Close())
		}
		l.mine = lock
		return nil
	}
}

// sweep removes what dead processes left: locks of claims, and of owners that
// no stream names any more. It is safe at any time. The file of a living owner
// cannot be locked; one just being made is made again (see own); a dead owner
// takes no stream, so one that none names stays that way. What cannot be
// removed does no harm.
func (l *locks) sweep() {
	names, _ := filepath.Glob(filepath.Join(l.s.paths.locks, "*.lock"))
	for _, name := range names {
		owner := strings.TrimSuffix(filepath.Base(name), ".lock")
		lock, err := proc.OpenFileLockIfExists(name)
		if err != nil {
			continue
		}
		if ok, err := lock.TryShared(); ok && err == nil && !l.named(owner) {
			_ = lock.Remove()
		}
		_ = lock.Close()
	}
}

// named tells whether a stream still names an owner, or may.
func (l *locks) named(owner string) bool {
	if !validOwner(owner) { // the lock of a claim
		return false
	}
	found := false
	err := l.s.read(context.Background(), func(c *conn) error {
		return c.query(context.Background(), `SELECT 1 FROM streams WHERE owner = ? AND owner <> '' LIMIT 1`,
			[]any{owner}, func([]driver.Value) error {
				found = true
				return nil
			})
	})
	return found || err != nil
}

// probe tells whether an owner lives, and its process id if that is known.
func (l *locks) probe(owner string) (alive bool, pid int, err error) {
	if !validOwner(owner) {
		return false, 0, nil
	}
	lock, err := proc.OpenFileLockIfExists(l.s.paths.ownerLock(owner))
	if errors.Is(err, os.ErrNotExist) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, fmt.Errorf("probe owner: %w", err)
	}
	defer lock.Close()
	free, err := lock.TryShared()
	if err != nil {
		return false, 0, fmt.Errorf("probe owner: %w", err)
	}
	var note [32]byte
	n, _ := lock.File().ReadAt(note[:], 0)
	pid, _ = strconv.Atoi(strings.TrimSpace(string(note[:n])))
	return !free, pid, nil
}

// validOwner keeps names that we never made, read from a damaged row, from
// being used as file names.
func validOwner(id string) bool {
	return len(id) == 32 && strings.Trim(id, "0123456789abcdef") == ""
}

// owner fills in what is known of a stream's owner.
func (l *locks) owner(row *streamRow) (store.Owner, error) {
	o := store.Owner{ID: row.owner, Epoch: row.epoch}
	switch row.owner {
	case "":
		return o, nil
	case l.s.id:
		o.Self, o.Alive, o.PID = true, l.s.poisoned() == nil, os.Getpid()
		return o, nil
	}
	var err error
	o.Alive, o.PID, err = l.probe(row.owner)
	return o, err
}

func (l *locks) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mine == nil {
		return nil
	}
	err := errors.Join(l.mine.Remove(), l.mine.Close())
	l.mine = nil
	return err
}
