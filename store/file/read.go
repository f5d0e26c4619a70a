package file

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/culm-dev/culm/store"
)

// Head implements [store.Store]. A damaged stream gives what could be read of it,
// with a [store.DamagedError] if it is the head itself that is damaged.
func (s *Store) Head(ctx context.Context, stream string) (store.Head, error) {
	var state []byte
	h, err := s.look(ctx, stream, func(h *head) (err error) {
		state = nil
		if err := s.paths.checkTail(h); err != nil {
			return err
		}
		state, err = s.paths.readSnapshot(h)
		if errors.Is(err, errNoSnapshot) {
			err = nil
		}
		return err
	})
	out := store.Head{Stream: stream}
	if h != nil {
		out.Last = h.Last
		out.Row, _ = h.Row.listing(stream)
		if state != nil {
			out.Checkpoint, out.CheckpointAt = state, h.Checkpoint.At
		}
		var oerr error
		if out.Owner, oerr = s.ownerOf(h); err == nil {
			err = oerr
		}
	}
	var d *store.DamagedError
	if errors.As(err, &d) {
		out.Damaged = d.Reason
	} else {
		out.Damaged = s.state.KnownDamage(stream)
	}
	if err != nil {
		return out, fmt.Errorf("read head of stream %s: %w", stream, err)
	}
	return out, nil
}

// Blob implements [store.Store]. A blob vouches for itself, even where its stream's
// head is damaged.
func (s *Store) Blob(ctx context.Context, stream, id string) ([]byte, error) {
	var data []byte
	var inner error
	_, err := s.look(ctx, stream, func(*head) error {
		data, inner = s.paths.readBlob(stream, id)
		return inner
	})
	if errors.As(err, new(*store.DamagedError)) && inner == nil && data == nil {
		data, err = s.paths.readBlob(stream, id)
	}
	if err != nil {
		return nil, fmt.Errorf("read blob %s of stream %s: %w", id, stream, err)
	}
	return data, nil
}

func (p paths) readBlob(stream, id string) ([]byte, error) {
	if !validBlobID(id) {
		return nil, store.ErrNotFound
	}
	data, err := os.ReadFile(p.at(blobPath(stream, id)))
	switch {
	case missing(err):
		return nil, store.ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("read blob: %w", err)
	case store.BlobID(data) != id:
		return nil, &store.DamagedError{Stream: stream, Reason: "blob " + id + " does not verify"}
	}
	return data, nil
}
