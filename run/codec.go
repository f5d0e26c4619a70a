package run

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrNewerFormat: the journal holds an event type that this version does not
// know. It was written by a newer version, and is not damage.
var ErrNewerFormat = errors.New("the journal was written by a newer version")

type wire[B any] struct {
	Header `json:",embed"`
	Body   *B `json:",embed"`
}

type decoder func(line []byte) (Event, error)

func decode[B any, P interface {
	*B
	Body
}](line []byte) (Event, error) {
	w := wire[B]{Body: new(B)}
	if err := json.Unmarshal(line, &w, json.RejectUnknownMembers(true)); err != nil {
		return Event{}, err
	}
	return Event{Header: w.Header, Body: P(w.Body)}, nil
}

// decoderOf returns nil for a type that this version does not know.
func decoderOf(t Type) decoder {
	switch t {
	case TypeQueued:
		return decode[Queued]
	case TypeStarted:
		return decode[Started]
	case TypeSuspended:
		return decode[Suspended]
	case TypeSucceeded:
		return decode[Succeeded]
	case TypeFailed:
		return decode[Failed]
	case TypeCancelled:
		return decode[CancelledRun]
	case TypeCancelRequested:
		return decode[CancelRequested]
	case TypeDeadlineExtended:
		return decode[DeadlineExtended]
	case TypeStepStarted:
		return decode[StepStarted]
	case TypeWaitSet:
		return decode[WaitSet]
	case TypeStepSuspended:
		return decode[StepSuspended]
	case TypeStepResumed:
		return decode[StepResumed]
	case TypeStepCompleted:
		return decode[StepCompleted]
	case TypeStepFailed:
		return decode[StepFailed]
	case TypeStepCancelled:
		return decode[StepCancelled]
	case TypeStepSkipped:
		return decode[StepSkipped]
	case TypeStepResolved:
		return decode[StepResolved]
	case TypeDecided:
		return decode[Decided]
	case TypeRetryReserved:
		return decode[RetryReserved]
	case TypeStepAdopted:
		return decode[StepAdopted]
	case TypeNodeAdopted:
		return decode[NodeAdopted]
	}
	return nil
}

// Decode reads one journal line, strictly: unknown members, duplicate names and
// invalid UTF-8 are errors. A type of a newer version is ErrNewerFormat.
func Decode(line []byte) (Event, error) {
	var head struct {
		Type Type `json:"type"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return Event{}, fmt.Errorf("decode event: %w", err)
	}
	if head.Type == "" {
		return Event{}, errors.New("decode event: it has no type")
	}
	dec := decoderOf(head.Type)
	if dec == nil {
		return Event{}, fmt.Errorf("decode event: %w: unknown event type %q", ErrNewerFormat, head.Type)
	}
	ev, err := dec(line)
	if err != nil {
		return Event{}, fmt.Errorf("decode %s event: %w", head.Type, err)
	}
	return ev, nil
}

// Encode writes the event as one journal line, without a line feed. Header.Type
// is taken from the body.
func (e Event) Encode() ([]byte, error) {
	e.Type = e.Body.EventType()
	head, err := json.Marshal(e.Header)
	if err != nil {
		return nil, fmt.Errorf("encode %s event: %w", e.Type, err)
	}
	body, err := json.Marshal(e.Body, jsontext.PreserveRawStrings(true), json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode %s event: %w", e.Type, err)
	}
	if len(body) == 2 { // {}
		return head, nil
	}
	line := append(head[:len(head)-1], ',')
	return append(line, body[1:]...), nil
}

// MarshalJSON writes the journal line.
func (e Event) MarshalJSON() ([]byte, error) { return e.Encode() }

// UnmarshalJSON reads a journal line as Decode does.
func (e *Event) UnmarshalJSON(line []byte) error {
	ev, err := Decode(line)
	if err != nil {
		return err
	}
	*e = ev
	return nil
}
