package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/culm-dev/culm/store"
)

var _ store.Keeper = (*Store)(nil)

// Extract implements [store.Keeper].
func (s *Store) Extract(ctx context.Context, name string) (*store.Extract, error) {
	st, unlock, err := s.find(ctx, "extract stream", name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	x := &store.Extract{Stream: name, Row: cloneRow(&st.row), Epoch: st.epoch}
	for _, g := range st.groups {
		x.Groups = append(x.Groups, store.Group{First: g.First, Events: clone(g.Events)})
	}
	for _, m := range st.mail {
		m.Body = append([]byte{}, m.Body...)
		x.Mail = append(x.Mail, m)
	}
	if a := s.disk.accounts[name]; a != nil {
		x.Account = cloneAccount(a)
	}
	for _, id := range slices.Sorted(maps.Keys(st.blobs)) {
		x.Blobs = append(x.Blobs, store.NewBlob{ID: id, Data: append([]byte{}, st.blobs[id]...)})
	}
	return x, nil
}

// Restore implements [store.Keeper].
func (s *Store) Restore(_ context.Context, x *store.Extract) error {
	if err := x.Check(); err != nil {
		return fmt.Errorf("restore stream %s: %w", x.Stream, err)
	}
	if err := s.lock(); err != nil {
		return err
	}
	d := s.disk
	defer d.mu.Unlock()
	if d.streams[x.Stream] != nil || x.Account != nil && d.accounts[x.Stream] != nil {
		return fmt.Errorf("restore stream %s: %w", x.Stream, store.ErrExists)
	}
	st := &stream{last: x.Last(), epoch: x.Epoch, row: cloneRow(&x.Row), seen: make(map[string][]byte), blobs: make(map[string][]byte)}
	st.row.ID = x.Stream
	for _, g := range x.Groups {
		st.groups = append(st.groups, store.Group{First: g.First, Events: clone(g.Events)})
	}
	for _, m := range x.Mail {
		m.Body = append([]byte{}, m.Body...)
		st.mail, st.mailLast, st.seen[m.ID] = append(st.mail, m), m.Number, m.Body
	}
	for _, b := range x.Blobs {
		st.blobs[b.ID] = append([]byte{}, b.Data...)
	}
	if x.Account != nil {
		d.accounts[x.Stream] = cloneAccount(x.Account)
	}
	d.streams[x.Stream] = st
	d.signal(x.Stream)
	return nil
}

// Raw implements [store.Keeper].
func (s *Store) Raw(ctx context.Context, name string, w io.Writer) error {
	x, err := s.Extract(ctx, name)
	if err != nil {
		return err
	}
	for _, g := range x.Groups {
		for _, e := range g.Events {
			if _, err := fmt.Fprintf(w, "%s\n", e); err != nil {
				return err
			}
		}
	}
	return nil
}

// Remove implements [store.Keeper].
func (s *Store) Remove(ctx context.Context, name string, last uint64) error {
	st, unlock, err := s.find(ctx, "remove stream", name)
	if err != nil {
		return err
	}
	defer unlock()
	d := s.disk
	switch {
	case d.alive[st.owner], d.claims[name] != nil:
		return fmt.Errorf("remove stream %s: %w", name, store.ErrOwned)
	case st.last != last:
		return fmt.Errorf("remove stream %s: it has %d events, not %d: %w", name, st.last, last, store.ErrConflict)
	}
	delete(d.streams, name)
	delete(d.accounts, name)
	return nil
}

// Forget implements [store.Keeper].
func (s *Store) Forget(_ context.Context, before time.Time) (int, error) {
	if err := s.lock(); err != nil {
		return 0, err
	}
	d := s.disk
	defer d.mu.Unlock()
	known := len(d.keys)
	maps.DeleteFunc(d.keys, func(_ [2]string, k store.KeyRecord) bool {
		return k.At.Before(before) && d.streams[k.Stream] == nil
	})
	return known - len(d.keys), nil
}

// Compact implements [store.Keeper]: memory comes back by itself.
func (s *Store) Compact(context.Context) (int64, error) {
	err := s.lock()
	if err == nil {
		s.disk.mu.Unlock()
	}
	return 0, err
}

var errNoPath = fmt.Errorf("a store in memory has no path: %w", errors.ErrUnsupported)

// Backup implements [store.Keeper]. There is no such path.
func (s *Store) Backup(context.Context, string) error {
	return fmt.Errorf("back up: %w", errNoPath)
}

// Salvage implements [store.Keeper]. There is no such path.
func (s *Store) Salvage(context.Context, string, func(store.Salvaged)) error {
	return fmt.Errorf("salvage: %w", errNoPath)
}

// Examine implements [store.Keeper].
func (s *Store) Examine(_ context.Context, found func(store.Finding)) error {
	if err := s.lock(); err != nil {
		return err
	}
	d := s.disk
	var findings []store.Finding
	for name, st := range d.streams {
		if st.owner != "" && !d.alive[st.owner] {
			findings = append(findings, store.Finding{Code: store.FoundDeadOwner, Stream: name, Message: "the process that owned it is gone"})
		}
	}
	d.mu.Unlock()
	slices.SortFunc(findings, func(a, b store.Finding) int { return cmp.Compare(a.Stream, b.Stream) })
	for _, f := range findings {
		found(f)
	}
	return nil
}

// Identity implements [store.Keeper].
func (s *Store) Identity(context.Context) (store.Identity, error) {
	if err := s.lock(); err != nil {
		return store.Identity{}, err
	}
	defer s.disk.mu.Unlock()
	id := store.Identity{Format: 1, Oldest: 1, Generation: s.disk.generation}
	for _, st := range s.disk.streams {
		for _, g := range st.groups {
			for _, e := range g.Events {
				id.Size += int64(len(e))
			}
		}
		for _, b := range st.blobs {
			id.Size += int64(len(b))
		}
	}
	return id, nil
}
