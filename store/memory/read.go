package memory

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/culm-dev/culm/store"
)

const (
	defaultReadBytes = 1 << 20
	defaultPage      = 50
	maxPage          = 1000
)

func clone(events [][]byte) [][]byte {
	c := make([][]byte, len(events))
	for i, e := range events {
		c[i] = append([]byte{}, e...)
	}
	return c
}

func cloneRow(r *store.Row) store.Row {
	c := *r
	c.Labels = maps.Clone(r.Labels)
	return c
}

func cloneAccount(a *store.Account) *store.Account {
	return &store.Account{ID: a.ID, Spent: maps.Clone(a.Spent), Limits: maps.Clone(a.Limits)}
}

// Read implements [store.Store].
func (s *Store) Read(ctx context.Context, name string, after uint64, maxBytes int) ([]store.Group, error) {
	st, unlock, err := s.find(ctx, "read stream", name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if after >= st.last {
		return nil, nil
	}
	if maxBytes <= 0 {
		maxBytes = defaultReadBytes
	}
	var groups []store.Group
	size := 0
	at, _ := st.find(after + 1)
	for _, g := range st.groups[at:] {
		if g.First <= after {
			g = store.Group{First: after + 1, Events: g.Events[after+1-g.First:]}
		}
		groups = append(groups, store.Group{First: g.First, Events: clone(g.Events)})
		for _, e := range g.Events {
			size += len(e)
		}
		if size >= maxBytes {
			break
		}
	}
	return groups, nil
}

// find locks the disk and looks a stream up; unlock must follow a success.
func (s *Store) find(ctx context.Context, what, name string) (st *stream, unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if err := s.lock(); err != nil {
		return nil, nil, err
	}
	st = s.disk.streams[name]
	if st == nil {
		s.disk.mu.Unlock()
		return nil, nil, fmt.Errorf("%s %s: %w", what, name, store.ErrNotFound)
	}
	return st, s.disk.mu.Unlock, nil
}

// Head implements [store.Store].
func (s *Store) Head(ctx context.Context, name string) (store.Head, error) {
	st, unlock, err := s.find(ctx, "read head of stream", name)
	if err != nil {
		return store.Head{}, err
	}
	defer unlock()
	return store.Head{
		Stream: name, Last: st.last, Owner: s.owner(st), Row: cloneRow(&st.row),
		Checkpoint: slices.Clone(st.checkpoint), CheckpointAt: st.checkpointAt,
	}, nil
}

// owner has no process ids: all handles are in one process.
func (s *Store) owner(st *stream) store.Owner {
	return store.Owner{ID: st.owner, Epoch: st.epoch, Alive: s.disk.alive[st.owner], Self: st.owner == s.id}
}

// Blob implements [store.Store].
func (s *Store) Blob(ctx context.Context, name, id string) ([]byte, error) {
	st, unlock, err := s.find(ctx, "read blob of stream", name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	data, ok := st.blobs[id]
	if !ok {
		return nil, fmt.Errorf("read blob %s of stream %s: %w", id, name, store.ErrNotFound)
	}
	return append([]byte{}, data...), nil
}

// Mail implements [store.Store].
func (s *Store) Mail(ctx context.Context, name string, after uint64) ([]store.Mail, error) {
	st, unlock, err := s.find(ctx, "read mail of stream", name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var mail []store.Mail
	for _, m := range st.mail {
		if m.Number > after {
			m.Body = append([]byte{}, m.Body...)
			mail = append(mail, m)
		}
	}
	return mail, nil
}

// Account implements [store.Store].
func (s *Store) Account(_ context.Context, id string) (store.Account, error) {
	if err := s.lock(); err != nil {
		return store.Account{}, err
	}
	defer s.disk.mu.Unlock()
	a := s.disk.accounts[id]
	if a == nil {
		return store.Account{}, fmt.Errorf("read account %s: %w", id, store.ErrNotFound)
	}
	return *cloneAccount(a), nil
}

// Key implements [store.Store].
func (s *Store) Key(_ context.Context, scope, key string) (store.KeyRecord, error) {
	if err := s.lock(); err != nil {
		return store.KeyRecord{}, err
	}
	defer s.disk.mu.Unlock()
	k, ok := s.disk.keys[[2]string{scope, key}]
	if !ok {
		return store.KeyRecord{}, fmt.Errorf("read key %q: %w", key, store.ErrNotFound)
	}
	return k, nil
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, q store.Query) (store.Page, error) {
	cursor, err := base64.RawURLEncoding.DecodeString(q.Cursor)
	if err != nil {
		return store.Page{}, errors.New("list: the cursor is not one that a page gave")
	}
	if err := ctx.Err(); err != nil {
		return store.Page{}, err
	}
	if err := s.lock(); err != nil {
		return store.Page{}, err
	}
	defer s.disk.mu.Unlock()
	limit := q.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	limit = min(limit, maxPage)
	var rows []store.Listed
	for _, st := range s.disk.streams {
		if !matches(&st.row, &q) || (q.Cursor != "" && place(&st.row) >= string(cursor)) {
			continue
		}
		rows = append(rows, store.Listed{Row: cloneRow(&st.row), Last: st.last, Owner: s.owner(st)})
	}
	slices.SortFunc(rows, func(a, b store.Listed) int { return cmp.Compare(place(&b.Row), place(&a.Row)) })
	page := store.Page{Rows: rows}
	if len(rows) > limit {
		page.Rows = rows[:limit]
		page.Next = base64.RawURLEncoding.EncodeToString([]byte(place(&rows[limit-1].Row)))
	}
	return page, nil
}

// place is where a row stands in a listing, as text that sorts.
func place(r *store.Row) string {
	return r.Created.UTC().Format("2006-01-02T15:04:05.000000000Z") + " " + r.ID
}

func matches(r *store.Row, q *store.Query) bool {
	for name, value := range q.Labels {
		if v, ok := r.Labels[name]; !ok || v != value {
			return false
		}
	}
	return (q.Kind == "" || r.Kind == q.Kind) &&
		(len(q.Status) == 0 || slices.Contains(q.Status, r.Status)) &&
		(q.Workflow == "" || r.Workflow == q.Workflow || !strings.Contains(q.Workflow, "@") && strings.HasPrefix(r.Workflow, q.Workflow+"@")) &&
		(q.Session == "" || r.Session == q.Session) &&
		(!q.InDoubt || r.InDoubt) &&
		!r.Created.Before(q.Since) &&
		strings.HasPrefix(r.ID, q.IDPrefix) &&
		strings.HasSuffix(r.ID, q.IDSuffix)
}
