package memory

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/culm-dev/culm/store"
)

// Commit implements [store.Store].
func (s *Store) Commit(ctx context.Context, b *store.Batch) error {
	if err := b.Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	after, err := s.commit(b)
	if err != nil {
		return err
	}
	defer s.commits.Done()
	if after == nil {
		return nil
	}
	after(b)
	if err := s.lock(); err != nil {
		return err
	}
	s.disk.mu.Unlock()
	return nil
}

// commit applies the batch. Without an error s.commits counts it still.
func (s *Store) commit(b *store.Batch) (after func(*store.Batch), err error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	d := s.disk
	defer d.mu.Unlock()
	t := &txn{s: s, streams: make(map[string]*stream), accounts: make(map[string]*store.Account)}
	replayed, err := t.appends(b.Appends)
	if err != nil {
		return nil, err
	}
	if !replayed {
		if err := t.rest(b); err != nil {
			return nil, err
		}
	}
	if d.fail != nil {
		if err := d.fail(b); err != nil {
			return nil, err
		}
	}
	s.commits.Add(1)
	if replayed {
		return d.after, nil
	}
	maps.Copy(d.streams, t.streams)
	maps.Copy(d.accounts, t.accounts)
	for _, p := range t.posts {
		d.streams[p.Stream].seen[p.ID] = p.Body
	}
	for _, n := range b.Blobs {
		d.streams[n.Stream].blobs[n.ID] = append([]byte{}, n.Data...)
	}
	for _, k := range b.Keys {
		d.keys[[2]string{k.Scope, k.Key}] = k
	}
	for _, name := range t.signals {
		d.signal(name)
	}
	return d.after, nil
}

// txn holds changed copies until the whole batch is known to hold. What grows
// with a stream's length is not copied but written at the end.
type txn struct {
	s        *Store
	streams  map[string]*stream
	accounts map[string]*store.Account
	posts    []store.Post // new ones
	signals  []string
}

// stream returns the batch's own copy of a stream, nil if there is none.
func (t *txn) stream(name string) *stream {
	if st := t.streams[name]; st != nil {
		return st
	}
	st := t.s.disk.streams[name]
	if st == nil {
		return nil
	}
	c := *st
	c.mail = slices.Clone(st.mail)
	t.streams[name] = &c
	return &c
}

// appends applies them, or tells that all of them were committed before.
func (t *txn) appends(appends []store.Append) (replayed bool, err error) {
	replays := 0
	for i := range appends {
		if t.isReplay(&appends[i]) {
			replays++
		}
	}
	if replays > 0 && replays == len(appends) {
		return true, nil
	}
	for i := range appends {
		a := &appends[i]
		err := t.append(a)
		if err == nil && replays > 0 {
			err = store.ErrConflict
		}
		if err != nil {
			return false, fmt.Errorf("append to stream %s: %w", a.Stream, err)
		}
	}
	return false, nil
}

func (t *txn) isReplay(a *store.Append) bool {
	st := t.s.disk.streams[a.Stream]
	if st == nil || len(a.Events) == 0 {
		return false
	}
	i, found := st.find(a.Expect + 1)
	return found && st.groups[i].First == a.Expect+1 && slices.EqualFunc(st.groups[i].Events, a.Events, bytes.Equal)
}

// find is the group that holds an event.
func (st *stream) find(sequence uint64) (int, bool) {
	return slices.BinarySearchFunc(st.groups, sequence, func(g store.Group, n uint64) int {
		switch {
		case n < g.First:
			return 1
		case n >= g.First+uint64(len(g.Events)):
			return -1
		}
		return 0
	})
}

