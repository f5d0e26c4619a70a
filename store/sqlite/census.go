package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
)

// named is a stream as a census found it.
type named struct {
	id   int64
	name string
	kind string // "" if only the index knows the stream
}

// row reads the stream's row: nil if it is gone. Of one that cannot be read at
// all, what the census knows is enough to look for its journal.
func (n named) row(ctx context.Context, c *conn) (*streamRow, error) {
	row, err := findStream(ctx, c, n.name)
	if row == nil && err != nil && corrupt(err) {
		row = &streamRow{id: n.id, name: n.name, labels: "{}"}
		return row, row.damaged("its row cannot be read: " + err.Error())
	}
	if row == nil && err == nil && n.kind == "" {
		row = &streamRow{id: n.id, name: n.name, labels: "{}"}
		return row, row.damaged("its row is missing")
	}
	return row, err
}

// census finds all streams, whatever is damaged: the table is read from both
// ends, as far as it goes, and the index by name tells of those between.
func (s *Store) census(ctx context.Context) ([]named, error) {
	found := make(map[int64]named)
	for _, query := range []string{
		`SELECT id, name, kind FROM streams NOT INDEXED ORDER BY id`,
		`SELECT id, name, kind FROM streams NOT INDEXED ORDER BY id DESC`,
		`SELECT id, name, '' FROM streams INDEXED BY streams_name WHERE name >= ''`,
	} {
		err := s.read(ctx, func(c *conn) error {
			return c.query(ctx, query, nil, func(v []driver.Value) error {
				var n named
				n.id, _ = v[0].(int64)
				n.name, _ = v[1].(string)
				n.kind, _ = v[2].(string)
				if _, known := found[n.id]; !known {
					found[n.id] = n
				}
				return nil
			})
		})
		if err != nil && !corrupt(err) {
			return nil, fmt.Errorf("look for streams: %w", err)
		}
	}
	all := make([]named, 0, len(found))
	for _, n := range found {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b named) int { return int(max(-1, min(1, a.id-b.id))) })
	return all, nil
}
