package engine

import (
	"context"
	"errors"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// Recovered is one run that Recover found without a living owner.
type Recovered struct {
	RunID string
	// View is the run as Recover suspended it; nil if it is damaged.
	View *run.View
	// Damaged is why the run could not be suspended; "" if it was.
	Damaged string
}

// Recover suspends every running run whose owner is dead. It dispatches nothing,
// and never touches a run whose owner is alive in any process. Damaged runs are
// reported and stop nobody.
func (e *Engine) Recover(ctx context.Context) ([]Recovered, error) {
	var all []Recovered
	q := store.Query{Kind: "run", Status: []string{string(run.StatusRunning), string(run.StatusQueued)}, Limit: 500}
	for {
		page, err := e.store.List(ctx, q)
		if err != nil {
			return all, asError(err, "")
		}
		for _, row := range page.Rows {
			rec, err := e.recoverRow(ctx, row)
			if err != nil {
				return all, err
			}
			if rec != nil {
				all = append(all, *rec)
			}
		}
		if page.Next == "" {
			return all, nil
		}
		q.Cursor = page.Next
	}
}

func (e *Engine) recoverRow(ctx context.Context, row store.Listed) (*Recovered, error) {
	if row.Damaged != "" {
		return &Recovered{RunID: row.ID, Damaged: row.Damaged}, nil
	}
	if row.Owner.Alive {
		return nil, nil
	}
	view, err := e.recoverRun(ctx, row.ID)
	var refusal *Error
	switch {
	case err == nil && view == nil:
		return nil, nil
	case err == nil:
		return &Recovered{RunID: row.ID, View: view}, nil
	case errors.As(err, &refusal) && (refusal.Code == CodeDamaged || refusal.Code == CodeNewerFormat):
		return &Recovered{RunID: row.ID, Damaged: refusal.reason()}, nil
	case errors.As(err, &refusal) && refusal.Code == CodeOwnedElsewhere:
		return nil, nil
	}
	return nil, err
}

// RecoverRun does what Recover does for one run: nil if there is nothing to do.
func (e *Engine) RecoverRun(ctx context.Context, runID string) (*run.View, error) {
	if r, err := e.notRoot(ctx, runID, AnySession); r != nil || err != nil {
		return nil, orError(r, err)
	}
	return e.recoverRun(ctx, runID)
}

func (e *Engine) recoverRun(ctx context.Context, runID string) (*run.View, error) {
	l, err := e.load(ctx, runID, keepNothing)
	if err != nil {
		return nil, err
	}
	if l.head.Owner.Alive || l.st.Status.Terminal() || l.st.Status == run.StatusSuspended {
		return nil, nil
	}
	if r := l.readable(AnySession); r != nil {
		return nil, r
	}
	claim, err := e.store.Claim(ctx, runID)
	if err != nil {
		return nil, asError(err, runID)
	}
	o := l.newOwner(claim)
	defer o.close()
	o.m, o.st = nil, l.st // recovering needs no plan
	if err := l.unmoved(ctx); err != nil {
		return nil, err
	}
	if err := o.markRecovered(); err != nil {
		return nil, err
	}
	if err := o.commit(ctx); err != nil {
		return nil, asError(err, runID)
	}
	return e.Progress(ctx, runID, ProgressOptions{Session: AnySession})
}

func (o *owner) markRecovered() error {
	for _, ev := range o.state().RecoverBodies() {
		if err := o.emit(ev.StepID, ev.Body); err != nil {
			return err
		}
	}
	o.batch.release = true
	return nil
}
