package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/culm-dev/culm/store"
)

const (
	defaultReadBytes = 1 << 20
	// readChunk is how much of a journal is read at once, if a line is not longer.
	readChunk = 256 << 10
)

// place is where a commit of a journal ends.
type place struct {
	last uint64
	off  int64
	crc  uint32
}

// journal reads and verifies a stretch of one stream's commits.
type journal struct {
	s        *Store
	h        *head
	after    uint64
	maxBytes int
	unbound  bool // the head is damaged: nobody knows where the journal ends
	whole    bool // a group that holds events up to after keeps them

	f      *os.File
	buf    []byte // what was read and not parsed yet; begins at at.off
	at     place  // the end of the last commit verified
	groups []store.Group
	bytes  int // in groups
}

// Read implements [store.Store].
func (s *Store) Read(ctx context.Context, stream string, after uint64, maxBytes int) ([]store.Group, error) {
	if maxBytes <= 0 {
		maxBytes = defaultReadBytes
	}
	var groups []store.Group
	headFine := false
	h, err := s.look(ctx, stream, func(h *head) (err error) {
		headFine = true
		groups, err = s.readJournal(h, after, maxBytes)
		return err
	})
	var damage *store.DamagedError
	if errors.As(err, &damage) && !headFine {
		groups, err = s.salvageJournal(h, after, maxBytes, damage)
	}
	if err != nil {
		s.state.NoteDamage(err)
		return groups, fmt.Errorf("read stream %s: %w", stream, err)
	}
	return groups, nil
}

func (s *Store) readJournal(h *head, after uint64, maxBytes int) ([]store.Group, error) {
	if after > h.Last {
		return nil, nil
	}
	j := &journal{s: s, h: h, after: after, maxBytes: maxBytes, at: s.places.before(h, after)}
	err := j.run()
	s.places.note(h, j.at)
	if err == nil && j.at.off >= h.End {
		err = j.checkEnd()
	}
	return j.groups, err
}

// salvageJournal reads what verifies of a journal whose stream's head is damaged: each
// of its commits vouches for the stream and for all commits before it. Where the
// journal ends nobody knows, so that the damage is the result all the same.
func (s *Store) salvageJournal(h *head, after uint64, maxBytes int, damage *store.DamagedError) ([]store.Group, error) {
	j := &journal{s: s, h: h, after: after, maxBytes: maxBytes, unbound: true}
	err := j.run()
	if err != nil && !errors.As(err, new(*store.DamagedError)) {
		return nil, errors.Join(damage, err)
	}
	return j.groups, j.damaged("%s", damage.Reason)
}

func (j *journal) damaged(format string, args ...any) error {
	return &store.DamagedError{Stream: j.h.Stream, After: j.at.last, Reason: fmt.Sprintf(format, args...)}
}

// end is where the journal ends.
func (j *journal) end() int64 {
	if j.unbound {
		return math.MaxInt64
	}
	return j.h.End
}

// run reads until there is enough, or no more.
func (j *journal) run() error {
	if j.h.Last == 0 && !j.unbound {
		return nil
	}
	f, err := os.Open(j.s.paths.at(inStream(j.h.Stream, journalFile)))
	if missing(err) {
		return j.damaged("its journal is missing")
	}
	if err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	defer f.Close()
	j.f = f
	for j.bytes < j.maxBytes && j.at.off < j.end() {
		more, err := j.commit()
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// commit reads one commit and verifies it; false at the end of an unbound journal.
func (j *journal) commit() (more bool, err error) {
	var events [][]byte
	n := 0 // bytes of it so far
	for {
		line, ok, err := j.line(n)
		if err != nil || !ok {
			return false, err
		}
		n += len(line) + 1
		event, first, crc, last, good := parseLine(line)
		if !good {
			return false, j.damaged("a line after event %d is not what was written", j.at.last)
		}
		events = append(events, event)
		if last {
			return true, j.take(first, crc, events, n)
		}
	}
}

// line is the line that begins n bytes after the last commit.
func (j *journal) line(n int) (line []byte, ok bool, err error) {
	searched := n
	for {
		if i := bytes.IndexByte(j.buf[searched:], '\n'); i >= 0 {
			return j.buf[n : searched+i], true, nil
		}
		searched = len(j.buf)
		from := j.at.off + int64(len(j.buf))
		if from >= j.end() {
			return nil, false, j.damaged("its journal ends in the middle of a commit")
		}
		more := make([]byte, min(max(readChunk, int64(len(j.buf))), j.end()-from))
		got, err := j.f.ReadAt(more, from)
		if got == 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, false, fmt.Errorf("read journal: %w", err)
			}
			if j.unbound {
				return nil, false, nil
			}
			return nil, false, j.damaged("its journal is %d bytes long, and was %d", from, j.h.End)
		}
		if len(j.buf) == 0 {
			j.buf = more[:got]
		} else { // events of before share the old buffer
			j.buf = append(slices.Clip(j.buf), more[:got]...)
		}
	}
}

