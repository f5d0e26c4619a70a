package file

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Whatever the events are, the lines of a commit give them back, to the byte, and are
// JSON if they are.
func TestLinesGiveBackTheEvents(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{
		"{", "}", "{}", ",", `"a":1`, `"_commit":{"first":`, `,"crc":"`, `"}}`, "89abcdef", "7", `{"_raw":"`, `"}`, " ", "\x00", "\xff", "\r",
	})
	rapid.Check(t, func(t *rapid.T) {
		var events [][]byte
		for range rapid.IntRange(1, 4).Draw(t, "events") {
			var e []byte
			for range rapid.IntRange(1, 8).Draw(t, "pieces") {
				e = append(e, piece.Draw(t, "piece")...)
			}
			events = append(events, e)
		}
		text := appendCommit(nil, 7, 0x89abcdef, events)
		lines := bytes.Split(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'})
		if len(lines) != len(events) {
			t.Fatalf("%d lines of %d events: %q", len(lines), len(events), text)
		}
		for i, line := range lines {
			plain := json.Valid(events[i])
			if plain && !json.Valid(line) {
				t.Errorf("%q is no JSON, and %q is", line, events[i])
			}
			event, first, crc, last, ok := parseLine(bytes.Clone(line))
			if !ok || !bytes.Equal(event, events[i]) || last != (i == len(lines)-1) || last && (first != 7 || crc != 0x89abcdef) {
				t.Errorf("%q gives %q, %d, %x, %v, %v; it was %q", line, event, first, crc, last, ok, events[i])
			}
		}
	})
}

// Any bytes that a log may hold decode to operations that encode to them, or not at all.
func FuzzDecodeOps(f *testing.F) {
	f.Add(appendOps(nil, []op{
		{kind: opWrite, path: "runs/a/journal.jsonl", data: []byte("{}\n"), at: 7},
		{kind: opPut, path: "keys/a.json", data: []byte{}},
		{kind: opRemove, path: "accounts/a.json"},
		{kind: opMove, path: "runs/a/blobs/b", from: "staged/c"},
	}))
	f.Add(appendOps(nil, []op{{kind: opRemove, path: "../outside"}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		ops, err := decodeOps(b)
		if err != nil {
			return
		}
		again, err := decodeOps(appendOps(nil, ops))
		if diff := cmp.Diff(ops, again, cmp.AllowUnexported(op{})); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}
