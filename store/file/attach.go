package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/culm-dev/culm/internal/proc"
)

// attached is what a handle holds once there is a store.
type attached struct {
	identity identity
	// live is locked, shared, as long as the handle lives: who can lock it for itself
	// alone is the first since all others died, or the machine did. nil where it
	// cannot be made, which is where nobody can write.
	live *proc.FileLock
	// The redo log and its mark, for reading.
	log, applied *os.File
}

// attach makes sure that the handle is attached; nil if there is no store yet.
func (s *Store) attach() (*attached, error) {
	s.attaching.Lock()
	defer s.attaching.Unlock()
	if s.attached != nil {
		return s.attached, nil
	}
	id, err := s.paths.readFormat()
	if s.opt.Repair && errors.Is(err, errFormatDamaged) {
		id, err = &identity{Format: format, Generation: unknownGeneration}, nil
	}
	if id == nil || err != nil {
		return nil, err
	}
	a := &attached{identity: *id}
	first, err := a.join(s.paths)
	if err != nil {
		return nil, err
	}
	if first {
		err = s.replay()
	}
	if s.opt.Repair && errors.Is(err, errLogDamaged) {
		err = nil
	}
	if err == nil {
		a.log, a.applied, err = s.paths.openForReading()
	}
	if err == nil && first && a.live != nil {
		err = a.live.Shared()
	}
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	s.attached = a
	return a, nil
}

// join takes the lock of the living. first is whether nobody else lives; the lock is
// then held alone.
func (a *attached) join(p paths) (first bool, err error) {
	err = os.Mkdir(p.locks, 0o700)
	if err == nil || errors.Is(err, os.ErrExist) {
		a.live, err = proc.OpenFileLock(filepath.Join(p.locks, "open"))
	}
	if errors.Is(err, os.ErrPermission) || readOnly(err) {
		a.live, err = proc.OpenFileLockIfExists(filepath.Join(p.locks, "open"))
		if missing(err) {
			return true, nil
		}
	}
	if err != nil {
		return false, fmt.Errorf("open lock of the living: %w", err)
	}
	if first, err = a.live.TryLock(); err == nil && !first {
		err = a.live.Shared()
	}
	if err != nil {
		return false, errors.Join(err, a.live.Close())
	}
	return first, nil
}

func (a *attached) close() error {
	var errs []error
	if a.live != nil {
		errs = append(errs, a.live.Close())
	}
	for _, f := range []*os.File{a.log, a.applied} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

func (s *Store) detach() error {
	s.attaching.Lock()
	defer s.attaching.Unlock()
	if s.attached == nil {
		return nil
	}
	err := s.attached.close()
	s.attached = nil
	return err
}

// settle makes sure that what was committed can be read: a record that a dead
// process synced and did not apply is applied. It tells whether there is a store.
func (s *Store) settle() (*attached, error) {
	a, err := s.attach()
	if a == nil || err != nil {
		return nil, err
	}
	m, ok := readMark(a.applied)
	if ok && !m.stuck && !waits(a.log, m.position) || s.state.Poisoned() != nil {
		return a, nil
	}
	// Somebody alive is most likely just committing; then that is not to be waited
	// for, because nobody was told of it. What is stuck, though, was acknowledged.
	return a, s.complete(!m.stuck && ok)
}

// complete enters the turn, which applies what waits. If it is only a try, somebody
// else's turn is no error.
func (s *Store) complete(try bool) error {
	if try {
		if !s.writing.TryLock() {
			return nil
		}
	} else {
		s.writing.Lock()
	}
	defer s.writing.Unlock()
	w, err := s.openWriter()
	if err != nil {
		return fmt.Errorf("complete an unfinished commit: %w", err)
	}
	if try {
		if ok, err := w.turnstile.TryEnter(); !ok || err != nil {
			return err
		}
	} else if err := w.turnstile.Enter(s.opt.BusyTimeout); err != nil {
		return err
	}
	err = w.catchUp()
	return errors.Join(err, w.turnstile.Leave())
}
