package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"fmt"
	"math"

	"github.com/culm-dev/culm/store"
)

// post puts one message in a mailbox, unless it was posted before.
func (t *txn) post(ctx context.Context, p *store.Post, r *request) error {
	old, err := t.row(ctx, p.Stream)
	if err != nil {
		return err
	}
	if old == nil {
		return store.ErrNotFound
	}
	hash := sha256.Sum256(p.Body)
	seen, err := t.seen(ctx, old, p.ID, hash[:])
	if err != nil || seen {
		return err
	}
	row := *old
	row.mailLast++
	row.mailWaiting++
	if err := t.put(&row, old, false); err != nil {
		return err
	}
	body := p.Body
	if body == nil {
		body = []byte{}
	}
	at := timeText(r.at)
	t.bytes += len(body) + 6*4096
	t.signals = append(t.signals, row.name)
	if err := t.exec(`INSERT INTO mail (stream, number, message, body, at, crc) VALUES (?, ?, ?, ?, ?, ?)`,
		row.id, row.mailLast, p.ID, body, at, mailSum(row.name, row.mailLast, p.ID, at, body)); err != nil {
		return err
	}
	return t.exec(`INSERT INTO seen_mail (stream, message, tag, hash, crc) VALUES (?, ?, ?, ?, ?)`,
		row.id, p.ID, tag(row.name, p.ID), hash[:], seenSum(row.name, p.ID, hash[:]))
}

// seen tells whether a message was posted before, taken since or not.
func (t *txn) seen(ctx context.Context, row *streamRow, message string, hash []byte) (found bool, err error) {
	var result error
	err = t.c.query(ctx, `SELECT stream, message, tag, hash, crc FROM seen_mail WHERE tag = ? OR (stream = ? AND message = ?)`,
		[]any{tag(row.name, message), row.id, message}, func(v []driver.Value) error {
			c := columns{v: v}
			stream, id, storedTag, was := c.int(), c.text(), c.int(), c.bytes()
			switch {
			case !c.crc(seenSum(row.name, id, was)) || stream != row.id || storedTag != tag(row.name, id):
				result = row.damaged("the record of a message that was posted does not verify")
			case id != message: // another one with the same tag
			case !bytes.Equal(was, hash):
				result = store.ErrMailConflict
			default:
				found = true
			}
			return nil
		})
	if err == nil {
		err = result
	}
	return found, err
}

func seenSum(stream, message string, hash []byte) uint32 {
	return newSum("seen_mail").text(stream).text(message).crcWith(hash)
}

func mailSum(stream string, number uint64, message, at string, body []byte) uint32 {
	return newSum("mail").text(stream).int(int64(number)).text(message).text(at).crcWith(body)
}

func (t *txn) noMailAfter(ctx context.Context, row *streamRow, after uint64) error {
	return t.c.query(ctx, `SELECT number FROM mail WHERE stream = ? AND number > ? LIMIT 1`,
		[]any{row.id, clamp(after)}, func(v []driver.Value) error {
			return fmt.Errorf("mail %d: %w", v[0], store.ErrMailWaiting)
		})
}

// checkTake makes sure that all the mail to be taken is there.
func (t *txn) checkTake(ctx context.Context, row *streamRow, numbers []uint64) error {
	for _, n := range numbers {
		found := false
		err := t.c.query(ctx, `SELECT 1 FROM mail WHERE stream = ? AND number = ?`,
			[]any{row.id, clamp(n)}, func([]driver.Value) error {
				found = true
				return nil
			})
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("mail %d is not there: %w", n, store.ErrConflict)
		}
	}
	return nil
}

func (t *txn) takeMail(row *streamRow, numbers []uint64) error {
	for _, n := range numbers {
		t.bytes += 4096
		if err := t.exec(`DELETE FROM mail WHERE stream = ? AND number = ?`, row.id, clamp(n)); err != nil {
			return err
		}
	}
	return nil
}

// clamp fits a number into SQLite's integers, above all that are stored.
func clamp(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// Mail implements [store.Store].
func (s *Store) Mail(ctx context.Context, stream string, after uint64) ([]store.Mail, error) {
	var mail []store.Mail
	var row *streamRow
	err := s.read(ctx, func(c *conn) (err error) {
		if row, err = findStream(ctx, c, stream); err != nil || row == nil {
			return err
		}
		mail, err = readMail(ctx, c, row, after)
		return err
	})
	if err == nil && row == nil {
		err = store.ErrNotFound
	}
	if err != nil {
		return mail, fmt.Errorf("read mail of stream %s: %w", stream, asDamage(err, stream))
	}
	return mail, nil
}

func readMail(ctx context.Context, c *conn, row *streamRow, after uint64) (mail []store.Mail, err error) {
	count, damage := uint64(0), false
	err = c.query(ctx, `SELECT number, message, body, at, crc FROM mail WHERE stream = ? ORDER BY number`,
		[]any{row.id}, func(v []driver.Value) error {
			cols := columns{v: v}
			m := store.Mail{Number: uint64(cols.int()), ID: cols.text(), Body: cols.bytes()}
			at := cols.text()
			when, err := parseTime(at)
			if err != nil || !cols.crc(mailSum(row.name, m.Number, m.ID, at, m.Body)) {
				damage = true
				return nil
			}
			count++
			m.At = when
			if m.Number > after {
				mail = append(mail, m)
			}
			return nil
		})
	switch {
	case err != nil:
		return nil, err
	case damage:
		return mail, row.damaged("a message in its mailbox does not verify")
	case count != row.mailWaiting:
		return mail, row.damaged(fmt.Sprintf("its mailbox holds %d messages, its row says %d", count, row.mailWaiting))
	}
	return mail, nil
}
