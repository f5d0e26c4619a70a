package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// Summary is a run in a listing.
type Summary struct {
	RunID        string             `json:"run_id"`
	Status       run.Status         `json:"status"`
	Workflow     string             `json:"workflow"`
	SessionID    string             `json:"session_id"`
	Labels       map[string]string  `json:"labels"`
	InDoubt      bool               `json:"in_doubt"`
	Suspension   run.SuspensionKind `json:"suspension,omitzero"`
	WakeAt       *time.Time         `json:"wake_at,omitzero"`
	CreatedAt    time.Time          `json:"created_at"`
	UpdatedAt    time.Time          `json:"updated_at"`
	LastSequence uint64             `json:"last_sequence"`
	Owner        *run.Owner         `json:"owner"`
	Damaged      string             `json:"damaged,omitzero"`
	// Copy is "imported" of a run that was brought here from another store and
	// that nobody took over yet.
	Copy string `json:"copy,omitzero"`
}

// Page is one page of a listing; Next is the cursor of the next one, "" at the end.
type Page struct {
	Runs []Summary
	Next string
}

// List gives runs, newest first. Whether their owners live is true at the time
// of the call.
func (e *Engine) List(ctx context.Context, q store.Query) (*Page, error) {
	q.Kind = "run"
	page, err := e.store.List(ctx, q)
	if err != nil {
		return nil, asError(err, "")
	}
	out := &Page{Runs: make([]Summary, 0, len(page.Rows)), Next: page.Next}
	for i, row := range page.Rows {
		s := summary(row)
		if s.Damaged == "" && i < verifyRows && row.Last <= verifyEvents {
			s.Damaged = e.verify(ctx, row.ID)
		}
		out.Runs = append(out.Runs, s)
	}
	return out, nil
}

// A listing looks into the journals of the first runs of a page, if they are
// short, so that it can name damage. Others are looked into when they are shown.
const (
	verifyRows   = 50
	verifyEvents = 1000
)

// verify reads a journal, and says why it is damaged; "" if it is not.
func (e *Engine) verify(ctx context.Context, runID string) string {
	for after := uint64(0); ; {
		groups, err := e.store.Read(ctx, runID, after, readBytes)
		var damage *store.DamagedError
		if errors.As(err, &damage) {
			return damage.Reason
		}
		if err != nil || len(groups) == 0 {
			return ""
		}
		last := groups[len(groups)-1]
		after = last.First + uint64(len(last.Events)) - 1
	}
}

func summary(row store.Listed) Summary {
	s := Summary{
		RunID: row.ID, Status: run.Status(row.Status), Workflow: row.Workflow, SessionID: row.Session,
		Labels: row.Labels, InDoubt: row.InDoubt, Suspension: run.SuspensionKind(row.Suspension),
		CreatedAt: row.Created, UpdatedAt: row.Updated, LastSequence: row.Last, Damaged: row.Damaged,
	}
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	if row.Suspension == rowImported {
		s.Suspension, s.Copy = run.KindRecovery, copyImported
	}
	if !row.WakeAt.IsZero() {
		s.WakeAt = &row.WakeAt
	}
	if row.Owner.ID != "" {
		s.Owner = &run.Owner{ID: row.Owner.ID, Alive: row.Owner.Alive}
	}
	return s
}

// FindRun finds a run by its id, a unique beginning of it, or its random tail.
func (e *Engine) FindRun(ctx context.Context, part string) (string, error) {
	part = strings.ToLower(part)
	if _, err := e.store.Head(ctx, part); err == nil || !errors.Is(err, store.ErrNotFound) {
		return part, nil // damaged ones are found too
	}
	if rec, err := e.store.Key(ctx, nestedScope, part); err == nil {
		return rec.Key, nil
	}
	if len(part) < 4 {
		return "", refuse(CodeNotFound, "there is no run %s", part).hint("give at least four characters of its id")
	}
	found := map[string]bool{}
	for _, q := range []store.Query{{Kind: "run", IDPrefix: part, Limit: 2}, {Kind: "run", IDSuffix: part, Limit: 2}} {
		page, err := e.store.List(ctx, q)
		if err != nil {
			return "", asError(err, part)
		}
		for _, row := range page.Rows {
			found[row.ID] = true
		}
	}
	switch len(found) {
	case 0:
		return "", refuse(CodeNotFound, "there is no run %s", part).hint("culm list shows the runs there are")
	case 1:
		for id := range found {
			return id, nil
		}
	}
	return "", refuse(CodeAmbiguous, "several runs begin or end with %s", part).hint("give more of the id; the end of it differs most")
}
