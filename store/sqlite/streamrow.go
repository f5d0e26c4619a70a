package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"

	"github.com/culm-dev/culm/store"
)

// streamRow is one row of the table streams.
type streamRow struct {
	id           int64
	name         string
	last         uint64
	chain        uint32
	owner        string
	epoch        uint64
	checkpointAt int64 // -1 without a checkpoint
	mailLast     uint64
	mailWaiting  uint64
	listing      store.Row
	labels       string // listing.Labels as stored
	crc          uint32
}

const streamColumns = `id, name, tag, last, chain, owner, epoch, checkpoint_at, mail_last, mail_waiting,
	kind, status, workflow, session, labels, in_doubt, wake_at, created, updated, suspension, crc`

const streamColumnCount = 21

const (
	selectStream = `SELECT ` + streamColumns + ` FROM streams WHERE tag = ?1 OR name = ?2`

	insertStream = `INSERT INTO streams (` + streamColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	// The parts of an update. It sets as little as the change needs: an indexed
	// column that is named costs its index a page even if the value stays.
	setHead    = `UPDATE streams SET last = ?, chain = ?, epoch = ?, checkpoint_at = ?, mail_last = ?, mail_waiting = ?, crc = ?`
	setListing = `, kind = ?, workflow = ?, session = ?, labels = ?, wake_at = ?, updated = ?, suspension = ?`
	setIndexed = `, owner = ?, status = ?, in_doubt = ?, created = ?`
	// ifUnchanged makes an update a compare-and-set: the crc stands for all
	// columns; epoch and sequence, which change with whoever may write and with
	// what was written, are compared for certain.
	ifUnchanged = ` WHERE id = ? AND crc = ? AND epoch = ? AND last = ?`

	updateHead    = setHead + ifUnchanged
	updateListing = setHead + setListing + ifUnchanged
	updateAll     = setHead + setListing + setIndexed + ifUnchanged
)

// sum is the checksum over all columns but crc.
func (r *streamRow) sum() uint32 {
	var buf [512]byte
	s := sum{buf: buf[:0]}
	s.text("streams").int(r.id).text(r.name).int(int64(r.last)).int(int64(r.chain)).
		text(r.owner).int(int64(r.epoch)).int(r.checkpointAt).
		int(int64(r.mailLast)).int(int64(r.mailWaiting)).
		text(r.listing.Kind).text(r.listing.Status).text(r.listing.Workflow).text(r.listing.Session).
		text(r.labels).int(flag(r.listing.InDoubt)).text(timeText(r.listing.WakeAt)).
		text(timeText(r.listing.Created)).text(timeText(r.listing.Updated)).text(r.listing.Suspension)
	return s.crc()
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// scanStream decodes a row and says what is wrong with it, "" for nothing. What
// can be read of a damaged row is there all the same.
func scanStream(v []driver.Value) (row streamRow, damage string) {
	c := columns{v: v[:streamColumnCount]}
	row.id, row.name = c.int(), c.text()
	storedTag := c.int()
	row.last, row.chain = uint64(c.int()), c.sum()
	row.owner, row.epoch = c.text(), uint64(c.int())
	row.checkpointAt, row.mailLast, row.mailWaiting = c.int(), uint64(c.int()), uint64(c.int())
	l := &row.listing
	l.ID, l.Kind, l.Status, l.Workflow, l.Session = row.name, c.text(), c.text(), c.text(), c.text()
	row.labels = c.text()
	l.InDoubt = c.int() != 0
	var err [4]error
	l.WakeAt, err[0] = parseTime(c.text())
	l.Created, err[1] = parseTime(c.text())
	l.Updated, err[2] = parseTime(c.text())
	l.Suspension = c.text()
	row.crc = c.sum()
	l.Labels, err[3] = decodeLabels(row.labels)
	switch {
	case c.bad:
		return row, "its row holds values that it cannot hold"
	case row.sum() != row.crc || tag(row.name) != storedTag:
		return row, "the checksum of its row does not match"
	}
	for _, e := range err {
		if e != nil {
			return row, "its row does not decode: " + e.Error()
		}
	}
	return row, ""
}

// values are the columns in the order of streamColumns.
func (r *streamRow) values() []any {
	l := &r.listing
	return []any{
		r.id, r.name, tag(r.name), r.last, r.chain, r.owner, r.epoch, r.checkpointAt, r.mailLast, r.mailWaiting,
		l.Kind, l.Status, l.Workflow, l.Session, r.labels, l.InDoubt,
		timeText(l.WakeAt), timeText(l.Created), timeText(l.Updated), l.Suspension, r.crc,
	}
}

// update writes the row over old, the row as it was read, and reports whether
// the stored row still was that one. listing says that the listing was replaced.
func (r *streamRow) update(c *conn, old *streamRow, listing bool) (bool, error) {
	r.crc = r.sum()
	l, was := &r.listing, &old.listing
	indexed := r.owner != old.owner || l.Status != was.Status || l.InDoubt != was.InDoubt || !l.Created.Equal(was.Created)
	query := updateHead
	args := make([]any, 0, 24)
	args = append(args, r.last, r.chain, r.epoch, r.checkpointAt, r.mailLast, r.mailWaiting, r.crc)
	if listing || indexed {
		query = updateListing
		args = append(args, l.Kind, l.Workflow, l.Session, r.labels, timeText(l.WakeAt), timeText(l.Updated), l.Suspension)
	}
	if indexed {
		query = updateAll
		args = append(args, r.owner, l.Status, l.InDoubt, timeText(l.Created))
	}
	args = append(args, old.id, old.crc, old.epoch, old.last)
	n, err := c.exec(query, args...)
	return n == 1, err
}

// setListing takes a new listing row over.
func (r *streamRow) setListing(l *store.Row) error {
	labels, err := encodeLabels(l.Labels)
	if err != nil {
		return err
	}
	r.listing, r.labels = *l, labels
	r.listing.ID = r.name
	return nil
}

func encodeLabels(labels map[string]string) (string, error) {
	if len(labels) == 0 {
		return "{}", nil
	}
	b, err := json.Marshal(labels) // sorts the names
	if err != nil {
		return "", fmt.Errorf("encode labels: %w", err)
	}
	return string(b), nil
}

func decodeLabels(s string) (map[string]string, error) {
	if s == "{}" {
		return nil, nil
	}
	var labels map[string]string
	if err := json.Unmarshal([]byte(s), &labels); err != nil {
		return nil, fmt.Errorf("decode labels: %w", err)
	}
	return labels, nil
}

func (r *streamRow) damaged(reason string) error {
	return &store.DamagedError{Stream: r.name, Reason: reason}
}
