package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/culm-dev/culm/store"
)

// Salvage implements [store.Keeper]. A stream of which anything was lost says in
// its row that its journal is longer than it is, so that it stays damaged.
func (s *Store) Salvage(ctx context.Context, to string, report func(store.Salvaged)) error {
	err := s.there()
	if err == nil {
		err = makeCopy(to, func(path string) error { return s.salvage(ctx, path, report) })
	}
	if err != nil {
		return fmt.Errorf("salvage to %s: %w", to, err)
	}
	return nil
}

func (s *Store) salvage(ctx context.Context, path string, report func(store.Salvaged)) error {
	var id store.Identity
	if err := s.read(ctx, func(c *conn) error { return readIdentity(ctx, c, &id) }); err != nil && id.Generation == "" {
		id.Generation = "unknown" // it cannot be read any more
	}
	into, err := Open(ctx, path, Options{Clock: s.opt.Clock})
	if err != nil {
		return err
	}
	into.draft = true
	err = s.salvageInto(ctx, into, report)
	if err = errors.Join(err, into.Close()); err != nil {
		return err
	}
	return stamp(ctx, path, id.Generation, s.opt.Clock())
}

func (s *Store) salvageInto(ctx context.Context, into *Store, report func(store.Salvaged)) error {
	names, err := s.census(ctx)
	if err != nil {
		return err
	}
	for _, n := range names {
		if n.kind == kindRemoved {
			continue
		}
		saved, err := s.salvageStream(ctx, into, n)
		if err != nil {
			return err
		}
		if saved != nil {
			report(*saved)
		}
	}
	return s.salvageRows(ctx, into)
}

// salvageStream copies one stream; nil if it was removed meanwhile.
func (s *Store) salvageStream(ctx context.Context, into *Store, n named) (*store.Salvaged, error) {
	x, last, damage, err := s.rescue(ctx, n)
	if err != nil || x == nil {
		return nil, err
	}
	if damage != nil && last <= x.Last() {
		// More is claimed than there is. Without that it would go on as if what was
		// lost had never happened.
		last = x.Last() + 1
	}
	x.Row.Kind = orRun(x.Row.Kind)
	saved := &store.Salvaged{Stream: n.name, Events: x.Last()}
	var d *store.DamagedError
	switch {
	case errors.As(damage, &d):
		saved.Damage = d.Reason
	case damage != nil:
		saved.Damage = damage.Error()
	}
	return saved, into.maintain(func(t *txn) error { return t.restore(ctx, x, last) })
}

// rescue reads what can be read of a stream, and how long its row says it is. A
// journal that cannot be read by its index is looked for in the whole log.
func (s *Store) rescue(ctx context.Context, n named) (x *store.Extract, last uint64, damage, err error) {
	for _, scan := range []bool{false, true} {
		x, last, damage, err = s.rescueBy(ctx, n, scan)
		if err != nil && corrupt(err) {
			x, damage, err = &store.Extract{Stream: n.name, Row: store.Row{ID: n.name}}, err, nil
		}
		if err != nil || damage == nil {
			break
		}
	}
	return x, last, damage, err
}

func (s *Store) rescueBy(ctx context.Context, n named, scan bool) (x *store.Extract, last uint64, damage, err error) {
	err = s.read(ctx, func(c *conn) error {
		row, err := n.row(ctx, c)
		if row == nil {
			return err
		}
		if last = row.last; err != nil {
			last = 0 // nobody knows
		}
		x, damage, err = extract(ctx, c, row, err, scan)
		return err
	})
	return x, last, damage, err
}

// orRun is the kind of a stream whose row does not tell.
func orRun(kind string) string {
	if kind == "" {
		return "run"
	}
	return kind
}

// salvageRows copies what belongs to no stream and verifies.
func (s *Store) salvageRows(ctx context.Context, into *Store) error {
	var keys []store.KeyRecord
	var accounts []*account
	err := s.read(ctx, func(c *conn) error {
		return eachKey(ctx, c, -1<<63, 1<<62, func(_ int64, k *store.KeyRecord, good bool) error {
			if good {
				keys = append(keys, *k)
			}
			return nil
		})
	})
	if err != nil && !corrupt(err) {
		return err
	}
	err = s.read(ctx, func(c *conn) error {
		return eachAccount(ctx, c, func(a *account, good bool) error {
			if good {
				a.id = 0
				accounts = append(accounts, a)
			}
			return nil
		})
	})
	if err != nil && !corrupt(err) {
		return err
	}
	return into.maintain(func(t *txn) error {
		for _, a := range accounts {
			if old, err := findAccount(ctx, t.c, a.ID); old != nil || err != nil {
				continue // it came with its stream
			}
			if err := t.writeSpends([]*account{a}); err != nil {
				return err
			}
		}
		return t.writeKeys(keys)
	})
}
