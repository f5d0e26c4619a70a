package file

import (
	"errors"

	"github.com/culm-dev/culm/store"
)

// Abandon ends a handle without Close, as far as that can be done inside a living
// process: its locks go, and its files stay as they are.
func (s *Store) Abandon() error {
	s.state.Close()
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

// ForgetDamage makes the handle as good as new for a test of damage.
func (s *Store) ForgetDamage() {
	s.state.ForgetDamage()
}

// The points at which a process may die.
var Points = []string{string(pointWritten), string(pointSynced), string(pointHalf), string(pointApplied), string(pointReset)}

// Hooked are options with which hook is called at every point, and the redo log begins
// anew whenever it is longer than trim bytes.
func Hooked(hook func(at string), trim int64) Options {
	return Options{hook: func(p point) { hook(string(p)) }, trim: trim}
}

// Trim has the redo log begin anew.
func (s *Store) Trim() error { return s.trim(0, nil) }

// Refill makes spare folders now.
func (s *Store) Refill() { s.spares.refill() }
