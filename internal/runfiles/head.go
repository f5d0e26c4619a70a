package runfiles

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/culm-dev/culm/store"
)

// Format is the version of this layout. A greater one is refused.
const Format = 1

// head is export.json.
type head struct {
	Format   int       `json:"export_format"`
	RunID    string    `json:"run_id"`
	Last     uint64    `json:"last_sequence"`
	CRC      string    `json:"crc"` // of the last commit
	Epoch    uint64    `json:"epoch"`
	Row      row       `json:"row"`
	Account  *account  `json:"account,omitzero"`
	Mail     []mail    `json:"mail"`
	Damaged  string    `json:"damaged,omitzero"`
	Exported time.Time `json:"exported_at"`
}

// row is the listing row.
type row struct {
	Kind       string            `json:"kind"`
	Status     string            `json:"status"`
	Workflow   string            `json:"workflow"`
	Session    string            `json:"session_id"`
	Labels     map[string]string `json:"labels"`
	InDoubt    bool              `json:"in_doubt"`
	WakeAt     time.Time         `json:"wake_at,omitzero"`
	Created    time.Time         `json:"created_at"`
	Updated    time.Time         `json:"updated_at"`
	Suspension string            `json:"suspension,omitzero"`
}

type account struct {
	Spent  map[string]int64 `json:"spent"`
	Limits map[string]int64 `json:"limits"`
}

type mail struct {
	Number uint64    `json:"number"`
	ID     string    `json:"id"`
	Body   []byte    `json:"body"` // base64
	At     time.Time `json:"at"`
}

func newHead(r *Run, crc uint32) *head {
	x, w := r.Extract, &r.Extract.Row
	h := &head{
		Format: Format, RunID: x.Stream, Last: x.Last(), CRC: fmt.Sprintf("%08x", crc), Epoch: x.Epoch,
		Row: row{
			Kind: w.Kind, Status: w.Status, Workflow: w.Workflow, Session: w.Session, Labels: w.Labels, InDoubt: w.InDoubt,
			WakeAt: w.WakeAt, Created: w.Created, Updated: w.Updated, Suspension: w.Suspension,
		},
		Damaged: r.Damaged, Exported: r.At,
	}
	for _, m := range x.Mail {
		h.Mail = append(h.Mail, mail{m.Number, m.ID, m.Body, m.At})
	}
	if x.Account != nil {
		h.Account = &account{x.Account.Spent, x.Account.Limits}
	}
	return h
}

// fill puts what the head says into an extract.
func (h *head) fill(x *store.Extract) {
	x.Stream, x.Epoch = h.RunID, h.Epoch
	x.Row = store.Row{
		ID: h.RunID, Kind: h.Row.Kind, Status: h.Row.Status, Workflow: h.Row.Workflow, Session: h.Row.Session,
		Labels: h.Row.Labels, InDoubt: h.Row.InDoubt, WakeAt: h.Row.WakeAt, Created: h.Row.Created, Updated: h.Row.Updated,
		Suspension: h.Row.Suspension,
	}
	for _, m := range h.Mail {
		x.Mail = append(x.Mail, store.Mail{Number: m.Number, ID: m.ID, Body: m.Body, At: m.At})
	}
	if h.Account != nil {
		x.Account = &store.Account{ID: h.RunID, Spent: h.Account.Spent, Limits: h.Account.Limits}
	}
}

// manifest is manifest.json.
type manifest struct {
	Format int             `json:"export_format"`
	Files  map[string]file `json:"files"` // by slash-separated path in the run's folder
}

type file struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func encode(v any) ([]byte, error) {
	text, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	return append(text, '\n'), err
}

// decode is strict: what is not understood must not be left out.
func decode(text []byte, v any) error {
	return json.Unmarshal(text, v, json.RejectUnknownMembers(true))
}

// decodeLoosely reads what a newer version may have written.
func decodeLoosely(text []byte, v any) error { return json.Unmarshal(text, v) }
