package culm

import (
	"context"
	"io"
	"time"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// Exported is a run outside of its store.
type Exported struct {
	// Extract is everything that the store has of it; of a damaged run, what could
	// be read.
	Extract *store.Extract
	// Snapshot is the fold of its journal with all values, for people; nil if that
	// cannot be made.
	Snapshot *run.Snapshot
	// Damaged is why the run is damaged; "" if it is not.
	Damaged string
}

// Export reads a root run as one consistent look, whoever works on it. A store
// without a [store.Keeper] is refused with [CodeNoHousekeeping].
func (e *Engine) Export(ctx context.Context, runID string) (*Exported, error) {
	x, err := e.e.Export(ctx, runID)
	return (*Exported)(x), asError(err)
}

// ExportRaw writes what is stored of a run's journal, verified or not: what is
// left of a damaged run.
func (e *Engine) ExportRaw(ctx context.Context, runID string, w io.Writer) error {
	return asError(e.e.ExportRaw(ctx, runID, w))
}

// Imported says what became of a run that was imported.
type Imported struct {
	View *run.View
	// AlreadyThere: the store had all of it before, and nothing was changed.
	AlreadyThere bool
}

// Import brings a run here that [Engine.Export] read elsewhere, verified to the
// last byte before anything is written. A run that has ended becomes what it was.
// One that has not is suspended, its open calls in doubt, and is refused to go on
// ([CodeCopied]) until someone takes it over ([ContinueOptions.Takeover]): it may
// go on where it came from.
//
// A run of that id which begins as the imported one does is left as it is; any
// other is refused with [CodeDiverged].
func (e *Engine) Import(ctx context.Context, x *store.Extract) (*Imported, error) {
	in, err := e.e.Import(ctx, x)
	return (*Imported)(in), asError(err)
}

// CollectOptions say which runs are removed.
type CollectOptions struct {
	// Before: only runs that ended before. The zero time removes none.
	Before time.Time
	// KeepFailed leaves failed runs alone.
	KeepFailed bool
	// InDoubt removes those too that were cancelled with steps in doubt.
	InDoubt bool
	// DryRun only tells what would be removed.
	DryRun bool
}

// Collected is one run that Collect removed, or would.
type Collected struct {
	RunID    string     `json:"run_id"`
	Status   run.Status `json:"status"`
	Workflow string     `json:"workflow"`
	EndedAt  time.Time  `json:"ended_at"`
	Bytes    int64      `json:"bytes"` // of its journal, values and mail
}

// Reclaimed is what Collect did beside removing runs.
type Reclaimed struct {
	// Keys is how many keys were forgotten. They outlive by 30 days what is removed.
	Keys int
	// GivenBack is how many bytes the store's files are shorter.
	GivenBack int64
}

// Collect removes runs that ended some time ago, and tells removed of each. It is
// safe beside anything that any process does. A run that is damaged, or that a
// living process owns, is left alone.
func (e *Engine) Collect(ctx context.Context, opts CollectOptions, removed func(Collected)) (Reclaimed, error) {
	got, err := e.e.Collect(ctx, engine.CollectOptions(opts), func(c engine.Collected) { removed(Collected(c)) })
	return Reclaimed(got), asError(err)
}
