// Package turnstile lets the writers of several processes take turns.
package turnstile

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/culm-dev/culm/internal/proc"
	"github.com/culm-dev/culm/store"
)

// ErrBusy: another process held the store for longer than we wait.
var ErrBusy = fmt.Errorf("another process holds the database: %w", store.ErrTryAgain)

// Turnstile orders the writers of all processes. A lock alone is taken by whoever
// happens to ask at the right moment, which starves a process whose neighbour
// commits without pause. Here a writer first takes next, then turn, then gives
// next back: whoever waits for turn holds next, so the one that just wrote cannot
// overtake it.
//
// A Turnstile is not safe for concurrent use.
type Turnstile struct {
	next, turn *proc.FileLock
	// entering is a wait that outlived its deadline; its turn, when it comes,
	// serves the next caller.
	entering chan error
}

// Open opens the turnstile in a folder of lock files; it makes them if they are
// missing.
func Open(locks string) (*Turnstile, error) {
	next, err := proc.OpenFileLock(filepath.Join(locks, "next"))
	if err != nil {
		return nil, fmt.Errorf("open turnstile: %w", err)
	}
	turn, err := proc.OpenFileLock(filepath.Join(locks, "turn"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open turnstile: %w", err), next.Close())
	}
	return &Turnstile{next: next, turn: turn}, nil
}

// Enter waits for the turn, at most for patience; [ErrBusy] after that.
func (t *Turnstile) Enter(patience time.Duration) error {
	if t.entering == nil {
		if ok, err := t.TryEnter(); ok || err != nil {
			return err
		}
		t.entering = make(chan error, 1)
		go func(done chan<- error) { done <- t.queue() }(t.entering)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-t.entering:
		t.entering = nil
		return err
	case <-timer.C:
		return ErrBusy
	}
}

// TryEnter passes if nobody is there. It cannot overtake: whoever waits holds next.
func (t *Turnstile) TryEnter() (bool, error) {
	if ok, err := t.next.TryLock(); !ok || err != nil {
		return false, err
	}
	ok, err := t.turn.TryLock()
	if ok && err == nil {
		return true, t.next.Unlock()
	}
	return false, errors.Join(err, t.next.Unlock())
}

func (t *Turnstile) queue() error {
	if err := t.next.Lock(); err != nil {
		return err
	}
	return errors.Join(t.turn.Lock(), t.next.Unlock())
}

// Leave gives the turn to the next.
func (t *Turnstile) Leave() error { return t.turn.Unlock() }

// Close gives everything up. A wait still under way cannot be broken off: what
// is left of it ends when the process that it waits for goes on or dies.
func (t *Turnstile) Close() error {
	if t.entering != nil {
		go func() {
			<-t.entering
			_ = t.release()
		}()
		return nil
	}
	return t.release()
}

func (t *Turnstile) release() error { return errors.Join(t.next.Close(), t.turn.Close()) }
