package file

import (
	"errors"

	"github.com/culm-dev/culm/store"
)

// Abandon ends a handle without Close, as far as that can be done inside a living
// process: its locks go, and its files stay as they are.
func (s *Store) Abandon() error {
	s.state.Lock()
	s.state.closed = true
	s.state.Unlock()
	s.state.inFlight.Wait()
	s.watches.Close()
	var errs []error
	if w := s.writer; w != nil {
		w.trimmer.close()
		errs = append(errs, w.close())
		s.writer = nil
	}
	return errors.Join(append(errs, s.locks.Abandon(), s.detach())...)
}

// Group commits batches as one group and returns their results.
func (s *Store) Group(batches ...*store.Batch) []error {
	members := make([]*request, len(batches))
	for i, b := range batches {
		members[i] = newRequest(b, s.opt.Clock())
	}
	s.commitGroup(members)
	errs := make([]error, len(members))
	for i, r := range members {
		errs[i] = r.err
	}
	return errs
}
