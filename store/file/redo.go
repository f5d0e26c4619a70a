package file

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
)

// The redo log holds what the last commits do to files, one record a group of
// commits. A commit is durable when its record is synced; the files follow without a
// sync of their own, and the log can do it all again until they were synced.
//
// The file begins with two slots for its header, of which the one with the greater
// number counts: so that a header that is torn by a power loss leaves the other one.
// Beginning anew, when all files are synced, is a new header: its salt goes into the
// checksums of the records, and so those of before do not verify any more.
// Space is written ahead as zeros, because a sync that follows a write past the end
// of a file has the file's new length to write as well.

const (
	slotSize    = 4096
	logStart    = 2 * slotSize
	headerSize  = 8 + 8 + 16 + 4
	recordHead  = 4 + 4 + 8 + 4 + 4
	recordMagic = 0x6d6c7563 // "culm"
	logChunk    = 256 << 10
	maxRecord   = 1 << 30
)

// position is a place in the redo log: where a record ends and the next begins.
type position struct {
	epoch uint64 // how often the log was begun anew
	off   int64
	lsn   uint64 // number of the next record, in all epochs
	crc   uint32 // of the record before, which the next one's covers
}

// redo is the log as one handle has it open. It belongs to whoever holds the turn.
type redo struct {
	f diskFile
	epoch
	end  position // after the last record known
	size int64    // of the file
}

// epoch is what a header holds.
type epoch struct {
	number uint64
	lsn    uint64 // of the first record
	salt   [16]byte
}

func (e *epoch) start() position {
	return position{epoch: e.number, off: logStart, lsn: e.lsn}
}

func (e *epoch) encode() []byte {
	b := binary.LittleEndian.AppendUint64(nil, e.number)
	b = binary.LittleEndian.AppendUint64(b, e.lsn)
	b = append(b, e.salt[:]...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
}

func decodeEpoch(b []byte) (e epoch, ok bool) {
	if len(b) < headerSize || crc32.Checksum(b[:headerSize-4], castagnoli()) != binary.LittleEndian.Uint32(b[headerSize-4:]) {
		return e, false
	}
	e.number, e.lsn = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	copy(e.salt[:], b[16:])
	return e, e.number > 0
}

// reader is what of a file is needed to read it.
type reader interface {
	ReadAt(p []byte, off int64) (int, error)
}

var errLogDamaged = errors.New("the redo log is damaged")

// readEpoch finds the header that counts.
func readEpoch(f reader) (epoch, error) {
	var newest epoch
	for slot := range int64(2) {
		var b [headerSize]byte
		if _, err := f.ReadAt(b[:], slot*slotSize); err != nil {
			continue // too short: as a header that does not verify
		}
		if e, ok := decodeEpoch(b[:]); ok && e.number > newest.number {
			newest = e
		}
	}
	if newest.number == 0 {
		return newest, fmt.Errorf("%w: neither of its headers verifies", errLogDamaged)
	}
	return newest, nil
}

// begin begins the log anew, or for the first time. All that its records did must
// be durable.
func (l *redo) begin() error {
	next := epoch{number: l.number + 1, lsn: max(l.end.lsn, 1)}
	if _, err := rand.Read(next.salt[:]); err != nil {
		return fmt.Errorf("begin redo log: %w", err)
	}
	slot := int64(next.number%2) * slotSize
	if _, err := l.f.WriteAt(next.encode(), slot); err != nil {
		return fmt.Errorf("begin redo log: %w", err)
	}
	if err := l.f.Sync(); err != nil {
		return fmt.Errorf("begin redo log: %w", err)
	}
	l.epoch = next
	l.end = next.start()
	return nil
}

// record is one record, read or to be written.
type record struct {
	ops  []op
	next position // after it
}

// encodeRecord appends the record that follows at.
func (e *epoch) encodeRecord(b []byte, at position, ops []op) []byte {
	start := len(b)
	b = append(b, make([]byte, recordHead)...)
	b = appendOps(b, ops)
	head := b[start:]
	binary.LittleEndian.PutUint32(head, recordMagic)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(b)-start-recordHead))
	binary.LittleEndian.PutUint64(head[8:], at.lsn)
	binary.LittleEndian.PutUint32(head[16:], at.crc)
	binary.LittleEndian.PutUint32(head[20:], e.sum(head))
	return b
}

// sum is the checksum of a record: over the epoch's salt, and all but itself.
func (e *epoch) sum(record []byte) uint32 {
	sum := crc32.Checksum(e.salt[:], castagnoli())
	sum = crc32.Update(sum, castagnoli(), record[:recordHead-4])
	return crc32.Update(sum, castagnoli(), record[recordHead:])
}

// follows tells whether b begins with the head of the record that comes after at.
func follows(b []byte, at position) bool {
	return binary.LittleEndian.Uint32(b) == recordMagic && binary.LittleEndian.Uint64(b[8:]) == at.lsn &&
		binary.LittleEndian.Uint32(b[16:]) == at.crc && binary.LittleEndian.Uint32(b[4:]) <= maxRecord
}

// waits tells whether there may be a record at a position, without reading it.
func waits(f reader, at position) bool {
	var b [recordHead]byte
	_, err := f.ReadAt(b[:], at.off)
	return err == nil && follows(b[:], at)
}

