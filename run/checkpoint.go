package run

import (
	"fmt"
	"time"

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
	return s, nil
}

// WakeAt is when the first of the open waits falls due; zero if none does.
func (s *State) WakeAt() time.Time {
	var first time.Time
	for _, deadline := range s.Clock.Waits {
		if !deadline.IsZero() && (first.IsZero() || deadline.Before(first)) {
			first = deadline
		}
	}
	return first
}
