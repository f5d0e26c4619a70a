package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/culm-dev/culm/store"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	maxReaders = 4
	// wholeCheckBytes is the size up to which the first read checks the whole
	// file, indexes against tables included; it takes about 2 ms a MiB.
	wholeCheckBytes = 4 << 20
)

// readers is a pool of connections that cannot write. Reading must not: a
// connection that could would rewrite the file when it closes after a crash of
// another process.
type readers struct {
	s     *Store
	slots chan *conn // nil in it stands for a connection not opened yet

	checking sync.Mutex
	checked  bool // the format was accepted, and a small file was found whole
}

func (r *readers) open(s *Store) {
	r.s = s
	r.slots = make(chan *conn, maxReaders)
	for range maxReaders {
		r.slots <- nil
	}
}

func (r *readers) close() error {
	var errs []error
	for range maxReaders {
		if c := <-r.slots; c != nil {
			errs = append(errs, c.close())
		}
	}
	return errors.Join(errs...)
}

// get takes a connection out of the pool, nil if there is no database yet.
// Either way put must follow.
func (r *readers) get(ctx context.Context) (*conn, error) {
	var c *conn
	select {
	case c = <-r.slots:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c != nil {
		return c, nil
	}
	c, err := r.dial(ctx)
	if err != nil {
		r.slots <- nil
		return nil, err
	}
	return c, nil
}

// put gives the connection back. One that failed is replaced by a new one.
func (r *readers) put(c *conn, err error) {
	if c != nil && err != nil {
		_ = c.close()
		c = nil
	}
	r.slots <- c
}

func (r *readers) dial(ctx context.Context) (*conn, error) {
	there, err := r.s.paths.exists()
	if err != nil || !there {
		return nil, err
	}
	c, err := r.dialFile(ctx)
	if err != nil {
		return nil, err
	}
	r.checking.Lock()
	defer r.checking.Unlock()
	if r.checked {
		return c, nil
	}
	made, err := checkFormat(ctx, c)
	if r.s.opt.Repair && !errors.Is(err, store.ErrNewerFormat) {
		r.checked = true
		return c, nil
	}
	if err == nil && made {
		err = r.checkWhole(ctx, c)
		r.checked = err == nil
	}
	if err != nil || !made {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (r *readers) dialFile(ctx context.Context) (*conn, error) {
	c, err := dial(ctx, r.s.paths.db, readOnly, r.s.opt.BusyTimeout, "query_only(1)")
	if err == nil {
		err = c.query(ctx, `SELECT 1 FROM sqlite_schema LIMIT 1`, nil, func([]driver.Value) error { return nil })
		if err == nil {
			return c, nil
		}
		err = errors.Join(err, c.close())
	}
	if code := primary(err); code == sqlite3.SQLITE_CANTOPEN || code == sqlite3.SQLITE_READONLY {
		if c, ok := r.dialFrozen(ctx); ok {
			return c, nil
		}
	}
	return nil, fmt.Errorf("open database: %w", err)
}

// dialFrozen opens a database whose folder cannot be written, so that SQLite
// cannot make the files by which readers and writers agree. Without a
// write-ahead log nobody is writing, and the file alone is all there is.
func (r *readers) dialFrozen(ctx context.Context) (*conn, bool) {
	if _, err := os.Stat(r.s.paths.db + "-wal"); !errors.Is(err, os.ErrNotExist) {
		return nil, false
	}
	c, err := dial(ctx, r.s.paths.db, frozen, r.s.opt.BusyTimeout, "query_only(1)")
	return c, err == nil
}

// checkFormat tells whether the schema is made, and refuses a newer one.
func checkFormat(ctx context.Context, c *conn) (made bool, err error) {
	var tables int64
	err = c.query(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'meta'`, nil, func(v []driver.Value) error {
		tables, _ = v[0].(int64)
		return nil
	})
	if err != nil || tables == 0 {
		return false, wrapUnlessNil("read schema", err)
	}
	found := false
	err = c.query(ctx, `SELECT format, generation, crc FROM meta`, nil, func(v []driver.Value) error {
		found = true
		cols := columns{v: v}
		version, generation := cols.int(), cols.text()
		if version > format {
			return fmt.Errorf("the database has format %d, this version reads up to %d: %w", version, format, store.ErrNewerFormat)
		}
		if !cols.crc(metaSum(version, generation)) {
			return fmt.Errorf("%w: its checksum does not match", errMetaDamaged)
		}
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: it is missing", errMetaDamaged)
	}
	return err == nil, wrapUnlessNil("read format", err)
}

var errMetaDamaged = errors.New("the row that says the database's format is damaged")

func metaSum(version int64, generation string) uint32 {
	return newSum("meta").int(version).text(generation).crc()
}

func wrapUnlessNil(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// checkWhole has SQLite check a small file, which finds what nothing else
// would: index entries that were damaged into pointing nowhere.
func (r *readers) checkWhole(ctx context.Context, c *conn) error {
	info, err := os.Stat(r.s.paths.db)
	if err != nil || info.Size() > wholeCheckBytes {
		return err
	}
	return checkPages(ctx, c)
}

func checkPages(ctx context.Context, c *conn) error {
	return c.query(ctx, `PRAGMA integrity_check(1)`, nil, func(v []driver.Value) error {
		if report, _ := v[0].(string); report != "ok" {
			return fmt.Errorf("the database file is damaged: %s", report)
		}
		return nil
	})
}

// read runs f on a connection inside one consistent look at the database. f is
// not called if there is no database yet.
func (s *Store) read(ctx context.Context, f func(c *conn) error) (err error) {
	if err := s.state.Begin(); err != nil {
		return err
	}
	defer s.state.End()
	c, err := s.readers.get(ctx)
	if err != nil {
		return err
	}
	defer func() {
		// A connection survives what the data say, not what the driver says.
		var broken error
		if resultCode(err) != 0 || ctx.Err() != nil {
			broken = err
		}
		s.readers.put(c, broken)
	}()
	if c == nil {
		return nil
	}
	if _, err := c.exec(`BEGIN`); err != nil {
		return fmt.Errorf("begin reading: %w", err)
	}
	err = f(c)
	if _, rerr := c.exec(`ROLLBACK`); rerr != nil && err == nil {
		err = fmt.Errorf("end reading: %w", rerr)
	}
	return err
}

// Generation is the store's identity, made with the database: a copy that was
// restored elsewhere shares it, a database made anew does not. "" before the
// first commit.
func (s *Store) Generation(ctx context.Context) (string, error) {
	var generation string
	err := s.read(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT generation FROM meta`, nil, func(v []driver.Value) error {
			generation, _ = v[0].(string)
			return nil
		})
	})
	return generation, wrapUnlessNil("read generation", err)
}

// Check has SQLite look at every page of the file, indexes against tables
// included. Rows are verified whenever they are read and not by Check.
func (s *Store) Check(ctx context.Context) error {
	return s.read(ctx, func(c *conn) error { return checkPages(ctx, c) })
}
