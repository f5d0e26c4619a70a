package sqlite

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"time"
)

// sum builds the CRC-32C of a row. Every value is preceded by its length or has
// a fixed one, so that no two different rows give the same bytes.
type sum struct{ buf []byte }

func newSum(table string) *sum {
	s := &sum{buf: make([]byte, 0, 512)}
	return s.text(table)
}

func (s *sum) text(v string) *sum {
	s.buf = binary.LittleEndian.AppendUint64(s.buf, uint64(len(v)))
	s.buf = append(s.buf, v...)
	return s
}

func (s *sum) int(v int64) *sum {
	s.buf = binary.LittleEndian.AppendUint64(s.buf, uint64(v))
	return s
}

func (s *sum) crc() uint32 { return crc32.Checksum(s.buf, castagnoli()) }

// crcWith is the sum of the row and then of data, which is not copied.
func (s *sum) crcWith(data []byte) uint32 {
	s.int(int64(len(data)))
	return crc32.Update(s.crc(), castagnoli(), data)
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// chain is the checksum of one commit: over the checksum before it, the stream,
// the sequence of its first event and its bytes. The first commit of a stream
// follows 0.
func chain(prev uint32, stream string, first uint64, events []byte) uint32 {
	var buf [128]byte
	s := sum{buf: buf[:0]}
	return s.int(int64(prev)).text(stream).int(int64(first)).crcWith(events)
}

// tag is the second way to find a row: a hash of its key. Whichever of key and
// tag is damaged, the other still finds the row, and its crc then tells.
func tag(key ...string) int64 {
	h := sha256.New()
	for _, k := range key {
		_ = binary.Write(h, binary.LittleEndian, uint64(len(k)))
		_, _ = h.Write([]byte(k))
	}
	return int64(binary.LittleEndian.Uint64(h.Sum(nil)))
}

const timeLayout = "2006-01-02T15:04:05.000000000Z"

// timeText is how times are stored: sortable, exact, readable.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	return time.Parse(timeLayout, s)
}