func (t *txn) append(a *store.Append) error {
	st, err := t.target(a)
	if err != nil {
		return err
	}
	if a.Expect != st.last {
		return fmt.Errorf("expected %d events, there are %d: %w", a.Expect, st.last, store.ErrConflict)
	}
	if n := a.IfNoMailAfter; n != nil && len(st.mail) > 0 && st.mail[len(st.mail)-1].Number > *n {
		return store.ErrMailWaiting
	}
	for _, n := range a.TakeMail {
		i := slices.IndexFunc(st.mail, func(m store.Mail) bool { return m.Number == n })
		if i < 0 {
			return fmt.Errorf("mail %d is not there: %w", n, store.ErrConflict)
		}
		st.mail = slices.Delete(st.mail, i, i+1)
	}
	if len(a.Events) > 0 {
		st.groups = append(st.groups, store.Group{First: st.last + 1, Events: clone(a.Events)})
		st.last += uint64(len(a.Events))
		t.signals = append(t.signals, a.Stream)
	}
	if a.Create || a.Claim != nil {
		st.owner = t.s.id
		st.epoch++
	}
	if a.Release {
		st.owner = ""
	}
	if a.Row != nil {
		st.row = cloneRow(a.Row)
		st.row.ID = a.Stream
	}
	if a.Checkpoint != nil {
		st.checkpoint, st.checkpointAt = append([]byte{}, a.Checkpoint...), st.last
	}
	return nil
}

// target is the stream to append to, if this handle may.
func (t *txn) target(a *store.Append) (*stream, error) {
	st := t.stream(a.Stream)
	switch {
	case st == nil && !a.Create:
		return nil, store.ErrNotFound
	case st == nil:
		st = &stream{seen: make(map[string][]byte), blobs: make(map[string][]byte)}
		t.streams[a.Stream] = st
	case a.Create:
		return nil, store.ErrExists
	case a.Claim != nil:
		c, ok := a.Claim.(*claim)
		if !ok || c.s != t.s || c.closed || c.owner != st.owner || c.epoch != st.epoch {
			return nil, store.ErrNotOwner
		}
	case st.owner != t.s.id:
		return nil, store.ErrNotOwner
	}
	return st, nil
}

// rest applies what a batch holds besides appends.
func (t *txn) rest(b *store.Batch) error {
	for i, k := range b.Keys {
		taken, found := t.s.disk.keys[[2]string{k.Scope, k.Key}]
		for _, earlier := range b.Keys[:i] {
			if earlier.Scope == k.Scope && earlier.Key == k.Key {
				taken, found = earlier, true
			}
		}
		if found {
			return fmt.Errorf("take key %q: %w", k.Key, &store.KeyTakenError{Record: taken})
		}
	}
	for i := range b.Spends {
		if err := t.spend(&b.Spends[i]); err != nil {
			return fmt.Errorf("spend on account %s: %w", b.Spends[i].Account, err)
		}
	}
	for i := range b.Posts {
		if err := t.post(&b.Posts[i]); err != nil {
			return fmt.Errorf("post to stream %s: %w", b.Posts[i].Stream, err)
		}
	}
	for _, n := range b.Blobs {
		if t.stream(n.Stream) == nil {
			return fmt.Errorf("write blob of stream %s: %w", n.Stream, store.ErrNotFound)
		}
	}
	return nil
}

func (t *txn) spend(s *store.Spend) error {
	a := t.accounts[s.Account]
	if a == nil {
		known := t.s.disk.accounts[s.Account]
		switch {
		case known != nil:
			a = cloneAccount(known)
		case s.Limits == nil:
			return store.ErrNotFound
		default:
			a = &store.Account{ID: s.Account}
		}
		t.accounts[s.Account] = a
	}
	return a.Book(s)
}

func (t *txn) post(p *store.Post) error {
	st := t.stream(p.Stream)
	if st == nil {
		return store.ErrNotFound
	}
	body, seen := st.seen[p.ID]
	for _, q := range t.posts {
		if q.Stream == p.Stream && q.ID == p.ID {
			body, seen = q.Body, true
		}
	}
	switch {
	case seen && !bytes.Equal(body, p.Body):
		return store.ErrMailConflict
	case seen:
		return nil
	}
	body = append([]byte{}, p.Body...)
	t.posts = append(t.posts, store.Post{Stream: p.Stream, ID: p.ID, Body: body})
	st.mailLast++
	st.mail = append(st.mail, store.Mail{Number: st.mailLast, ID: p.ID, Body: body, At: t.s.disk.now().UTC()})
	t.signals = append(t.signals, p.Stream)
	return nil
}
