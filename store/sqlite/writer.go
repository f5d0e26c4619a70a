package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/culm-dev/culm/store/internal/group"
	"github.com/culm-dev/culm/store/internal/handle"
	"github.com/culm-dev/culm/store/internal/turnstile"
)

// writer is the one connection of this handle that writes, and what belongs to
// it. All of it is guarded by Store.writing.
type writer struct {
	s         *Store
	conn      *conn
	turnstile *turnstile.Turnstile
	wal       *wal
	// owned are the rows of streams that this handle owns, as last committed.
	// Nobody else appends to them; that a mail came in shows in the row's crc.
	owned map[string]*streamRow
	// indexed is what indexedUpTo was when last looked at, highest the id of the
	// commit written last.
	indexed, highest int64
}

func (s *Store) openWriter() (*writer, error) {
	if s.writer != nil {
		return s.writer, nil
	}
	if err := s.paths.makeDirs(); err != nil {
		return nil, err
	}
	t, err := turnstile.Open(s.paths.locks)
	if err != nil {
		return nil, err
	}
	w := &writer{s: s, turnstile: t, owned: make(map[string]*streamRow)}
	if err := w.open(); err != nil {
		return nil, errors.Join(err, w.close())
	}
	s.writer = w
	return w, nil
}

func (w *writer) open() error {
	if err := w.turnstile.Enter(w.s.opt.BusyTimeout); err != nil {
		return err
	}
	defer func() { _ = w.turnstile.Leave() }()
	if err := w.s.paths.makeFile(); err != nil {
		return err
	}
	c, err := w.dial(w.s.opt.BusyTimeout)
	if err != nil {
		return err
	}
	w.conn = c
	if err := w.makeSchema(); err != nil {
		return err
	}
	w.wal, err = w.openWAL()
	return err
}

// dial opens a connection that may write. Checkpoints are ours (see wal), not
// SQLite's, which would run them inside somebody's commit.
func (w *writer) dial(busy time.Duration) (*conn, error) {
	// auto_vacuum counts when the file is made, and comes first for that.
	pragmas := []string{"auto_vacuum(incremental)", "journal_mode(wal)", "synchronous(full)", "wal_autocheckpoint(0)", "cache_size(-8192)"}
	if w.s.draft {
		pragmas = append(pragmas, "synchronous(off)")
	}
	if runtime.GOOS == "darwin" {
		// There fsync leaves the data in the drive's cache.
		pragmas = append(pragmas, "fullfsync(1)", "checkpoint_fullfsync(1)")
	}
	return dial(context.Background(), w.s.paths.db, readWrite, busy, pragmas...)
}

// makeSchema makes the tables, unless they are there.
func (w *writer) makeSchema() error {
	made, err := checkFormat(context.Background(), w.conn)
	if err != nil || made {
		return err
	}
	generation, err := handle.NewID()
	if err != nil {
		return err
	}
	if _, err := w.conn.exec(`BEGIN IMMEDIATE`); err != nil {
		return fmt.Errorf("make schema: %w", err)
	}
	err = w.conn.script(schema)
	if err == nil {
		_, err = w.conn.exec(`INSERT INTO meta (id, format, generation, crc) VALUES (1, ?, ?, ?)`,
			format, generation, metaSum(format, generation))
	}
	if err == nil {
		_, err = w.conn.exec(`COMMIT`)
	}
	if err != nil {
		_, rerr := w.conn.exec(`ROLLBACK`)
		return fmt.Errorf("make schema: %w", errors.Join(err, rerr))
	}
	return nil
}

// close ends the writer. The checkpointer was stopped before: it takes
// Store.writing, which the caller holds.
func (w *writer) close() error {
	var errs []error
	if w.conn != nil {
		errs = append(errs, w.conn.close())
	}
	return errors.Join(append(errs, w.turnstile.Close())...)
}

// commitGroup makes a group durable and sets each member's result.
func (s *Store) commitGroup(group []*request) {
	s.writing.Lock()
	defer s.writing.Unlock()
	touched, err := s.tryGroup(group)
	if err != nil {
		for _, r := range group {
			r.err = err
		}
		return
	}
	s.watches.Signal(touched)
}

// tryGroup commits a group. An error is everybody's; otherwise each member has
// its own result, and touched are the streams that changed.
func (s *Store) tryGroup(members []*request) (touched []string, err error) {
	if err := s.state.Poisoned(); err != nil {
		return nil, err
	}
	if members, err = s.refuseWithoutDatabase(members); err != nil || len(members) == 0 {
		return nil, err
	}
	w, err := s.openWriter()
	if err != nil {
		return nil, fmt.Errorf("open store for writing: %w", err)
	}
	if owns(members) {
		if err := s.locks.Own(); err != nil {
			return nil, err
		}
	}
	if err := w.turnstile.Enter(s.opt.BusyTimeout); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	defer func() {
		if lerr := w.turnstile.Leave(); lerr != nil && err == nil {
			err = s.setPoison(lerr)
		}
	}()
	return w.commit(members)
}

// refuseWithoutDatabase answers, while there is no database, those that need an
// existing stream, so that a refusal makes none.
func (s *Store) refuseWithoutDatabase(members []*request) ([]*request, error) {
	if s.writer != nil {
		return members, nil
	}
	there, err := s.paths.exists()
	if err != nil || there {
		return members, err
	}
	kept := make([]*request, 0, len(members))
	for _, r := range members {
		if r.err = group.NeedsStream(r.batch); r.err == nil {
			kept = append(kept, r)
		}
	}
	return kept, nil
}

func owns(members []*request) bool {
	return slices.ContainsFunc(members, func(r *request) bool { return group.MakesOwner(r.batch) })
}
