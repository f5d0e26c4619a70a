package sqlite

import (
	"errors"
	"fmt"

	"github.com/culm-dev/culm/store"
)

var _ store.Keeper = (*Store)(nil)

// maintain runs f in a write transaction of its own, in turn with the commits of
// all processes. What f does should take a few milliseconds.
func (s *Store) maintain(f func(t *txn) error) (err error) {
	if err := s.state.Begin(); err != nil {
		return err
	}
	defer s.state.End()
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.state.Poisoned(); err != nil {
		return err
	}
	w, err := s.openWriter()
	if err != nil {
		return fmt.Errorf("open store for writing: %w", err)
	}
	if err := w.turnstile.Enter(s.opt.BusyTimeout); err != nil {
		return err
	}
	defer func() {
		if lerr := w.turnstile.Leave(); lerr != nil && err == nil {
			err = s.setPoison(lerr)
		}
	}()
	t := &txn{w: w, c: w.conn}
	if err := w.maintain(t, f); err != nil {
		return err
	}
	s.watches.Signal(t.touched())
	return nil
}

func (w *writer) maintain(t *txn, f func(t *txn) error) error {
	if _, err := w.conn.exec(`BEGIN IMMEDIATE`); err != nil {
		return w.failed("begin", err)
	}
	err := f(t)
	if err == nil && t.lastCommit > 0 {
		err = w.indexCommits(t.lastCommit)
	}
	if err != nil {
		return w.rollback(err)
	}
	if _, err := w.conn.exec(`COMMIT`); err != nil {
		return w.unclear(err)
	}
	t.merge()
	w.keep(t)
	return nil
}

// there refuses a store that nothing was ever stored in.
func (s *Store) there() error {
	there, err := s.paths.exists()
	if err == nil && !there {
		err = store.ErrNotFound
	}
	return err
}

// gather takes damage out of errors: the first of it is what a call that gives
// what it can read ends with.
type gather struct {
	stream string
	after  uint64 // events that verified
	damage *store.DamagedError
}

// take keeps damage and returns any other error.
func (g *gather) take(err error) error {
	if err == nil {
		return nil
	}
	var d *store.DamagedError
	switch {
	case errors.As(asDamage(err, g.stream), &d):
	case errors.Is(err, errAccountDamaged):
		d = &store.DamagedError{Stream: g.stream, Reason: err.Error()}
	default:
		return err
	}
	if g.damage == nil {
		g.damage = d
	}
	return nil
}

func (g *gather) result() error {
	if g.damage == nil {
		return nil
	}
	d := *g.damage
	d.Stream, d.After = g.stream, g.after
	return &d
}
