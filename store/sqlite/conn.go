package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// conn is one connection with its prepared statements. It speaks to the driver
// without database/sql, whose bookkeeping costs as much as the statements of a
// small commit. Not safe for concurrent use.
type conn struct {
	raw   driver.Conn
	stmts map[string]*statement
	args  []driver.NamedValue
}

type statement struct {
	raw interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}
	columns int
}

// How a connection may be opened.
const (
	readOnly  = "ro"
	readWrite = "rw"
	// frozen reads a file that nobody can be writing, without any locks.
	frozen = "frozen"
)

// address is the URI of an existing file, and how to open it.
func address(path, mode string, busy time.Duration, pragmas ...string) string {
	q := url.Values{"mode": {mode}, "_error_rc": {"1"}}
	if mode == frozen {
		q.Set("mode", readOnly)
		q.Set("immutable", "1")
	}
	q.Add("_pragma", "busy_timeout("+strconv.FormatInt(busy.Milliseconds(), 10)+")")
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	return u.String()
}

// dial opens a connection to an existing file.
func dial(ctx context.Context, path, mode string, busy time.Duration, pragmas ...string) (*conn, error) {
	connector, err := sqlite.NewConnector(address(path, mode, busy, pragmas...))
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	raw, err := connector.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return &conn{raw: raw, stmts: make(map[string]*statement)}, nil
}

func (c *conn) close() error {
	for _, s := range c.stmts {
		_ = s.raw.Close() // finalizing reports the statement's last error again
	}
	return c.raw.Close()
}

func (c *conn) statement(query string) (*statement, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	raw, err := c.raw.Prepare(query)
	if err != nil {
		return nil, err
	}
	s := &statement{raw: raw.(interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	})}
	c.stmts[query] = s
	return s, nil
}

// bind converts arguments; the slice is reused by the next call.
func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		switch v := a.(type) {
		case uint64:
			a = int64(v)
		case uint32:
			a = int64(v)
		case int:
			a = int64(v)
		case bool:
			a = int64(0)
			if v {
				a = int64(1)
			}
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// exec runs a statement and returns how many rows it changed.
func (c *conn) exec(query string, args ...any) (int64, error) {
	s, err := c.statement(query)
	if err != nil {
		return 0, err
	}
	r, err := s.raw.ExecContext(context.Background(), c.bind(args))
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// insert is exec that returns the new row's id.
func (c *conn) insert(query string, args ...any) (int64, error) {
	s, err := c.statement(query)
	if err != nil {
		return 0, err
	}
	r, err := s.raw.ExecContext(context.Background(), c.bind(args))
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// script runs statements once, without keeping them.
func (c *conn) script(sql string) error {
	raw, err := c.raw.Prepare(sql)
	if err != nil {
		return err
	}
	_, err = raw.(driver.StmtExecContext).ExecContext(context.Background(), nil)
	return errors.Join(err, raw.Close())
}

// errStop ends a query's iteration early and is no error.
var errStop = errors.New("stop")

// query calls each for every row of the result. The values are valid during the
// call only, but strings and byte slices in them may be kept.
func (c *conn) query(ctx context.Context, query string, args []any, each func(v []driver.Value) error) error {
	s, err := c.statement(query)
	if err != nil {
		return err
	}
	rows, err := s.raw.QueryContext(ctx, c.bind(args))
	if err != nil {
		return err
	}
	if s.columns == 0 {
		s.columns = len(rows.Columns())
	}
	dest := make([]driver.Value, s.columns)
	for {
		err = rows.Next(dest)
		if err != nil {
			break
		}
		if err = each(dest); err != nil {
			break
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, errStop) {
		err = nil
	}
	if cerr := rows.Close(); err == nil {
		err = cerr
	}
	return err
}

// resultCode is SQLite's extended result code of an error, 0 if it is none of
// SQLite's.
func resultCode(err error) int {
	if err == nil {
		return 0
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code()
}

// primary is the result code without what extends it.
func primary(err error) int { return resultCode(err) & 0xff }

// endsTransaction tells the errors after which SQLite may have rolled the
// transaction back by itself, so that none of it can go on.
func endsTransaction(err error) bool {
	switch primary(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM,
		sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN:
		return true
	}
	return false
}

// corrupt tells what SQLite reports about damaged pages and records.
func corrupt(err error) bool {
	switch primary(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return true
	}
	return false
}

// poisons tells, of an error in a transaction, whether the disk failed: after
// that nothing this process believes about the file can be trusted. Running out
// of space for the shared-memory index, before anything was written, is not.
func poisons(err error) bool {
	switch resultCode(err) {
	case sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMMAP,
		sqlite3.SQLITE_IOERR_NOMEM:
		return false
	}
	return primary(err) == sqlite3.SQLITE_IOERR
}

// columns reads the values of one row in order and remembers whether any had
// another type than it was stored with.
type columns struct {
	v   []driver.Value
	bad bool
}

func (c *columns) next() driver.Value {
	if len(c.v) == 0 {
		c.bad = true
		return nil
	}
	v := c.v[0]
	c.v = c.v[1:]
	return v
}

func (c *columns) int() int64 {
	v, ok := c.next().(int64)
	c.bad = c.bad || !ok
	return v
}

func (c *columns) text() string {
	v, ok := c.next().(string)
	c.bad = c.bad || !ok
	return v
}

func (c *columns) bytes() []byte {
	b, ok := c.next().([]byte)
	c.bad = c.bad || !ok
	if b == nil { // the driver's way to give an empty blob
		b = []byte{}
	}
	return b
}

// sum reads a checksum column.
func (c *columns) sum() uint32 {
	v := c.int()
	c.bad = c.bad || v != int64(uint32(v))
	return uint32(v)
}

// crc reads a checksum column and tells whether it is the wanted one.
func (c *columns) crc(want uint32) bool { return c.int() == int64(want) && !c.bad }

const (
	codeError = sqlite3.SQLITE_ERROR
	codeBusy  = sqlite3.SQLITE_BUSY
	codeFull  = sqlite3.SQLITE_FULL
)
