package sqlite

import (
	"errors"
	"strconv"

	"github.com/culm-dev/culm/store"
)

// Abandon ends a handle without Close, as far as that can be done inside a
// living process: its owner lock goes, and its files stay as they are.
func (s *Store) Abandon() error {
	s.state.Close()
	s.watches.Close()
	var errs []error
	if w := s.writer; w != nil {
		errs = append(errs, w.wal.close(), w.close())
		s.writer = nil
	}
	return errors.Join(append(errs, s.readers.close(), s.locks.Abandon())...)
}

// LimitPages lets the writing connection's database grow to n pages, after
// which it is full.
func (s *Store) LimitPages(n int) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if _, err := s.openWriter(); err != nil {
		return err
	}
	_, err := s.writer.conn.exec("PRAGMA max_page_count = " + strconv.Itoa(n))
	return err
}

// Group commits batches as one group and returns their results.
func (s *Store) Group(batches ...*store.Batch) []error {
	group := make([]*request, len(batches))
	for i, b := range batches {
		group[i] = newRequest(b, s.opt.Clock())
	}
	s.commitGroup(group)
	errs := make([]error, len(group))
	for i, r := range group {
		errs[i] = r.err
	}
	return errs
}

// ForgetDamage makes the handle as good as new for a test of damage.
func (s *Store) ForgetDamage() {
	s.state.ForgetDamage()
}

// IndexEvery sets after how many commits the journal's index is brought up.
func (s *Store) IndexEvery(n int64) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.indexEvery = n
}
