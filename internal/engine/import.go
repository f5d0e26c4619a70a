package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// Imported says what became of a run that was imported.
type Imported struct {
	View *run.View
	// AlreadyThere: the store had all of it before, and nothing was changed.
	AlreadyThere bool
}

// Import brings a run here that [Engine.Export] read elsewhere, verified to the
// last byte before anything is written. A run that has ended becomes what it was.
// One that has not is suspended, its open calls in doubt, and is refused to go on
// ([CodeCopied]) until someone takes it over: it may go on where it came from.
//
// A run of that id which begins as the imported one does is left as it is; any
// other is refused with [CodeDiverged].
func (e *Engine) Import(ctx context.Context, x *store.Extract) (*Imported, error) {
	if r := e.closedRefusal(); r != nil {
		return nil, r
	}
	keeper, err := e.keeper()
	if err != nil {
		return nil, err
	}
	ready, st, err := e.prepareImport(x)
	if err != nil {
		return nil, err
	}
	there, err := e.alreadyThere(ctx, x)
	if err == nil && !there {
		err = keeper.Restore(ctx, ready)
		if errors.Is(err, store.ErrExists) { // by another import, just now
			there, err = e.alreadyThere(ctx, x)
			if err == nil && !there {
				err = refuse(CodeDiverged, "an account of the name %s is there already", x.Stream)
			}
		}
	}
	if err == nil {
		// A crash before this leaves nested runs without their names, until the same
		// is imported again.
		err = e.nameNested(ctx, st)
	}
	if err != nil {
		return nil, asError(err, x.Stream)
	}
	view, err := e.Progress(ctx, x.Stream, ProgressOptions{Session: AnySession})
	return &Imported{View: view, AlreadyThere: there}, err
}

// prepareImport verifies an extract and makes what is to be restored of it.
func (e *Engine) prepareImport(x *store.Extract) (*store.Extract, *run.State, error) {
	if err := x.Check(); err != nil {
		return nil, nil, asError(err, x.Stream)
	}
	st, err := foldExtract(x)
	switch {
	case errors.Is(err, run.ErrNewerFormat):
		return nil, nil, asError(err, x.Stream)
	case err != nil:
		return nil, nil, refuse(CodeDamaged, "run %s is damaged: %v", x.Stream, err).with("reason", err.Error())
	}
	ready := *x
	if !st.Status.Terminal() {
		group, err := e.markImported(st)
		if err != nil {
			return nil, nil, err
		}
		ready.Groups = append(slices.Clip(x.Groups), group)
	}
	ready.Row = rowOf(x.Stream, st)
	if ready.Account == nil {
		ready.Account = &store.Account{ID: x.Stream, Limits: accountLimits(st.Budget), Spent: map[string]int64{
			"steps": st.Usage.Steps, "retries": st.Usage.Retries, "agents": st.Usage.Agents,
		}}
	}
	return &ready, st, nil
}

// markImported makes the commit that suspends an imported run, and folds it.
func (e *Engine) markImported(st *run.State) (store.Group, error) {
	group := store.Group{First: st.Last + 1}
	for _, ev := range st.ImportBodies(e.cfg.By) {
		at := e.now()
		if at.Before(st.UpdatedAt) {
			at = st.UpdatedAt
		}
		ev.RunID, ev.Sequence, ev.At, ev.Type = st.RunID, st.Last+1, at, ev.Body.EventType()
		line, err := ev.Encode()
		if err == nil {
			err = st.Apply(ev)
		}
		if err != nil {
			return group, err
		}
		group.Events = append(group.Events, line)
	}
	return group, nil
}

// alreadyThere compares a run with what is stored under its id.
func (e *Engine) alreadyThere(ctx context.Context, x *store.Extract) (bool, error) {
	after := uint64(0)
	for _, want := range x.Groups {
		groups, err := e.store.Read(ctx, x.Stream, after, 1)
		var damage *store.DamagedError
		switch {
		case errors.Is(err, store.ErrNotFound) && after == 0:
			return false, nil
		case errors.As(err, &damage):
			return false, refuse(CodeDamaged, "run %s is here already, and damaged: %s", x.Stream, damage.Reason).with("reason", damage.Reason)
		case err != nil:
			return false, err
		case len(groups) == 0:
			return false, refuse(CodeDiverged, "run %s is here already, up to event %d; what is imported goes on to event %d", x.Stream, after, x.Last()).
				hint("what is here may go on as well: it is left as it is")
		}
		if got := groups[0]; got.First != want.First || !slices.EqualFunc(got.Events, want.Events, bytes.Equal) {
			return false, refuse(CodeDiverged, "run %s is here already, and after event %d it is another one", x.Stream, after).
				hint("it went on in two places: what is here is left as it is")
		}
		after += uint64(len(want.Events))
	}
	return true, nil
}

// nameNested takes the keys by which nested runs are found.
func (e *Engine) nameNested(ctx context.Context, st *run.State) error {
	var keys []store.KeyRecord
	for _, step := range st.Steps {
		if step.ChildRunID == "" {
			continue
		}
		_, err := e.store.Key(ctx, nestedScope, step.ChildRunID)
		switch {
		case errors.Is(err, store.ErrNotFound):
			keys = append(keys, store.KeyRecord{Scope: nestedScope, Key: step.ChildRunID, Stream: st.RunID, At: st.CreatedAt})
		case err != nil:
			return err
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return e.store.Commit(ctx, &store.Batch{Keys: keys})
}
