package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/culm-dev/culm/store"
)

// Readers take no lock. Files change under them only in a turn, and each of them
// verifies, so that what was read while somebody wrote shows: as a checksum that does
// not match, as files that contradict each other, or as a head that is another one
// afterwards. Then it is read again; and what still does not fit is read once more by
// who has the turn, when nobody writes. Only that is damage.

// looks is how often something is read before the turn is taken for it.
const looks = 4

// look reads a stream's head, and by f what belongs to it, as one consistent look.
// [store.ErrNotFound] if there is no such stream; of a damaged head what can be read
// is returned with the error, and f is not called.
func (s *Store) look(ctx context.Context, stream string, f func(*head) error) (*head, error) {
	if err := s.state.Begin(); err != nil {
		return nil, err
	}
	defer s.state.End()
	a, err := s.settle()
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, store.ErrNotFound
	}
	for range looks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, raw, err := s.lookOnce(stream, f)
		if h == nil && err == nil {
			return nil, store.ErrNotFound
		}
		if err == nil && s.unchanged(stream, raw) {
			return h, nil
		}
	}
	h, _, err := s.lookInTurn(stream, f)
	if h == nil && err == nil {
		err = store.ErrNotFound
	}
	return h, err
}

func (s *Store) lookOnce(stream string, f func(*head) error) (*head, []byte, error) {
	h, raw, err := s.paths.readHead(stream)
	if h == nil || err != nil {
		return h, raw, err
	}
	return h, raw, f(h)
}

// unchanged tells whether a head is still what it was read as.
func (s *Store) unchanged(stream string, raw []byte) bool {
	now, err := os.ReadFile(s.paths.at(inStream(stream, headFile)))
	return err == nil && bytes.Equal(now, raw)
}

// lookInTurn is lookOnce while nobody writes.
func (s *Store) lookInTurn(stream string, f func(*head) error) (h *head, raw []byte, err error) {
	terr := s.inTurn(func() { h, raw, err = s.lookOnce(stream, f) })
	if terr != nil {
		return nil, nil, terr
	}
	return h, raw, err
}

// inTurn calls f while nobody writes. Where this handle cannot take the turn because
// nothing can be written, nobody does.
func (s *Store) inTurn(f func()) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.state.Poisoned() != nil {
		f()
		return nil
	}
	w, err := s.openWriter()
	if errors.Is(err, os.ErrPermission) || readOnly(err) {
		f()
		return nil
	}
	if err != nil {
		return fmt.Errorf("take the turn: %w", err)
	}
	if err := w.turnstile.Enter(s.opt.BusyTimeout); err != nil {
		return err
	}
	if err = w.catchUp(); err == nil {
		f()
	}
	return errors.Join(err, w.turnstile.Leave())
}

// certain reads what stands in one file, and again in a turn if it does not verify.
func (s *Store) certain(ctx context.Context, read func() error) error {
	if err := s.state.Begin(); err != nil {
		return err
	}
	defer s.state.End()
	if err := ctx.Err(); err != nil {
		return err
	}
	a, err := s.settle()
	if a == nil || err != nil {
		return err
	}
	if read() == nil {
		return nil
	}
	if terr := s.inTurn(func() { err = read() }); terr != nil {
		return terr
	}
	return err
}
