package run

import (
	"fmt"

	"github.com/go-json-experiment/json"
)

// EncodeCheckpoint writes the state with references in place of values.
func (s *State) EncodeCheckpoint() ([]byte, error) {
	data, err := json.Marshal(s, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode checkpoint: %w", err)
	}
	return data, nil
}

// DecodeCheckpoint reads what EncodeCheckpoint wrote, strictly.
func DecodeCheckpoint(data []byte) (*State, error) {
	s := NewState()
	if err := json.Unmarshal(data, s, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("decode checkpoint: %w", err)
	}
	if s.Clock.Waits != nil {
		s.waiting = newWaitIndex(s.Clock.Waits)
	}
	return s, nil
}
