package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/culm-dev/culm/store"
)

// errStale says that a row changed since this handle remembered it: mail came
// in from another process. The group begins again with the row read anew.
var errStale = errors.New("remembered row is stale")

// errAgain says that a member failed after it had written something: the group
// begins again with a savepoint around each member.
var errAgain = errors.New("group needs savepoints")

// commit runs a group in one transaction. An error is everybody's.
func (w *writer) commit(group []*request) (touched []string, err error) {
	savepoints := false
	for range 4 {
		touched, err = w.transaction(group, savepoints)
		switch {
		case errors.Is(err, errAgain):
			savepoints = true
		case !errors.Is(err, errStale):
			return touched, err
		}
	}
	return nil, fmt.Errorf("commit: %w", err)
}

// transaction tries the group once. Members are checked before they write
// anything, so nearly all that fail leave nothing to undo; savepoints, which
// cost a third of a small commit, are for when one does.
func (w *writer) transaction(group []*request, savepoints bool) (touched []string, err error) {
	w.wal.look(w.conn)
	if _, err := w.conn.exec(`BEGIN IMMEDIATE`); err != nil {
		return nil, w.failed("begin commit", err)
	}
	w.wal.makeRoom()
	t := &txn{w: w, c: w.conn}
	for _, r := range group {
		r.err, err = t.member(r, savepoints && len(group) > 1)
		if err == nil && r.err != nil && t.dirtyMember && !savepoints && len(group) > 1 {
			err = errAgain
		}
		if err != nil {
			return nil, w.rollback(err)
		}
	}
	if !t.dirty || (len(group) == 1 && group[0].err != nil) {
		// Nothing to keep: the file stays as it is to the last byte.
		_, err := w.conn.exec(`ROLLBACK`)
		return nil, w.failed("end commit", err)
	}
	if err := w.indexCommits(t.lastCommit); err != nil {
		return nil, w.rollback(err)
	}
	if _, err := w.conn.exec(`COMMIT`); err != nil {
		return nil, w.unclear(err)
	}
	w.keep(t)
	return t.touched(), nil
}

// rollback undoes the transaction and returns err.
func (w *writer) rollback(err error) error {
	// SQLite may have rolled back by itself, then this one fails.
	_, _ = w.conn.exec(`ROLLBACK`)
	if errors.Is(err, errAgain) || errors.Is(err, errStale) {
		return err
	}
	return w.failed("commit", err)
}

// failed wraps an error of a transaction that did not commit, and poisons the
// handle if the disk failed.
func (w *writer) failed(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case poisons(err):
		return w.s.setPoison(fmt.Errorf("%s: %w", what, err))
	case passes(err):
		return fmt.Errorf("%s: %w: %w", what, store.ErrTryAgain, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// unclear is the error of a COMMIT. Only a full disk and a lock are known to
// have left nothing behind: the record that ends a commit is the last one
// written, and SQLite reports these before it or about it.
func (w *writer) unclear(err error) error {
	recovers := passes(err)
	if _, rerr := w.conn.exec(`ROLLBACK`); rerr != nil && primary(rerr) != codeError {
		recovers = false
	}
	if recovers {
		return fmt.Errorf("commit: %w: %w", store.ErrTryAgain, err)
	}
	return w.s.setPoison(fmt.Errorf("commit: %w", err))
}

// passes tells the errors that leave nothing behind and may be gone later: a
// full disk, and a lock.
func passes(err error) bool { return primary(err) == codeFull || primary(err) == codeBusy }

// keep remembers the rows of owned streams as committed.
func (w *writer) keep(t *txn) {
	for _, row := range t.rows {
		if row.owner == w.s.id {
			w.owned[row.name] = row
		} else {
			delete(w.owned, row.name)
		}
	}
	w.wal.wrote(t.bytes)
}

// txn is one transaction under way.
type txn struct {
	w *writer
	c *conn
	// rows are the stream rows as the members so far leave them.
	rows []*streamRow
	// signals are streams whose journal or mailbox changed.
	signals []string
	dirty   bool // something was written
	bytes   int  // estimate of what goes to the log
	// lastCommit is the id of the journal's last row, if one was written.
	lastCommit int64

	// Of the member under way:
	dirtyMember bool
	mine        []*streamRow
}

func (t *txn) touched() []string { return t.signals }

// member applies one request. result is that member's own; err is everybody's.
func (t *txn) member(r *request, savepoint bool) (result, err error) {
	if savepoint {
		if _, err := t.c.exec(`SAVEPOINT member`); err != nil {
			return nil, err
		}
	}
	t.dirtyMember, t.mine = false, t.mine[:0]
	signals := len(t.signals)
	result = t.apply(context.Background(), r)
	if errors.Is(result, errStale) || endsTransaction(result) {
		return nil, result
	}
	if result != nil {
		t.signals = t.signals[:signals]
		if savepoint {
			_, err = t.c.exec(`ROLLBACK TO member`)
		}
	} else {
		t.dirty = t.dirty || t.dirtyMember
		t.merge()
	}
	if savepoint && err == nil {
		_, err = t.c.exec(`RELEASE member`)
	}
	return result, err
}

// merge makes the member's rows the transaction's.
func (t *txn) merge() {
next:
	for _, row := range t.mine {
		for i, old := range t.rows {
			if old.name == row.name {
				t.rows[i] = row
				continue next
			}
		}
		t.rows = append(t.rows, row)
	}
}

// exec writes.
func (t *txn) exec(query string, args ...any) error {
	t.dirtyMember = true
	_, err := t.c.exec(query, args...)
	return err
}

// row returns the stream's row as the transaction has it so far, nil if there
// is none. The caller must not change it.
func (t *txn) row(ctx context.Context, name string) (*streamRow, error) {
	for _, rows := range [2][]*streamRow{t.mine, t.rows} {
		for _, row := range rows {
			if row.name == name {
				return row, nil
			}
		}
	}
	if row := t.w.owned[name]; row != nil {
		return row, nil
	}
	return findStream(ctx, t.c, name)
}

// put writes a changed row in place of old.
func (t *txn) put(row, old *streamRow, withListing bool) error {
	t.dirtyMember = true
	same, err := row.update(t.c, old, withListing)
	if err != nil {
		return err
	}
	if !same {
		delete(t.w.owned, row.name)
		return errStale
	}
	t.use(row)
	return nil
}

// use makes row what later steps of this member see.
func (t *txn) use(row *streamRow) {
	for i, old := range t.mine {
		if old.name == row.name {
			t.mine[i] = row
			return
		}
	}
	t.mine = append(t.mine, row)
}
