package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
)

// snapshot is the content of snapshot.json: a checkpoint, and what it is of. It is
// only ever a shortcut: one that is missing, torn or older than the head says is no
// loss, for the journal gives it again.
type snapshot struct {
	Stream string `json:"stream"`
	At     uint64 `json:"at"`    // sequence of the last event folded
	Chain  hexSum `json:"chain"` // of the journal there
	// State is the checkpoint, if it is a JSON object; else it is Base64.
	State  json.RawMessage `json:"state,omitempty"`
	Base64 []byte          `json:"base64,omitempty"`
}

// encodeSnapshot encodes by hand, so that the state's bytes stay as they are.
func encodeSnapshot(h *head, state []byte) ([]byte, error) {
	s := snapshot{Stream: h.Stream, At: h.Last, Chain: h.Chain}
	plain := len(state) > 1 && state[0] == '{' && state[len(state)-1] == '}' && json.Valid(state)
	if !plain {
		s.Base64 = state
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode snapshot: %w", err)
	}
	if plain {
		b = append(append(b[:len(b)-1], `,"state":`...), state...)
		b = append(b, '}')
	}
	return seal(b), nil
}

// errNoSnapshot: there is none that can be used, which is no damage.
var errNoSnapshot = errors.New("there is no snapshot")

// readSnapshot gives the checkpoint that the head names. A snapshot that is ahead of
// the head, or another one of the same event, contradicts the journal.
func (p paths) readSnapshot(h *head) ([]byte, error) {
	raw, err := os.ReadFile(p.at(inStream(h.Stream, snapshotFile)))
	if missing(err) {
		return nil, errNoSnapshot
	}
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	var s snapshot
	if decodeSealed(raw, &s) != nil || s.Stream != h.Stream {
		return nil, errNoSnapshot
	}
	state := []byte(s.State)
	if state == nil {
		state = s.Base64
	}
	if state == nil {
		state = []byte{}
	}
	want := h.Checkpoint
	switch {
	case s.At > h.Last:
		return nil, h.damaged("its snapshot is of event %d, and its journal ends at event %d", s.At, h.Last)
	case want == nil || s.At > want.At || s.At == want.At && crc32.Checksum(state, castagnoli()) != uint32(want.Sum):
		return nil, h.damaged("its snapshot of event %d is not the one that was made there", s.At)
	case s.At < want.At:
		return nil, errNoSnapshot
	}
	return bytes.Clone(state), nil
}