// readRecord reads the record at a position; nil if there is none that verifies.
func (e *epoch) readRecord(f reader, at position) (*record, []byte, error) {
	var h [recordHead]byte
	if _, err := f.ReadAt(h[:], at.off); err != nil || !follows(h[:], at) {
		return nil, nil, nil
	}
	raw := make([]byte, recordHead+int(binary.LittleEndian.Uint32(h[4:])))
	if _, err := f.ReadAt(raw, at.off); err != nil {
		return nil, nil, nil // cut off: it was never finished
	}
	sum := e.sum(raw)
	if !follows(raw, at) || binary.LittleEndian.Uint32(raw[20:]) != sum {
		return nil, nil, nil
	}
	ops, err := decodeOps(raw[recordHead:])
	if err != nil {
		return nil, nil, fmt.Errorf("%w: record %d: %w", errLogDamaged, at.lsn, err)
	}
	next := position{epoch: at.epoch, off: at.off + int64(len(raw)), lsn: at.lsn + 1, crc: sum}
	return &record{ops: ops, next: next}, raw, nil
}

// scan calls f for each record from a position on, up to an offset if that is not
// 0, and returns where it ended.
func (e *epoch) scan(log reader, from position, to int64, f func(*record) error) (position, error) {
	for to == 0 || from.off < to {
		r, _, err := e.readRecord(log, from)
		if err != nil || r == nil {
			return from, err
		}
		if err := f(r); err != nil {
			return from, err
		}
		from = r.next
	}
	return from, nil
}

// append writes a record and makes it durable. full errors of makeRoom and of the
// write leave nothing behind; any other leaves it unclear whether the record is.
func (l *redo) append(raw []byte, hook func(point)) (position, error) {
	if err := l.makeRoom(int64(len(raw)) + recordHead); err != nil {
		return position{}, err
	}
	if _, err := l.f.WriteAt(raw, l.end.off); err != nil {
		return position{}, fmt.Errorf("write redo log: %w", err)
	}
	hook(pointWritten)
	if err := l.f.Sync(); err != nil {
		return position{}, unclearError{fmt.Errorf("sync redo log: %w", err)}
	}
	return position{
		epoch: l.end.epoch, off: l.end.off + int64(len(raw)), lsn: l.end.lsn + 1,
		crc: binary.LittleEndian.Uint32(raw[20:]),
	}, nil
}

// unclearError is an error after which nobody knows what is on disk.
type unclearError struct{ error }

func (e unclearError) Unwrap() error { return e.error }

// makeRoom writes zeros ahead, if n bytes are not there.
func (l *redo) makeRoom(n int64) error {
	for need := l.end.off + n; l.size < need; {
		chunk := max(int64(logChunk), need-l.size)
		if _, err := l.f.WriteAt(make([]byte, chunk), l.size); err != nil {
			// Where only a little is left, a little is enough.
			if chunk = need - l.size; !full(err) {
				return fmt.Errorf("lengthen redo log: %w", err)
			}
			if _, err := l.f.WriteAt(make([]byte, chunk), l.size); err != nil {
				return fmt.Errorf("lengthen redo log: %w", err)
			}
		}
		l.size += chunk
	}
	return nil
}

// markSize is the length of the mark.
const markSize = 8 + 8 + 8 + 4 + 4 + 4

// mark is the content of the file applied: up to where the log's records were
// applied to the files. It is not synced: after a power loss all are applied again.
type mark struct {
	position
	// stuck: the record that follows is acknowledged, and could not be applied
	// because the disk is full.
	stuck bool
	// resetting: the log is about to begin anew, or just did.
	resetting bool
}

func (m *mark) encode() []byte {
	b := make([]byte, 0, markSize)
	b = binary.LittleEndian.AppendUint64(b, m.epoch)
	b = binary.LittleEndian.AppendUint64(b, uint64(m.off))
	b = binary.LittleEndian.AppendUint64(b, m.lsn)
	b = binary.LittleEndian.AppendUint32(b, m.crc)
	var flags uint32
	if m.stuck {
		flags |= 1
	}
	if m.resetting {
		flags |= 2
	}
	b = binary.LittleEndian.AppendUint32(b, flags)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
}

// readMark reads the mark; false if it does not verify.
func readMark(f reader) (m mark, ok bool) {
	var b [markSize]byte
	if _, err := f.ReadAt(b[:], 0); err != nil {
		return m, false
	}
	if crc32.Checksum(b[:markSize-4], castagnoli()) != binary.LittleEndian.Uint32(b[markSize-4:]) {
		return m, false
	}
	m.epoch, m.off = binary.LittleEndian.Uint64(b[:]), int64(binary.LittleEndian.Uint64(b[8:]))
	m.lsn, m.crc = binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint32(b[24:])
	flags := binary.LittleEndian.Uint32(b[28:])
	m.stuck, m.resetting = flags&1 != 0, flags&2 != 0
	return m, m.off >= logStart
}

// openForReading opens the two files of the log.
func (p paths) openForReading() (log, applied *os.File, err error) {
	if log, err = os.Open(p.at(redoFile)); err != nil {
		return nil, nil, fmt.Errorf("open redo log: %w", err)
	}
	applied, err = os.Open(p.at(appliedFile))
	if err != nil && !missing(err) {
		return nil, nil, errors.Join(fmt.Errorf("open redo log: %w", err), log.Close())
	}
	return log, applied, nil
}
