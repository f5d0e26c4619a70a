package file

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strconv"
)

// A journal is one event a line, as the event is. The last line of a commit has one
// member more, its last:
//
//	{"sequence":11,...,"_commit":{"first":11,"crc":"89abcdef"}}
//
// first is the sequence of the commit's first event, crc the checksum chain up to
// and with this commit. Without that member the line is the event's bytes again. An
// event that cannot stand so, because it is no object or looks as if it had the
// member, stands in base64: {"_raw":"..."}.

const (
	trailerStart = `"_commit":{"first":`
	trailerMid   = `,"crc":"`
	trailerEnd   = `"}}`
	rawStart     = `{"_raw":"`
	rawEnd       = `"}`
)

// chain is the checksum of one commit: CRC-32C over the checksum before it, the
// stream, the sequence of its first event, and its events joined by line feeds.
// Numbers are 64 bits in little endian, texts come after their length. The first
// commit of a stream follows 0. It is the same in all stores, and in exported runs.
func chain(prev uint32, stream string, first uint64, events [][]byte) uint32 {
	size := len(events) - 1
	for _, e := range events {
		size += len(e)
	}
	var buf [128]byte
	b := binary.LittleEndian.AppendUint64(buf[:0], uint64(prev))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(stream)))
	b = append(b, stream...)
	b = binary.LittleEndian.AppendUint64(b, first)
	b = binary.LittleEndian.AppendUint64(b, uint64(size))
	sum := crc32.Checksum(b, castagnoli())
	for i, e := range events {
		if i > 0 {
			sum = crc32.Update(sum, castagnoli(), []byte{'\n'})
		}
		sum = crc32.Update(sum, castagnoli(), e)
	}
	return sum
}

// appendCommit appends the lines of one commit, which has at least one event.
func appendCommit(b []byte, first uint64, crc uint32, events [][]byte) []byte {
	for i, e := range events {
		start := len(b)
		b = appendEvent(b, e)
		if i == len(events)-1 {
			if n := len(b) - start; n < 2 || b[start] != '{' || b[len(b)-1] != '}' {
				b = appendRaw(b[:start], e)
			}
			b = appendTrailer(b, first, crc)
		}
		b = append(b, '\n')
	}
	return b
}

func appendEvent(b, event []byte) []byte {
	if _, _, _, marked := cutTrailer(event); marked || bytes.HasPrefix(event, []byte(rawStart)) {
		return appendRaw(b, event)
	}
	return append(b, event...)
}

func appendRaw(b, event []byte) []byte {
	b = append(b, rawStart...)
	b = base64.StdEncoding.AppendEncode(b, event)
	return append(b, rawEnd...)
}

// appendTrailer puts the commit's member into the object that b ends with.
func appendTrailer(b []byte, first uint64, crc uint32) []byte {
	b = b[:len(b)-1]
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, trailerStart...)
	b = strconv.AppendUint(b, first, 10)
	b = append(b, trailerMid...)
	b = appendHex(b, crc)
	return append(b, trailerEnd...)
}

// tailSize is the length of the end of a marked line from its checksum on.
const tailSize = len(trailerMid) + 8 + len(trailerEnd)

// cutTrailer finds the commit's member at the end of a line; false if it has none.
// end is where the event's last brace belongs.
func cutTrailer(line []byte) (end int, first uint64, crc uint32, ok bool) {
	n := len(line) - tailSize
	if n < 0 || !bytes.HasSuffix(line, []byte(trailerEnd)) || string(line[n:n+len(trailerMid)]) != trailerMid {
		return 0, 0, 0, false
	}
	if crc, ok = parseHex(line[n+len(trailerMid) : n+len(trailerMid)+8]); !ok {
		return 0, 0, 0, false
	}
	digits := n
	for digits > 0 && line[digits-1] >= '0' && line[digits-1] <= '9' {
		digits--
	}
	first, err := strconv.ParseUint(string(line[digits:n]), 10, 64)
	start := digits - len(trailerStart)
	if err != nil || start < 1 || string(line[start:digits]) != trailerStart {
		return 0, 0, 0, false
	}
	switch line[start-1] {
	case ',':
		start--
	case '{':
	default:
		return 0, 0, 0, false
	}
	return start, first, crc, true
}

// parseLine gives the event of a line, and whether it ends a commit. It overwrites
// the line.
func parseLine(line []byte) (event []byte, first uint64, crc uint32, last, ok bool) {
	end, first, crc, last := cutTrailer(line)
	if last {
		line[end] = '}'
		line = line[:end+1]
	}
	if !bytes.HasPrefix(line, []byte(rawStart)) {
		return line, first, crc, last, true
	}
	text, ok := bytes.CutSuffix(line[len(rawStart):], []byte(rawEnd))
	if !ok {
		return nil, 0, 0, false, false
	}
	event, err := base64.StdEncoding.AppendDecode(nil, text)
	return event, first, crc, last, err == nil
}
