package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/internal/handle"
)

// oldest is the oldest format that this version reads.
const oldest = 1

func copiedSum(generation, at string) uint32 {
	return newSum("copied").text(generation).text(at).crc()
}

var errCopiedDamaged = errors.New("the row that says what the database was copied from does not verify")

// Identity implements [store.Keeper].
func (s *Store) Identity(ctx context.Context) (store.Identity, error) {
	id := store.Identity{Format: format, Oldest: oldest}
	err := s.read(ctx, func(c *conn) error { return readIdentity(ctx, c, &id) })
	if err != nil {
		return id, fmt.Errorf("read identity: %w", err)
	}
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(s.paths.db + suffix)
		switch {
		case err == nil:
			id.Size += info.Size()
		case !errors.Is(err, fs.ErrNotExist):
			return id, fmt.Errorf("read identity: %w", err)
		}
	}
	return id, nil
}

func readIdentity(ctx context.Context, c *conn, id *store.Identity) error {
	err := c.query(ctx, `SELECT format, generation FROM meta`, nil, func(v []driver.Value) error {
		version, _ := v[0].(int64)
		id.Format = int(version)
		id.Generation, _ = v[1].(string)
		return nil
	})
	copied := false
	if err == nil {
		err = c.query(ctx, `SELECT 1 FROM sqlite_schema WHERE name = 'copied'`, nil, func([]driver.Value) error {
			copied = true
			return nil
		})
	}
	if err != nil || !copied {
		return err
	}
	return c.query(ctx, `SELECT generation, at, crc FROM copied`, nil, func(v []driver.Value) error {
		cols := columns{v: v}
		from, at := cols.text(), cols.text()
		if !cols.crc(copiedSum(from, at)) {
			return errCopiedDamaged
		}
		id.Copied = from
		id.CopiedAt, err = parseTime(at)
		return err
	})
}

// stamp makes a copied database one of its own: another generation, and what it
// was copied from.
func stamp(ctx context.Context, path, from string, now time.Time) error {
	c, err := dial(ctx, path, readWrite, 0, "journal_mode(delete)", "synchronous(full)")
	if err != nil {
		return err
	}
	err = writeStamp(ctx, c, from, now)
	if err = errors.Join(err, c.close()); err != nil {
		return fmt.Errorf("stamp copy: %w", err)
	}
	return nil
}

func writeStamp(ctx context.Context, c *conn, from string, now time.Time) error {
	generation, err := handle.NewID()
	if err != nil {
		return err
	}
	at := timeText(now)
	// Text of times sorts as they do. A clock may have been ahead, once.
	err = c.query(ctx, `SELECT max(max(created), max(updated)) FROM streams`, nil, func(v []driver.Value) error {
		if newest, _ := v[0].(string); newest > at {
			at = newest
		}
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := c.exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	if _, err := c.exec(`DROP TABLE IF EXISTS copied`); err != nil { // of a copy's copy
		return err
	}
	if err := c.script(copySchema); err != nil {
		return err
	}
	if _, err := c.exec(`INSERT INTO copied (id, generation, at, crc) VALUES (1, ?, ?, ?)`, from, at, copiedSum(from, at)); err != nil {
		return err
	}
	if _, err := c.exec(`UPDATE meta SET generation = ?, crc = ?`, generation, metaSum(format, generation)); err != nil {
		return err
	}
	_, err = c.exec(`COMMIT`)
	return err
}
