package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/culm-dev/culm/internal/proc"
	"github.com/culm-dev/culm/store"
)

// errBusy: another process held the database for longer than we wait.
var errBusy = fmt.Errorf("another process holds the database: %w", store.ErrTryAgain)

// turnstile orders the writers of all processes. SQLite's own lock is taken by
// whoever happens to ask at the right moment, which starves a process whose
// neighbour commits without pause. Here a writer first takes next, then turn,
// then gives next back: whoever waits for turn holds next, so the one that just
// wrote cannot overtake it.
type turnstile struct {
	next, turn *proc.FileLock
	// entering is a wait that outlived its deadline; its turn, when it comes,
	// serves the next caller.
	entering chan error
}

func openTurnstile(locks string) (*turnstile, error) {
	next, err := proc.OpenFileLock(filepath.Join(locks, "next"))
	if err != nil {
		return nil, fmt.Errorf("open turnstile: %w", err)
	}
	turn, err := proc.OpenFileLock(filepath.Join(locks, "turn"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open turnstile: %w", err), next.Close())
	}
	return &turnstile{next: next, turn: turn}, nil
}

// enter waits for the turn, at most for patience.
func (t *turnstile) enter(patience time.Duration) error {
	if t.entering == nil {
		if ok, err := t.tryEnter(); ok || err != nil {
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
		return errBusy
	}
}

// tryEnter passes if nobody is there. It cannot overtake: whoever waits holds next.
func (t *turnstile) tryEnter() (bool, error) {
	if ok, err := t.next.TryLock(); !ok || err != nil {
		return false, err
	}
	ok, err := t.turn.TryLock()
	if ok && err == nil {
		return true, t.next.Unlock()
	}
	return false, errors.Join(err, t.next.Unlock())
}

func (t *turnstile) queue() error {
	if err := t.next.Lock(); err != nil {
		return err
	}
	return errors.Join(t.turn.Lock(), t.next.Unlock())
}

func (t *turnstile) leave() error { return t.turn.Unlock() }

// close gives everything up. A wait still under way cannot be broken off: what
// is left of it ends when the process that it waits for goes on or dies.
func (t *turnstile) close() error {
	if t.entering != nil {
		go func() {
			<-t.entering
			_ = t.release()
		}()
		return nil
	}
	return t.release()
}

func (t *turnstile) release() error { return errors.Join(t.next.Close(), t.turn.Close()) }
