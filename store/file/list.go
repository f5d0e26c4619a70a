package file

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/culm-dev/culm/store"
)

const (
	defaultPage = 50
	maxPage     = 1000
)

// listing remembers the heads of all streams. Looking whether they changed costs one
// stat each, some microseconds, and only those that did are read.
type listing struct {
	mu      sync.Mutex
	entries map[string]*listed // by folder
}

// listed is one stream's head as it was read.
type listed struct {
	head    *head
	row     store.Row
	damage  error
	size    int64
	changed time.Time // of the file
	sure    bool      // a later change of the file would show in its time
}

// settled is how old a file's time must be for a later change to show in it.
const settled = 2 * time.Second

// refresh brings the heads up to date and returns all of them.
func (l *listing) refresh(p paths) ([]*listed, error) {
	names, err := readNames(p.at(runsDir))
	if err != nil {
		return nil, fmt.Errorf("list streams: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := make(map[string]*listed, len(names))
	all := make([]*listed, 0, len(names))
	for _, name := range names {
		e, err := l.entry(p, name)
		if err != nil {
			return nil, fmt.Errorf("list streams: %w", err)
		}
		if e != nil {
			fresh[name] = e
			all = append(all, e)
		}
	}
	l.entries = fresh
	return all, nil
}

func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}

// entry is the head in a folder, nil if there is none yet.
func (l *listing) entry(p paths, dir string) (*listed, error) {
	info, err := os.Stat(p.at(runsDir + "/" + dir + "/" + headFile))
	if err != nil && !missing(err) {
		return nil, err
	}
	if err == nil {
		if e := l.entries[dir]; e != nil && e.sure && e.changed.Equal(info.ModTime()) && e.size == info.Size() {
			return e, nil
		}
	}
	e := &listed{}
	now := time.Now()
	if e.head, e.damage = p.readHeadIn(dir); e.head == nil {
		return nil, nil
	}
	if e.damage != nil && !errors.As(e.damage, new(*store.DamagedError)) {
		return nil, e.damage
	}
	e.row, _ = e.head.Row.listing(e.head.Stream)
	if err == nil {
		e.size, e.changed = info.Size(), info.ModTime()
		e.sure = now.Sub(e.changed) > settled && e.damage == nil
	}
	return e, nil
}

// readHeadIn reads the head in a folder, whose name may be a hash.
func (p paths) readHeadIn(dir string) (*head, error) {
	if name, ok := unescape(dir); ok {
		h, _, err := p.readHead(name)
		return h, err
	}
	raw, err := os.ReadFile(p.at(runsDir + "/" + dir + "/" + headFile))
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var h head
	if err := decodeSealed(raw, &h); err != nil {
		return &head{Stream: dir}, headDamaged(dir, err)
	}
	if escape(h.Stream) != dir {
		return &head{Stream: dir}, headDamaged(dir, errors.New("it is that of another stream"))
	}
	return &h, nil
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, q store.Query) (store.Page, error) {
	page, err := s.list(ctx, q)
	if err != nil {
		return store.Page{}, fmt.Errorf("list: %w", err)
	}
	return page, nil
}

func (s *Store) list(ctx context.Context, q store.Query) (store.Page, error) {
	f, err := newFilter(q)
	if err != nil {
		return store.Page{}, err
	}
	all, err := s.heads(ctx)
	if err != nil {
		return store.Page{}, err
	}
	rows := make([]*listed, 0, len(all))
	for _, l := range all {
		if f.wants(l) {
			rows = append(rows, l)
		}
	}
	slices.SortFunc(rows, func(a, b *listed) int { return b.compare(a.head.Row.Created, a.head.Stream) })
	var page store.Page
	if len(rows) > f.limit {
		rows = rows[:f.limit]
		end := rows[f.limit-1]
		page.Next = encodeCursor(end.head.Row.Created, end.head.Stream)
	}
	page.Rows, err = s.withOwners(rows)
	return page, err
}

// heads are those of all streams. What does not verify is read again in a turn.
func (s *Store) heads(ctx context.Context) (all []*listed, err error) {
	if err := s.state.Begin(); err != nil {
		return nil, err
	}
	defer s.state.End()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a, err := s.settle()
	if a == nil || err != nil {
		return nil, err
	}
	all, err = s.listing.refresh(s.paths)
	if err != nil || !slices.ContainsFunc(all, func(l *listed) bool { return l.damage != nil }) {
		return all, err
	}
	terr := s.inTurn(func() { all, err = s.listing.refresh(s.paths) })
	return all, errors.Join(terr, err)
}

// compare orders by creation, then by name.
func (l *listed) compare(created, name string) int {
	if c := strings.Compare(l.head.Row.Created, created); c != 0 {
		return c
	}
	return strings.Compare(l.head.Stream, name)
}

// withOwners adds what is known of the owners, each asked for once.
func (s *Store) withOwners(rows []*listed) ([]store.Listed, error) {
	lives := make(map[string]store.Owner)
	page := make([]store.Listed, 0, len(rows))
	for _, l := range rows {
		o, known := lives[l.head.Owner]
		if !known {
			var err error
			if o, err = s.ownerOf(l.head); err != nil {
				return nil, err
			}
			lives[l.head.Owner] = o
		}
		o.Epoch = l.head.Epoch
		damage := s.state.KnownDamage(l.head.Stream)
		var d *store.DamagedError
		if errors.As(l.damage, &d) {
			damage = d.Reason
		}
		page = append(page, store.Listed{Row: l.row, Last: l.head.Last, Owner: o, Damaged: damage})
	}
	return page, nil
}

// filter is a query, made ready.
type filter struct {
	store.Query
	since         string
	created, name string // of the row before, with a cursor

	limit int
}

func newFilter(q store.Query) (*filter, error) {
	f := &filter{Query: q, limit: q.Limit, since: timeText(q.Since)}
	switch {
	case f.limit <= 0:
		f.limit = defaultPage
	case f.limit > maxPage:
		f.limit = maxPage
	}
	if q.Cursor != "" {
		var err error
		if f.created, f.name, err = decodeCursor(q.Cursor); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// wants tells whether a row is asked for. One that cannot be read is shown whatever
// is asked of the columns that it would have.
func (f *filter) wants(l *listed) bool {
	r := &l.head.Row
	name := l.head.Stream
	if !strings.HasPrefix(name, f.IDPrefix) || !strings.HasSuffix(name, f.IDSuffix) ||
		f.Cursor != "" && l.compare(f.created, f.name) >= 0 {
		return false
	}
	if l.damage != nil && r.Kind == "" {
		return true
	}
	for label, value := range f.Labels {
		if have, ok := r.Labels[label]; !ok || have != value {
			return false
		}
	}
	return (f.Kind == "" || r.Kind == f.Kind) &&
		(len(f.Status) == 0 || slices.Contains(f.Status, r.Status)) &&
		f.wantsWorkflow(r.Workflow) &&
		(f.Session == "" || r.Session == f.Session) &&
		(!f.InDoubt || r.InDoubt) &&
		r.Created >= f.since
}

func (f *filter) wantsWorkflow(workflow string) bool {
	if f.Workflow == "" || workflow == f.Workflow {
		return true
	}
	return !strings.Contains(f.Workflow, "@") && strings.HasPrefix(workflow, f.Workflow+"@")
}

func encodeCursor(created, name string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(created + " " + name))
}

func decodeCursor(cursor string) (created, name string, err error) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		var ok bool
		if created, name, ok = strings.Cut(string(b), " "); ok {
			return created, name, nil
		}
	}
	return "", "", errors.New("the cursor is not one that a page gave")
}
