package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// compactPages is how many pages one step gives back.
const compactPages = 128

// Compact implements [store.Keeper]. A database that was made without room for
// this (auto_vacuum is chosen when a file is made) keeps its size: its free pages
// are used by what is written next.
func (s *Store) Compact(ctx context.Context) (int64, error) {
	if there, err := s.paths.exists(); err != nil || !there {
		return 0, err
	}
	if err := s.finishRemovals(ctx); err != nil {
		return 0, fmt.Errorf("compact: %w", err)
	}
	given := int64(0)
	for {
		n, err := s.giveBack()
		given += n
		if err == nil && n > 0 {
			err = ctx.Err()
		}
		if err != nil {
			return given, fmt.Errorf("compact: %w", err)
		}
		if n == 0 {
			break
		}
	}
	if given > 0 {
		// Only when the log is copied into the file is the file cut.
		if err := s.copyLog(); err != nil {
			return given, fmt.Errorf("compact: %w", err)
		}
	}
	return given, nil
}

// finishRemovals goes on with removals that were broken off.
func (s *Store) finishRemovals(ctx context.Context) error {
	for {
		id := int64(0)
		err := s.read(ctx, func(c *conn) error {
			return c.query(ctx, `SELECT id FROM streams WHERE kind = ? LIMIT 1`, []any{kindRemoved}, func(v []driver.Value) error {
				id, _ = v[0].(int64)
				return nil
			})
		})
		if err != nil || id == 0 {
			return err
		}
		for id != 0 {
			if id, err = s.removeStep(id); err != nil {
				return err
			}
		}
	}
}

// giveBack cuts some free pages off, and returns their size; 0 if there are none
// that can be.
func (s *Store) giveBack() (size int64, err error) {
	err = s.maintain(func(t *txn) error {
		mode, page, before, free := int64(0), int64(0), int64(0), int64(0)
		err := errors.Join(
			t.pragma(`PRAGMA auto_vacuum`, &mode), t.pragma(`PRAGMA page_size`, &page),
			t.pragma(`PRAGMA page_count`, &before), t.pragma(`PRAGMA freelist_count`, &free),
		)
		if err != nil || mode == 0 || free == 0 {
			return err
		}
		// It gives back one page with each row that is asked for.
		err = t.c.query(context.Background(), fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, compactPages), nil,
			func([]driver.Value) error { return nil })
		after := before
		err = errors.Join(err, t.pragma(`PRAGMA page_count`, &after))
		size = (before - after) * page
		t.bytes += compactPages * 4096
		return err
	})
	return size, err
}

func (t *txn) pragma(query string, into *int64) error {
	return t.c.query(context.Background(), query, nil, func(v []driver.Value) error {
		*into, _ = v[0].(int64)
		return nil
	})
}

// copyLog copies the write-ahead log into the database, beside the commits.
func (s *Store) copyLog() error {
	if err := s.state.Begin(); err != nil {
		return err
	}
	defer s.state.End()
	s.writing.Lock()
	w := s.writer
	s.writing.Unlock()
	if w == nil {
		return nil
	}
	return w.wal.copyNow()
}
