package runfiles

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"regexp"
	"strconv"

	"github.com/culm-dev/culm/store"
)

// chain is the checksum of a commit; see the package's documentation.
func chain(prev uint32, stream string, first uint64, events []byte) uint32 {
	head := binary.LittleEndian.AppendUint64(nil, uint64(prev))
	head = binary.LittleEndian.AppendUint64(head, uint64(len(stream)))
	head = append(head, stream...)
	head = binary.LittleEndian.AppendUint64(head, first)
	head = binary.LittleEndian.AppendUint64(head, uint64(len(events)))
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(head, table), table, events)
}

// encodeJournal gives the lines of a journal, and the checksum of its last commit.
func encodeJournal(stream string, groups []store.Group) (lines []byte, crc uint32, err error) {
	for _, g := range groups {
		crc = chain(crc, stream, g.First, bytes.Join(g.Events, []byte{'\n'}))
		for i, e := range g.Events {
			if i < len(g.Events)-1 {
				lines = append(append(lines, e...), '\n')
				continue
			}
			body, ok := bytes.CutSuffix(e, []byte{'}'})
			if !ok || boundary().Match(e) {
				return nil, 0, fmt.Errorf("encode journal: event %d is no JSON object, or has a _commit of its own", g.First+uint64(i))
			}
			lines = append(lines, body...)
			if !bytes.HasSuffix(body, []byte{'{'}) {
				lines = append(lines, ',')
			}
			lines = fmt.Appendf(lines, `"_commit":{"first":%d,"crc":"%08x"}}`+"\n", g.First, crc)
		}
	}
	return lines, crc, nil
}

// boundary is what ends the last line of a commit.
func boundary() *regexp.Regexp {
	return regexp.MustCompile(`,?"_commit":\{"first":(0|[1-9][0-9]*),"crc":"([0-9a-f]{8})"\}\}$`)
}

// decodeJournal reads the lines of a journal and verifies each commit. What it
// returns with an error is what came before the damage.
func decodeJournal(stream string, lines []byte) (groups []store.Group, crc uint32, err error) {
	end := boundary()
	g := store.Group{First: 1}
	next := uint64(1) // sequence of the next event
	for len(lines) > 0 {
		line, rest, whole := bytes.Cut(lines, []byte{'\n'})
		if lines = rest; !whole {
			return groups, crc, fmt.Errorf("line %d does not end", next)
		}
		m := end.FindSubmatchIndex(line)
		if m == nil {
			g.Events = append(g.Events, line)
			next++
			continue
		}
		event := append(append([]byte{}, line[:m[0]]...), '}')
		first, perr := strconv.ParseUint(string(line[m[2]:m[3]]), 10, 64)
		sum, serr := strconv.ParseUint(string(line[m[4]:m[5]]), 16, 32)
		g.Events = append(g.Events, event)
		want := chain(crc, stream, g.First, bytes.Join(g.Events, []byte{'\n'}))
		if perr != nil || serr != nil || first != g.First || uint32(sum) != want {
			return groups, crc, fmt.Errorf("the checksum of the commit that begins in line %d does not match", g.First)
		}
		groups, crc = append(groups, g), want
		next++
		g = store.Group{First: next}
	}
	if len(g.Events) > 0 {
		return groups, crc, fmt.Errorf("the commit that begins in line %d does not end", g.First)
	}
	return groups, crc, nil
}
