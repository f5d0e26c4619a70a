package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/culm-dev/culm/store"
)

const (
	defaultPage = 50
	maxPage     = 1000
)

// List implements [store.Store].
func (s *Store) List(ctx context.Context, q store.Query) (store.Page, error) {
	f, err := newFilter(q)
	if err != nil {
		return store.Page{}, fmt.Errorf("list: %w", err)
	}
	var rows []listedRow
	err = s.read(ctx, func(c *conn) (err error) {
		if q.Cursor == "" {
			if err := checkListing(ctx, c); err != nil {
				return err
			}
		}
		rows, err = f.rows(ctx, c)
		return err
	})
	if err != nil {
		return store.Page{}, fmt.Errorf("list: %w", err)
	}
	var page store.Page
	if len(rows) > f.limit {
		rows = rows[:f.limit]
		end := rows[f.limit-1]
		page.Next = encodeCursor(end.created, end.row.name)
	}
	page.Rows, err = s.listed(rows)
	if err != nil {
		return store.Page{}, fmt.Errorf("list: %w", err)
	}
	return page, nil
}

// listedRow is a row with the value it was ordered by, as stored.
type listedRow struct {
	row     streamRow
	created string
	damage  string
}

// listed adds what is known of the owners, each asked for once.
func (s *Store) listed(rows []listedRow) ([]store.Listed, error) {
	type life struct {
		alive bool
		pid   int
	}
	lives := make(map[string]life)
	page := make([]store.Listed, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		o := store.Owner{ID: r.row.owner, Epoch: r.row.epoch, Self: r.row.owner == s.id}
		if o.ID != "" {
			known, ok := lives[o.ID]
			if !ok {
				full, err := s.locks.owner(&r.row)
				if err != nil {
					return nil, err
				}
				known = life{full.Alive, full.PID}
				lives[o.ID] = known
			}
			o.Alive, o.PID = known.alive, known.pid
		}
		damage := r.damage
		if damage == "" {
			damage = s.state.KnownDamage(r.row.name)
		}
		page = append(page, store.Listed{Row: r.row.listing, Last: r.row.last, Owner: o, Damaged: damage})
	}
	return page, nil
}

// checkListing compares the index that listings walk with another one: an entry
// that was damaged away from either would hide a stream.
func checkListing(ctx context.Context, c *conn) error {
	return c.query(ctx, `SELECT (SELECT count(*) FROM streams INDEXED BY streams_created WHERE created >= ''),
		(SELECT count(*) FROM streams INDEXED BY streams_tag WHERE tag >= ?)`, []any{int64(-1 << 63)},
		func(v []driver.Value) error {
			if v[0] != v[1] {
				return errors.New("the database file is damaged: its indexes name different streams")
			}
			return nil
		})
}

// filter is a query as SQL.
type filter struct {
	where []string
	args  []any
	limit int
	after string // created of the row before, "" at the start
}

func (f *filter) and(cond string, args ...any) {
	f.where = append(f.where, cond)
	f.args = append(f.args, args...)
}

func newFilter(q store.Query) (*filter, error) {
	f := &filter{limit: q.Limit}
	switch {
	case f.limit <= 0:
		f.limit = defaultPage
	case f.limit > maxPage:
		f.limit = maxPage
	}
	if q.Kind != "" {
		f.and(`kind = ?`, q.Kind)
	} else {
		f.and(`kind <> ?`, kindRemoved)
	}
	if len(q.Status) > 0 {
		marks := strings.TrimSuffix(strings.Repeat("?,", len(q.Status)), ",")
		f.where = append(f.where, `status IN (`+marks+`)`)
		for _, s := range q.Status {
			f.args = append(f.args, s)
		}
	}
	switch {
	case strings.Contains(q.Workflow, "@"):
		f.and(`workflow = ?`, q.Workflow)
	case q.Workflow != "":
		prefix := q.Workflow + "@"
		f.and(`(workflow = ? OR substr(workflow, 1, ?) = ?)`, q.Workflow, len([]rune(prefix)), prefix)
	}
	if q.Session != "" {
		f.and(`session = ?`, q.Session)
	}
	for _, name := range slices.Sorted(maps.Keys(q.Labels)) {
		// CASE is the one construct that keeps a damaged value from json_each.
		f.and(`CASE WHEN json_valid(labels) THEN EXISTS (SELECT 1 FROM json_each(labels) WHERE key = ? AND atom = ?) END`, name, q.Labels[name])
	}
	if q.InDoubt {
		f.and(`in_doubt <> 0`)
	}
	if !q.Since.IsZero() {
		f.and(`created >= ?`, timeText(q.Since))
	}
	if q.IDPrefix != "" {
		f.and(`substr(name, 1, ?) = ?`, len([]rune(q.IDPrefix)), q.IDPrefix)
	}
	if q.IDSuffix != "" {
		f.and(`substr(name, ?) = ?`, -len([]rune(q.IDSuffix)), q.IDSuffix)
	}
	if q.Cursor != "" {
		created, name, err := decodeCursor(q.Cursor)
		if err != nil {
			return nil, err
		}
		f.after = created
		f.and(`(created, name) < (?, ?)`, created, name)
	}
	return f, nil
}

// rows reads one row more than the page holds.
func (f *filter) rows(ctx context.Context, c *conn) (rows []listedRow, err error) {
	query := `SELECT ` + streamColumns + ` FROM streams`
	if len(f.where) > 0 {
		query += ` WHERE ` + strings.Join(f.where, ` AND `)
	}
	query += ` ORDER BY created DESC, name DESC LIMIT ?`
	before := f.after
	err = c.query(ctx, query, append(f.args, f.limit+1), func(v []driver.Value) error {
		var r listedRow
		r.row, r.damage = scanStream(v)
		r.created, _ = v[createdColumn].(string)
		if before != "" && r.created > before {
			return errors.New("the database file is damaged: streams come out of order")
		}
		before = r.created
		rows = append(rows, r)
		return nil
	})
	return rows, err
}

// createdColumn is the place of created in streamColumns.
const createdColumn = 17

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
