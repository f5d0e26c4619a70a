// Package owner tells by lock files which handles live, and excludes claims of
// one stream from each other.
package owner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/culm-dev/culm/internal/proc"
)

// Locks is what one handle shows of its life and sees of others'.
//
// An owner holds its lock file exclusively for as long as it lives; nobody else
// ever locks one exclusively, so that a shared lock that fails means a living
// owner and nothing else. A file that is missing stands for a dead owner: it is
// removed at Close, and, after a crash, by a process that starts to own when no
// stream names that owner any more.
//
// Locks is safe for concurrent use.
type Locks struct {
	dir, id string
	named   func(owner string) bool

	mu sync.Mutex
	// mine is this handle's lock, nil until it first owns something.
	mine *proc.FileLock
	// unseen are owners that live, though no process of theirs is to be seen.
	unseen map[string]bool
}

// New makes the locks of the handle id in a folder, which need not exist before
// Own or Claim is called. named tells whether a stream still names an owner, or
// may.
func New(dir, id string, named func(owner string) bool) *Locks {
	return &Locks{dir: dir, id: id, named: named, unseen: make(map[string]bool)}
}

func (l *Locks) path(owner string) string { return filepath.Join(l.dir, owner+".lock") }

// Own makes sure that this handle shows its life, before any stream names it.
func (l *Locks) Own() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mine != nil {
		return nil
	}
	l.sweep()
	for {
		lock, err := proc.CreateFileLock(l.path(l.id))
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
// cannot be locked; one just being made is made again (see Own); a dead owner
// takes no stream, so one that none names stays that way. What cannot be
// removed does no harm.
func (l *Locks) sweep() {
	names, _ := filepath.Glob(filepath.Join(l.dir, "*.lock"))
	for _, name := range names {
		owner := strings.TrimSuffix(filepath.Base(name), ".lock")
		lock, err := proc.OpenFileLockIfExists(name)
		if err != nil {
			continue
		}
		if ok, err := lock.TryShared(); ok && err == nil && !(Valid(owner) && l.named(owner)) {
			_ = lock.Remove()
		}
		_ = lock.Close()
	}
}

// Probe tells whether an owner lives, and its process id if that is known. It takes
// a moment if the owner's process is gone and its lock is still held.
func (l *Locks) Probe(owner string) (alive bool, pid int, err error) {
	if !Valid(owner) {
		return false, 0, nil
	}
	lock, err := proc.OpenFileLockIfExists(l.path(owner))
	if errors.Is(err, os.ErrNotExist) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, fmt.Errorf("probe owner: %w", err)
	}
	defer lock.Close()
	if alive, pid, err = l.alive(owner, lock); err != nil {
		return false, 0, fmt.Errorf("probe owner: %w", err)
	}
	return alive, pid, nil
}

// Valid keeps names that no handle ever had, read from a damaged place, from
// being used as file names. Handles have names of 32 hexadecimal digits.
func Valid(id string) bool {
	return len(id) == 32 && strings.Trim(id, "0123456789abcdef") == ""
}

// Close ends this handle's ownership, if it has begun.
func (l *Locks) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mine == nil {
		return nil
	}
	err := errors.Join(l.mine.Remove(), l.mine.Close())
	l.mine = nil
	return err
}

// Abandon ends it as the death of its process does, which leaves the file.
func (l *Locks) Abandon() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mine == nil {
		return nil
	}
	err := l.mine.Close()
	l.mine = nil
	return err
}
