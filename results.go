package culm

import (
	"time"

	"github.com/culm-dev/culm/run"
)

// Receipt says what became of something that was recorded for a run.
type Receipt struct {
	// View is the run after it.
	View *run.View
	// Live: a living owner was told and acts on it.
	Live bool
	// Continue: nobody works on the run, and it has not ended: someone must
	// continue it. Of a run that was cancelled: to clean up after it.
	Continue bool
	// InDoubt are the steps that the run was cancelled with although their
	// outcome is unknown.
	InDoubt []string
}

// Recovered is one run that Recover found without a living owner.
type Recovered struct {
	RunID string
	// View is the run as Recover suspended it; nil if it is damaged.
	View *run.View
	// Damaged is why the run could not be suspended; "" if it was.
	Damaged string
}

// Page is one page of a listing.
type Page struct {
	// Runs are the newest first.
	Runs []Summary
	// Next is the cursor of the next page, "" at the end.
	Next string
}

// Summary is a run in a listing.
type Summary struct {
	RunID      string             `json:"run_id"`
	Status     run.Status         `json:"status"`
	Workflow   string             `json:"workflow"` // id@revision
	SessionID  string             `json:"session_id"`
	Labels     map[string]string  `json:"labels"`
	InDoubt    bool               `json:"in_doubt"` // a step of it is
	Suspension run.SuspensionKind `json:"suspension,omitzero"`
	// WakeAt is when the run goes on by itself; nil if nothing is planned.
	WakeAt       *time.Time `json:"wake_at,omitzero"`
	CreatedAt    time.Time  `json:"created_at"`
	UpdatedAt    time.Time  `json:"updated_at"`
	LastSequence uint64     `json:"last_sequence"`
	// Owner is nil if nobody works on the run.
	Owner *run.Owner `json:"owner"`
	// Damaged is why the run cannot be trusted; "" if nothing is known against it.
	Damaged string `json:"damaged,omitzero"`
	// Copy is "imported" of a run that was brought here from another store and that
	// nobody took over yet.
	Copy string `json:"copy,omitzero"`
}
