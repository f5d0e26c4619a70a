package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/culm-dev/culm/store"
)

// allBytes is more than any journal is long.
const allBytes = math.MaxInt

// Extract implements [store.Keeper].
func (s *Store) Extract(ctx context.Context, stream string) (*store.Extract, error) {
	x, _, err := s.extract(ctx, stream)
	if err != nil {
		err = fmt.Errorf("extract stream %s: %w", stream, err)
	}
	return x, err
}

// extract reads all of a stream, and its head. Of a damaged stream it gives what can
// be read, with the damage.
func (s *Store) extract(ctx context.Context, stream string) (*store.Extract, *head, error) {
	var x *store.Extract
	h, err := s.look(ctx, stream, func(h *head) (err error) {
		x, err = s.extractOf(h)
		return err
	})
	if h == nil {
		return nil, nil, err
	}
	var damage *store.DamagedError
	if errors.As(err, &damage) && x == nil { // the head: what does not need it is left
		x = &store.Extract{Stream: stream, Epoch: h.Epoch}
		x.Row, _ = h.Row.listing(stream)
		x.Account = h.exportAccount()
		var berr error
		x.Groups, err = s.salvageJournal(h, 0, allBytes, damage)
		x.Blobs, berr = s.paths.readBlobs(stream)
		err = errors.Join(err, berr)
	}
	return x, h, err
}

// extractOf reads what belongs to a head. Damage of one part keeps nobody from the
// others.
func (s *Store) extractOf(h *head) (*store.Extract, error) {
	x := &store.Extract{Stream: h.Stream, Epoch: h.Epoch, Account: h.exportAccount()}
	var errs [6]error
	x.Row, errs[0] = h.Row.listing(h.Stream)
	x.Groups, errs[1] = s.readJournal(h, 0, allBytes)
	x.Mail, errs[2] = s.paths.readMail(h, 0)
	x.Blobs, errs[3] = s.paths.readBlobs(h.Stream)
	_, errs[4] = s.paths.readSeen(h)
	if x.Account == nil {
		var a *account
		if a, errs[5] = s.paths.readAccount(h.Stream); a != nil {
			exported := a.export(h.Stream)
			x.Account = &exported
		}
	}
	return x, errors.Join(errs[:]...)
}

func (h *head) exportAccount() *store.Account {
	if h.Account == nil {
		return nil
	}
	a := h.Account.export(h.Stream)
	return &a
}

// readBlobs reads all values of a stream that verify.
func (p paths) readBlobs(stream string) ([]store.NewBlob, error) {
	names, err := readNames(p.at(inStream(stream, blobsDir)))
	if err != nil {
		return nil, fmt.Errorf("read blobs: %w", err)
	}
	slices.Sort(names)
	var blobs []store.NewBlob
	var errs []error
	for _, id := range names {
		data, err := p.readBlob(stream, id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		blobs = append(blobs, store.NewBlob{ID: id, Data: data})
	}
	return blobs, errors.Join(errs...)
}

// Raw implements [store.Keeper].
func (s *Store) Raw(ctx context.Context, stream string, w io.Writer) error {
	err := s.certain(ctx, func() error { return nil }) // what is committed is applied
	if err == nil {
		err = s.paths.copyJournal(stream, w)
	}
	if err != nil {
		return fmt.Errorf("read stream %s raw: %w", stream, err)
	}
	return nil
}

func (p paths) copyJournal(stream string, w io.Writer) error {
	if _, err := os.Stat(p.at(streamDir(stream))); missing(err) {
		return store.ErrNotFound
	}
	f, err := os.Open(p.at(inStream(stream, journalFile)))
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}
