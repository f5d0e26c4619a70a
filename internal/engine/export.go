package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/culm-dev/culm/internal/canon"
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

// Export reads a root run as one consistent look, whoever works on it.
func (e *Engine) Export(ctx context.Context, runID string) (*Exported, error) {
	keeper, err := e.keeper()
	if err != nil {
		return nil, err
	}
	if r, err := e.notRoot(ctx, runID, AnySession); r != nil || err != nil {
		return nil, orError(r, err)
	}
	x, err := keeper.Extract(ctx, runID)
	out := &Exported{Extract: x}
	var damage *store.DamagedError
	switch {
	case errors.As(err, &damage):
		out.Damaged = damage.Reason
	case err != nil:
		return nil, asError(err, runID)
	}
	if x == nil {
		out.Extract = &store.Extract{Stream: runID, Row: store.Row{ID: runID}}
		return out, nil
	}
	st, err := foldExtract(x)
	switch {
	case err == nil:
		out.Snapshot = st.Snapshot()
	case out.Damaged == "" && !errors.Is(err, run.ErrNewerFormat):
		out.Damaged = err.Error()
	}
	return out, nil
}

// ExportRaw writes what is stored of a run's journal, verified or not.
func (e *Engine) ExportRaw(ctx context.Context, runID string, w io.Writer) error {
	keeper, err := e.keeper()
	if err != nil {
		return err
	}
	if err := keeper.Raw(ctx, runID, w); err != nil {
		return asError(err, runID)
	}
	return nil
}

// keeper is the store's housekeeping, if it has any.
func (e *Engine) keeper() (store.Keeper, error) {
	keeper, ok := e.store.(store.Keeper)
	if !ok {
		return nil, refuse(CodeNoHousekeeping, "this store cannot be kept house in")
	}
	return keeper, nil
}

// foldExtract decodes and folds an extracted journal, strictly, with all values:
// each blob that it refers to must be there.
func foldExtract(x *store.Extract) (*run.State, error) {
	blobs := make(map[string][]byte, len(x.Blobs))
	for _, b := range x.Blobs {
		blobs[b.ID] = b.Data
	}
	read := func(b run.Blob) (run.Raw, error) {
		data, ok := blobs[b.SHA256]
		if !ok || int64(len(data)) != b.Size {
			return nil, fmt.Errorf("its value %s of %d bytes is missing", b.SHA256, b.Size)
		}
		return data, nil
	}
	st := run.NewState()
	st.Keep()
	for _, g := range x.Groups {
		for _, line := range g.Events {
			ev, err := run.Decode(line)
			if err == nil {
				err = run.Fill(&ev, read)
			}
			if err == nil {
				err = st.Apply(ev)
			}
			if err != nil {
				return nil, fmt.Errorf("event %d: %w", st.Last+1, err)
			}
		}
	}
	switch {
	case st.Last == 0:
		return nil, errors.New("the journal has no events")
	case st.RunID != x.Stream:
		return nil, fmt.Errorf("the journal is of run %s", st.RunID)
	case canon.Hash(st.Bundle.Raw) != st.BundleHash:
		return nil, fmt.Errorf("the pinned bundle does not have the hash %s", st.BundleHash)
	}
	return st, nil
}
