package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/culm-dev/culm/store"
)

// head is the content of head.json: all of a stream that changes with its commits.
// One that is in use is never changed, only replaced.
type head struct {
	Stream string `json:"stream"`
	// ID tells this stream from an earlier one of its name.
	ID    string `json:"id"`
	Last  uint64 `json:"last"`
	Chain hexSum `json:"chain"` // of the last commit
	End   int64  `json:"end"`   // length of the journal in bytes

	Owner string `json:"owner,omitempty"`
	Epoch uint64 `json:"epoch"`

	Mail       mailbox     `json:"mail"`
	Checkpoint *checkpoint `json:"checkpoint,omitempty"`
	Account    *account    `json:"account,omitempty"` // of the stream's name
	Row        row         `json:"row"`

	// size is the length of head.json.
	size int64
}

// mailbox counts a stream's mail.
type mailbox struct {
	Last      uint64 `json:"last"`       // number of the last mail posted
	Waiting   uint64 `json:"waiting"`    // how many were not taken yet
	SeenEnd   int64  `json:"seen_end"`   // length of seen.jsonl
	SeenChain hexSum `json:"seen_chain"` // checksum over all of it
}

// checkpoint names the content of snapshot.json.
type checkpoint struct {
	At  uint64 `json:"at"`
	Sum hexSum `json:"sum"` // CRC-32C of the state
}

// row is a listing row.
type row struct {
	Kind       string            `json:"kind"`
	Status     string            `json:"status"`
	Workflow   string            `json:"workflow"`
	Session    string            `json:"session,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	InDoubt    bool              `json:"in_doubt,omitempty"`
	Suspension string            `json:"suspension,omitempty"`
	WakeAt     string            `json:"wake_at,omitempty"`
	Created    string            `json:"created"`
	Updated    string            `json:"updated"`
}

func newRow(r *store.Row) row {
	return row{
		Kind: r.Kind, Status: r.Status, Workflow: r.Workflow, Session: r.Session, Labels: r.Labels,
		InDoubt: r.InDoubt, Suspension: r.Suspension,
		WakeAt: timeText(r.WakeAt), Created: timeText(r.Created), Updated: timeText(r.Updated),
	}
}

func (r *row) listing(stream string) (store.Row, error) {
	out := store.Row{
		ID: stream, Kind: r.Kind, Status: r.Status, Workflow: r.Workflow, Session: r.Session, Labels: r.Labels,
		InDoubt: r.InDoubt, Suspension: r.Suspension,
	}
	var errs [3]error
	out.WakeAt, errs[0] = parseTime(r.WakeAt)
	out.Created, errs[1] = parseTime(r.Created)
	out.Updated, errs[2] = parseTime(r.Updated)
	return out, errors.Join(errs[:]...)
}

// hexSum is a checksum as text of eight hexadecimal digits.
type hexSum uint32

func (s hexSum) MarshalText() ([]byte, error) { return appendHex(nil, uint32(s)), nil }

func (s *hexSum) UnmarshalText(b []byte) error {
	sum, ok := parseHex(b)
	if !ok || len(b) != 8 {
		return fmt.Errorf("%q is no checksum", b)
	}
	*s = hexSum(sum)
	return nil
}

// headUnit is what the length of a head is a multiple of: it is written in place,
// over the one before, and so seldom has another length.
const headUnit = 256

// encode gives the bytes of head.json. It is never shorter than the one before.
func (h *head) encode() ([]byte, error) {
	raw, err := encodeSealed(h)
	if err != nil {
		return nil, fmt.Errorf("encode head: %w", err)
	}
	size := max(int64(len(raw)+headUnit-1)/headUnit*headUnit, h.size)
	h.size = size
	raw = append(raw[:len(raw)-1], bytes.Repeat([]byte{' '}, int(size)-len(raw))...)
	return append(raw, '\n'), nil
}

// decodeHead reads a head and says what is wrong with it. What can be read of a
// damaged one is there all the same.
func decodeHead(stream string, raw []byte) (*head, error) {
	h := &head{Stream: stream, size: int64(len(raw))}
	if err := decodeSealed(raw, h); err != nil {
		return unverified(stream, raw), headDamaged(stream, err)
	}
	if h.Stream != stream {
		h.Stream = stream
		return h, headDamaged(stream, errors.New("it is that of another stream"))
	}
	if _, err := h.Row.listing(stream); err != nil {
		return h, headDamaged(stream, err)
	}
	return h, nil
}

// unverified is what a damaged head says, to be shown with its damage.
func unverified(stream string, raw []byte) *head {
	var h head
	if json.Unmarshal(raw, &h) != nil {
		return &head{Stream: stream}
	}
	return &head{Stream: stream, Last: h.Last, Owner: h.Owner, Epoch: h.Epoch, Row: h.Row}
}

func headDamaged(stream string, why error) error {
	return &store.DamagedError{Stream: stream, Reason: "its head.json does not verify: " + why.Error()}
}

func (h *head) damaged(format string, args ...any) error {
	return &store.DamagedError{Stream: h.Stream, Reason: fmt.Sprintf(format, args...)}
}

// readHead reads a stream's head, as it is at the moment; nil if there is no such
// stream. A folder without a head is a damaged stream.
func (p paths) readHead(stream string) (*head, []byte, error) {
	raw, err := os.ReadFile(p.at(inStream(stream, headFile)))
	if missing(err) {
		// The folder is made just before what is in it, so an empty one is none.
		entries, err := os.ReadDir(p.at(streamDir(stream)))
		if missing(err) || err == nil && len(entries) == 0 {
			return nil, nil, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read head of stream %s: %w", stream, err)
		}
		return &head{Stream: stream}, nil, headDamaged(stream, errors.New("it is missing"))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read head of stream %s: %w", stream, err)
	}
	h, err := decodeHead(stream, raw)
	return h, raw, err
}

// account is what an account holds, in the head of its stream or in a file.
type account struct {
	Account string           `json:"account,omitempty"` // in a file
	Spent   map[string]int64 `json:"spent"`
	Limits  map[string]int64 `json:"limits"`
}

func (a *account) export(id string) store.Account {
	return store.Account{ID: id, Spent: a.Spent, Limits: a.Limits}
}

// keyFile is a unique key.
type keyFile struct {
	Scope  string `json:"scope"`
	Key    string `json:"key"`
	Hash   string `json:"hash"`
	Stream string `json:"stream"`
	At     string `json:"at"`
}

func newKeyFile(k *store.KeyRecord) keyFile {
	return keyFile{k.Scope, k.Key, k.Hash, k.Stream, timeText(k.At)}
}

func (k *keyFile) record() (*store.KeyRecord, error) {
	at, err := parseTime(k.At)
	return &store.KeyRecord{Scope: k.Scope, Key: k.Key, Hash: k.Hash, Stream: k.Stream, At: at}, err
}

// mailFile is one message that waits. Its body is text, or else base64.
type mailFile struct {
	Stream string    `json:"stream"`
	Number uint64    `json:"number"`
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	Text   string    `json:"text,omitempty"`
	Base64 []byte    `json:"base64,omitempty"`
}

// seenLine is one message that was ever posted, in seen.jsonl.
type seenLine struct {
	ID   string `json:"id"`
	Hash string `json:"sha256"` // of the body
}
