package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/culm-dev/culm/store"
)

// post puts one message in a mailbox, unless it was posted before.
func (t *txn) post(p *store.Post, r *request) error {
	c, err := t.stream(p.Stream)
	if err != nil {
		return err
	}
	if c == nil {
		return store.ErrNotFound
	}
	if c.seen == nil {
		seen, err := t.w.s.paths.readSeen(c.head)
		if err != nil {
			return err
		}
		c.seen = seen // nothing of the stream changes by it
	}
	sum := sha256.Sum256(p.Body)
	hash := hex.EncodeToString(sum[:])
	if was, ok := c.seen[p.ID]; ok {
		if was != hash {
			return store.ErrMailConflict
		}
		return nil
	}
	c = t.edit(c)
	c.seen = maps.Clone(c.seen)
	c.seen[p.ID] = hash
	line, err := json.Marshal(seenLine{ID: p.ID, Hash: hash})
	if err != nil {
		return err
	}
	box := &c.head.Mail
	c.seenLines = append(append(c.seenLines, line...), '\n')
	box.SeenEnd += int64(len(line)) + 1
	box.SeenChain = seenChain(box.SeenChain, line)
	box.Last++
	box.Waiting++
	c.signal = true
	raw, err := encodeMail(c.name, &store.Mail{Number: box.Last, ID: p.ID, Body: p.Body, At: r.at})
	if err != nil {
		return err
	}
	c.posted = append(c.posted, posted{box.Last, raw})
	return nil
}

func encodeMail(stream string, mail *store.Mail) ([]byte, error) {
	m := mailFile{Stream: stream, Number: mail.Number, ID: mail.ID, At: mail.At.UTC()}
	if utf8.Valid(mail.Body) {
		m.Text = string(mail.Body)
	} else {
		m.Base64 = mail.Body
	}
	return encodeSealed(m)
}

func seenChain(prev hexSum, line []byte) hexSum {
	return hexSum(crc32.Update(crc32.Update(uint32(prev), castagnoli(), line), castagnoli(), []byte{'\n'}))
}

// readSeen reads the messages that were ever posted to a stream: hashes by id.
func (p paths) readSeen(h *head) (map[string]string, error) {
	seen := make(map[string]string)
	if h.Mail.SeenEnd == 0 {
		return seen, nil
	}
	raw, err := os.ReadFile(p.at(inStream(h.Stream, seenFile)))
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("read %s: %w", seenFile, err)
	}
	damaged := h.damaged("the record of messages that were posted, %s, does not verify", seenFile)
	if int64(len(raw)) < h.Mail.SeenEnd {
		return nil, damaged
	}
	raw = raw[:h.Mail.SeenEnd]
	if hexSum(crc32.Checksum(raw, castagnoli())) != h.Mail.SeenChain {
		return nil, damaged
	}
	for line := range bytes.Lines(raw) {
		var l seenLine
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, damaged
		}
		seen[l.ID] = l.Hash
	}
	return seen, nil
}

// noMailAfter refuses mail with a greater number than after.
func (t *txn) noMailAfter(c *change, after uint64) error {
	numbers, err := t.waiting(c)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if n > after {
			return fmt.Errorf("mail %d: %w", n, store.ErrMailWaiting)
		}
	}
	return nil
}

// takeMail removes mail; all of it must be there.
func (t *txn) takeMail(c *change, numbers []uint64) error {
	if len(numbers) == 0 {
		return nil
	}
	waiting, err := t.waiting(c)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if !slices.Contains(waiting, n) {
			return fmt.Errorf("mail %d is not there: %w", n, store.ErrConflict)
		}
	}
	c.taken = append(c.taken, numbers...)
	c.head.Mail.Waiting -= uint64(len(numbers))
	return nil
}

// waiting are the numbers of the mail that waits, as the group so far leaves it.
func (t *txn) waiting(c *change) ([]uint64, error) {
	var numbers []uint64
	if c.was != nil {
		var err error
		if numbers, err = t.w.s.paths.mailNumbers(c.was); err != nil {
			return nil, err
		}
	}
	for _, m := range c.posted {
		numbers = append(numbers, m.number)
	}
	return slices.DeleteFunc(numbers, func(n uint64) bool { return slices.Contains(c.taken, n) }), nil
}

// mailNumbers are the numbers of a stream's mail, in order. What the head does not
// know yet is left out.
func (p paths) mailNumbers(h *head) ([]uint64, error) {
	if h.Mail.Waiting == 0 {
		return nil, nil
	}
	entries, err := os.ReadDir(p.at(inStream(h.Stream, mailDir)))
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("read mailbox: %w", err)
	}
	var numbers []uint64
	for _, e := range entries {
		n, err := strconv.ParseUint(strings.TrimSuffix(e.Name(), ".json"), 10, 64)
		if err == nil && n <= h.Mail.Last {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	if uint64(len(numbers)) != h.Mail.Waiting {
		return numbers, h.damaged("its mailbox holds %d messages, its head says %d", len(numbers), h.Mail.Waiting)
	}
	return numbers, nil
}

// Mail implements [store.Store].
func (s *Store) Mail(ctx context.Context, stream string, after uint64) ([]store.Mail, error) {
	var mail []store.Mail
	_, err := s.look(ctx, stream, func(h *head) (err error) {
		mail, err = s.paths.readMail(h, after)
		return err
	})
	if err != nil {
		return mail, fmt.Errorf("read mail of stream %s: %w", stream, err)
	}
	return mail, nil
}

// readMail reads and verifies all mail, and returns what comes after a number.
func (p paths) readMail(h *head, after uint64) ([]store.Mail, error) {
	numbers, err := p.mailNumbers(h)
	var damage *store.DamagedError
	if err != nil && !errors.As(err, &damage) {
		return nil, err
	}
	var mail []store.Mail
	for _, n := range numbers {
		m, merr := p.readMessage(h, n)
		if merr != nil {
			err = errors.Join(err, merr)
			continue
		}
		if n > after {
			mail = append(mail, *m)
		}
	}
	return mail, err
}

func (p paths) readMessage(h *head, number uint64) (*store.Mail, error) {
	raw, err := os.ReadFile(p.at(mailPath(h.Stream, number)))
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("read mail: %w", err)
	}
	var m mailFile
	if err != nil || decodeSealed(raw, &m) != nil || m.Number != number || m.Stream != h.Stream {
		return nil, h.damaged("message %d in its mailbox does not verify", number)
	}
	body := m.Base64
	if body == nil {
		body = []byte(m.Text)
	}
	return &store.Mail{Number: number, ID: m.ID, Body: body, At: m.At}, nil
}
