package sqlite

import (
	"context"
	"database/sql/driver"
	"os"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/internal/owner"
)

// locks is what this handle shows of its life and sees of others'.
type locks struct {
	*owner.Locks
	s *Store
}

func (l *locks) open(s *Store) {
	l.s = s
	l.Locks = owner.New(s.paths.locks, s.id, l.named)
}

// named tells whether a stream still names an owner, or may.
func (l *locks) named(owner string) bool {
	found := false
	err := l.s.read(context.Background(), func(c *conn) error {
		return c.query(context.Background(), `SELECT 1 FROM streams WHERE owner = ? AND owner <> '' LIMIT 1`,
			[]any{owner}, func([]driver.Value) error {
				found = true
				return nil
			})
	})
	return found || err != nil
}

// owner fills in what is known of a stream's owner.
func (l *locks) owner(row *streamRow) (store.Owner, error) {
	o := store.Owner{ID: row.owner, Epoch: row.epoch}
	switch row.owner {
	case "":
		return o, nil
	case l.s.id:
		o.Self, o.Alive, o.PID = true, l.s.state.Poisoned() == nil, os.Getpid()
		return o, nil
	}
	var err error
	o.Alive, o.PID, err = l.Probe(row.owner)
	return o, err
}
