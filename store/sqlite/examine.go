package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/culm-dev/culm/internal/proc"
	"github.com/culm-dev/culm/store"
)

// maxPageFindings is how many damaged pages are told of one by one.
const maxPageFindings = 20

// Examine implements [store.Keeper].
func (s *Store) Examine(ctx context.Context, found func(store.Finding)) error {
	if there, err := s.paths.exists(); err != nil || !there {
		return err
	}
	x := &examination{s: s, ctx: ctx, found: found}
	for _, look := range []func() error{x.pages, x.meta, x.streams, x.rows, x.files} {
		if err := look(); err != nil {
			return fmt.Errorf("examine: %w", err)
		}
	}
	return nil
}

type examination struct {
	s     *Store
	ctx   context.Context
	found func(store.Finding)
}

// note tells of an error as a finding, if it is damage.
func (x *examination) note(code, stream string, err error) error {
	var d *store.DamagedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &d):
		x.found(store.Finding{Code: code, Stream: stream, Message: d.Reason})
	case corrupt(err):
		x.found(store.Finding{Code: store.FoundDamagedPage, Stream: stream, Message: err.Error()})
	default:
		return err
	}
	return nil
}

func (x *examination) damagedPage(format string, args ...any) {
	x.found(store.Finding{Code: store.FoundDamagedPage, Message: fmt.Sprintf(format, args...)})
}

// pages has SQLite check the whole file, indexes against tables included.
func (x *examination) pages() error {
	err := x.s.read(x.ctx, func(c *conn) error {
		return c.query(x.ctx, fmt.Sprintf(`PRAGMA integrity_check(%d)`, maxPageFindings), nil, func(v []driver.Value) error {
			report, _ := v[0].(string)
			for line := range strings.Lines(report) {
				if line = strings.TrimSpace(line); line != "ok" && line != "" && !strings.HasPrefix(line, "*** in database") {
					x.damagedPage("%s", line)
				}
			}
			return nil
		})
	})
	return x.note(store.FoundDamagedPage, "", err)
}

func (x *examination) meta() error {
	err := x.s.read(x.ctx, func(c *conn) error {
		_, err := checkFormat(x.ctx, c)
		if err == nil {
			var id store.Identity
			err = readIdentity(x.ctx, c, &id)
		}
		return err
	})
	if errors.Is(err, errMetaDamaged) || errors.Is(err, errCopiedDamaged) {
		x.found(store.Finding{Code: store.FoundDamagedRow, Message: err.Error()})
		return nil
	}
	return x.note(store.FoundDamagedPage, "", err)
}

// streams verifies each stream in a look of its own, so that none of them keeps
// the log from being copied for long.
func (x *examination) streams() error {
	names, err := x.s.census(x.ctx)
	if err != nil {
		return err
	}
	lives := make(map[string]store.Owner)
	for _, n := range names {
		if n.kind == kindRemoved {
			x.found(store.Finding{Code: store.FoundUnfinishedCommit, Message: "the removal of a stream was broken off"})
			continue
		}
		if err := x.stream(n, lives); err != nil {
			return err
		}
	}
	return nil
}

func (x *examination) stream(n named, lives map[string]store.Owner) error {
	var row *streamRow
	err := x.s.read(x.ctx, func(c *conn) (err error) {
		if row, err = n.row(x.ctx, c); row == nil {
			return err
		}
		_, damage, readErr := extract(x.ctx, c, row, err, false)
		if damage == nil && readErr == nil && err == nil {
			if damage = checkTail(x.ctx, c, row); damage == nil {
				_, damage = readCheckpoint(x.ctx, c, row)
			}
		}
		return errors.Join(damage, readErr)
	})
	if row == nil && err == nil {
		return nil // it was removed meanwhile
	}
	if err := x.note(store.FoundDamagedStream, n.name, asDamage(err, n.name)); err != nil {
		return err
	}
	return x.owner(row, lives)
}

func (x *examination) owner(row *streamRow, lives map[string]store.Owner) error {
	if row == nil || row.owner == "" || row.owner == x.s.id {
		return nil
	}
	o, known := lives[row.owner]
	if !known {
		var err error
		if o, err = x.s.locks.owner(row); err != nil {
			return err
		}
		lives[row.owner] = o
	}
	switch {
	case !o.Alive:
		x.found(store.Finding{Code: store.FoundDeadOwner, Stream: row.name, PID: o.PID, Message: "the process that owned it is gone"})
	case proc.Stopped(o.PID):
		x.found(store.Finding{Code: store.FoundStoppedOwner, Stream: row.name, PID: o.PID,
			Message: fmt.Sprintf("the process that owns it (pid %d) is stopped", o.PID)})
	}
	return nil
}

// rows verifies what belongs to no stream.
func (x *examination) rows() error {
	bad := func(what, which string) {
		x.found(store.Finding{Code: store.FoundDamagedRow, Message: fmt.Sprintf("the checksum of the %s %s does not match", what, which)})
	}
	err := x.s.read(x.ctx, func(c *conn) error {
		return eachKey(x.ctx, c, -1<<63, 1<<62, func(_ int64, k *store.KeyRecord, good bool) error {
			if !good {
				bad("key", fmt.Sprintf("%q", k.Key))
			}
			return nil
		})
	})
	if err := x.note(store.FoundDamagedPage, "", err); err != nil {
		return err
	}
	err = x.s.read(x.ctx, func(c *conn) error {
		return eachAccount(x.ctx, c, func(a *account, good bool) error {
			if !good {
				bad("account", fmt.Sprintf("%q", a.ID))
			}
			return nil
		})
	})
	if err := x.note(store.FoundDamagedPage, "", err); err != nil {
		return err
	}
	err = x.s.read(x.ctx, func(c *conn) error {
		return c.query(x.ctx, `SELECT s.name, m.message, m.tag, m.hash, m.crc FROM seen_mail m LEFT JOIN streams s ON s.id = m.stream`, nil,
			func(v []driver.Value) error {
				name, _ := v[0].(string)
				cols := columns{v: v[1:]}
				id, storedTag, hash := cols.text(), cols.int(), cols.bytes()
				if name != "" && (!cols.crc(seenSum(name, id, hash)) || storedTag != tag(name, id)) {
					bad("record of a message posted to", name)
				}
				return nil
			})
	})
	return x.note(store.FoundDamagedPage, "", err)
}

// files looks for what crashes leave. The next process that owns a stream
// removes such locks by itself.
func (x *examination) files() error {
	names, err := filepath.Glob(filepath.Join(x.s.paths.locks, "*.lock"))
	if err != nil {
		return err
	}
	for _, name := range names {
		owner := strings.TrimSuffix(filepath.Base(name), ".lock")
		if x.s.locks.named(owner) {
			continue
		}
		held, err := proc.StepLockHeld(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if !held {
			x.found(store.Finding{Code: store.FoundLeftoverFile, Message: name})
		}
	}
	partial, err := filepath.Glob(x.s.paths.db + ".*.partial*")
	for _, name := range partial {
		x.found(store.Finding{Code: store.FoundLeftoverFile, Message: name})
	}
	return err
}

// eachAccount gives all accounts, and whether each verifies.
func eachAccount(ctx context.Context, c *conn, f func(a *account, good bool) error) error {
	return c.query(ctx, `SELECT id, name, tag, spent, limits, crc FROM accounts ORDER BY id`, nil, func(v []driver.Value) error {
		a, good := scanAccount(v)
		return f(a, good)
	})
}