// take verifies a commit of n bytes and keeps what is wanted of it.
func (j *journal) take(first uint64, crc uint32, events [][]byte, n int) error {
	switch {
	case first != j.at.last+1:
		return j.damaged("the commit after event %d says that it begins with event %d", j.at.last, first)
	case chain(j.at.crc, j.h.Stream, first, events) != crc:
		return j.damaged("the checksum of the commit that begins with event %d does not match", first)
	}
	last := j.at.last + uint64(len(events))
	if !j.unbound && last > j.h.Last {
		return j.damaged("its journal goes on after event %d, where its head says it ends", j.h.Last)
	}
	j.at = place{last: last, off: j.at.off + int64(n), crc: crc}
	j.buf = j.buf[n:]
	if last <= j.after {
		j.s.places.pass(j.h, j.at)
		return nil
	}
	if first <= j.after && !j.whole { // the caller has the beginning of this one
		events = events[j.after+1-first:]
		first = j.after + 1
	}
	for _, e := range events {
		j.bytes += len(e)
	}
	j.groups = append(j.groups, store.Group{First: first, Events: events})
	return nil
}

// checkEnd compares the end of the journal with the head.
func (j *journal) checkEnd() error {
	if j.at.last != j.h.Last || j.at.crc != uint32(j.h.Chain) || j.at.off != j.h.End {
		return j.damaged("its journal does not end as its head says")
	}
	return j.s.paths.checkTail(j.h)
}

// checkTail looks at the last bytes of the journal that the head knows, and at what
// follows: a line that was torn is of no commit, but one that belongs there means that
// the head is not the one that was written last.
func (p paths) checkTail(h *head) error {
	f, err := os.Open(p.at(inStream(h.Stream, journalFile)))
	if missing(err) {
		if h.End > 0 {
			return h.damaged("its journal is missing")
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	defer f.Close()
	if h.End > 0 {
		tail := make([]byte, min(int64(tailSize)+1, h.End))
		if _, err := f.ReadAt(tail, h.End-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read journal: %w", err)
		}
		want := append(appendHex([]byte(trailerMid), uint32(h.Chain)), trailerEnd+"\n"...)
		if !bytes.Equal(tail, want) {
			return h.damaged("its journal does not end at event %d, where its head says", h.Last)
		}
	}
	var one [1]byte
	if n, _ := f.ReadAt(one[:], h.End); n == 0 {
		return nil
	}
	rest := &journal{h: h, after: h.Last, maxBytes: 1, unbound: true, f: f,
		at: place{last: h.Last, off: h.End, crc: uint32(h.Chain)}}
	if more, err := rest.commit(); more && err == nil {
		return h.damaged("its journal goes on after event %d, where its head says it ends", h.Last)
	}
	return nil
}

// groupAt is the commit that holds an event, nil if the journal does not.
func (s *Store) groupAt(h *head, sequence uint64) (*store.Group, error) {
	j := &journal{s: s, h: h, after: sequence - 1, maxBytes: 1, whole: true, at: s.places.before(h, sequence-1)}
	if err := j.run(); err != nil || len(j.groups) == 0 {
		return nil, err
	}
	return &j.groups[0], nil
}

// groupIn is groupAt in the lines that a group is about to append after an event.
func groupIn(c *change, sequence, durable uint64) (*store.Group, error) {
	var events [][]byte
	first := durable + 1
	for line := range bytes.Lines(bytes.Clone(c.journal)) {
		event, _, _, last, _ := parseLine(bytes.TrimSuffix(line, []byte{'\n'}))
		events = append(events, event)
		if !last {
			continue
		}
		if sequence < first+uint64(len(events)) {
			return &store.Group{First: first, Events: events}, nil
		}
		first += uint64(len(events))
		events = nil
	}
	return nil, nil
}
