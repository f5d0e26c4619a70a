package sqlite

import (
	"context"
	"database/sql/driver"

	"github.com/culm-dev/culm/store/internal/watch"
)

// Watch implements [store.Store].
func (s *Store) Watch(stream string) (<-chan struct{}, func()) { return s.watches.Watch(stream) }

// lookout looks for commits of other processes.
type lookout struct {
	s       *Store
	conn    *conn
	version int64 // PRAGMA data_version, which every commit of another connection changes
	commits int64 // greatest commits.id seen
	mail    int64 // greatest mail.id ever given, as seen
}

func (s *Store) newLookout() watch.Lookout { return &lookout{s: s, version: -1} }

// Close implements watch.Lookout.
func (p *lookout) Close() {
	if p.conn != nil {
		_ = p.conn.close()
	}
}

// Look implements watch.Lookout. When it cannot tell who has cause it names
// everybody; the first look, whose beginning nobody knows, is such a case.
func (p *lookout) Look() (streams []string, all bool) {
	if p.conn == nil {
		there, err := p.s.paths.exists()
		if err != nil || !there {
			return nil, false
		}
		if p.conn, err = p.s.readers.dialFile(context.Background()); err != nil {
			p.conn = nil
			return nil, false
		}
		p.version = -1
	}
	first := p.version == -1
	changed, err := p.changed()
	if err == nil && !changed {
		return nil, false
	}
	if err == nil {
		streams, err = p.look(first)
	}
	if err != nil {
		_ = p.conn.close()
		p.conn = nil
	}
	return streams, err != nil || first
}

func (p *lookout) changed() (changed bool, err error) {
	err = p.conn.query(context.Background(), `PRAGMA data_version`, nil, func(v []driver.Value) error {
		version, _ := v[0].(int64)
		changed = version != p.version
		p.version = version
		return nil
	})
	return changed, err
}

const selectChanged = `SELECT name FROM streams WHERE id IN (
	SELECT stream FROM commits WHERE id > ? UNION SELECT stream FROM mail WHERE id > ?)`

// look names the streams that have commits or mail not seen before; the first
// look only takes note of what there is.
func (p *lookout) look(first bool) (streams []string, err error) {
	ctx := context.Background()
	if _, err := p.conn.exec(`BEGIN`); err != nil {
		return nil, err
	}
	if !first {
		err = p.conn.query(ctx, selectChanged, []any{p.commits, p.mail}, func(v []driver.Value) error {
			name, _ := v[0].(string)
			streams = append(streams, name)
			return nil
		})
	}
	if err == nil {
		err = p.conn.query(ctx, `SELECT (SELECT max(id) FROM commits), (SELECT seq FROM sqlite_sequence WHERE name = 'mail')`, nil,
			func(v []driver.Value) error {
				p.commits, _ = v[0].(int64)
				p.mail, _ = v[1].(int64)
				return nil
			})
	}
	if _, rerr := p.conn.exec(`ROLLBACK`); err == nil {
		err = rerr
	}
	return streams, err
}
