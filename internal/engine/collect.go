package engine

import (
	"context"
	"errors"
	"time"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

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
	// Keys is how many keys were forgotten.
	Keys int
	// GivenBack is how many bytes the store's files are shorter.
	GivenBack int64
}

// keyGrace is how much longer than runs the keys by which they were started are
// kept: a client that repeats its start must not start it anew.
const keyGrace = 30 * 24 * time.Hour

// Collect removes runs that ended some time ago, and tells removed of each. It
// is safe beside anything that any process does. A run that is damaged, or that a
// living process owns, is left alone.
func (e *Engine) Collect(ctx context.Context, opts CollectOptions, removed func(Collected)) (Reclaimed, error) {
	var total Reclaimed
	keeper, err := e.keeper()
	if err != nil {
		return total, err
	}
	if !opts.DryRun {
		// First: the keys of what goes now are kept once more.
		if total.Keys, err = keeper.Forget(ctx, opts.Before.Add(-keyGrace)); err != nil {
			return total, asError(err, "")
		}
	}
	if err := e.collectRuns(ctx, keeper, opts, removed); err != nil || opts.DryRun {
		return total, asError(err, "")
	}
	total.GivenBack, err = keeper.Compact(ctx)
	return total, asError(err, "")
}

func (e *Engine) collectRuns(ctx context.Context, keeper store.Keeper, opts CollectOptions, removed func(Collected)) error {
	q := store.Query{Kind: "run", Status: []string{string(run.StatusSucceeded), string(run.StatusCancelled)}, Limit: 500}
	if !opts.KeepFailed {
		q.Status = append(q.Status, string(run.StatusFailed))
	}
	for {
		page, err := e.store.List(ctx, q)
		if err != nil {
			return err
		}
		for _, row := range page.Rows {
			if !row.Updated.Before(opts.Before) || row.InDoubt && !opts.InDoubt || row.Damaged != "" || row.Owner.Alive {
				continue
			}
			c := Collected{RunID: row.ID, Status: run.Status(row.Status), Workflow: row.Workflow, EndedAt: row.Updated}
			gone, err := collectRun(ctx, keeper, row, opts.DryRun, &c)
			if err != nil {
				return err
			}
			if gone {
				removed(c)
			}
		}
		if page.Next == "" {
			return nil
		}
		q.Cursor = page.Next
	}
}

// collectRun removes one run; false if it is not to be, or somebody else did.
func collectRun(ctx context.Context, keeper store.Keeper, row store.Listed, dry bool, c *Collected) (bool, error) {
	x, err := keeper.Extract(ctx, row.ID)
	var damage *store.DamagedError
	switch {
	case errors.As(err, &damage), errors.Is(err, store.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	}
	c.Bytes = size(x)
	if dry {
		return true, nil
	}
	err = keeper.Remove(ctx, row.ID, row.Last)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrOwned) || errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// size is how many bytes an extract holds.
func size(x *store.Extract) int64 {
	n := 0
	for _, g := range x.Groups {
		for _, e := range g.Events {
			n += len(e) + 1
		}
	}
	for _, m := range x.Mail {
		n += len(m.Body)
	}
	for _, b := range x.Blobs {
		n += len(b.Data)
	}
	return int64(n)
}
