package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/internal/group"
	"github.com/culm-dev/culm/store/internal/handle"
	"github.com/culm-dev/culm/store/internal/localfs"
	"github.com/culm-dev/culm/store/internal/watch"
	"modernc.org/sqlite"
)

// Options adjusts a store. The zero value is what most programs want.
type Options struct {
	// BusyTimeout is how long a commit waits for another process that holds the
	// database, such as a backup tool. Default 60 s.
	BusyTimeout time.Duration
	// PollInterval is how often a store with watchers looks for commits of
	// other processes. Default 50 ms; more than 250 ms breaks the promise of
	// [store.Store.Watch].
	PollInterval time.Duration
	// Clock dates mail and copies. Default [time.Now].
	Clock func() time.Time
	// Repair opens a database with damaged pages too, for a [store.Keeper] to look
	// at it and copy what reads. Such a handle writes nothing: its commits are
	// refused with [store.ErrPoisoned].
	Repair bool
}

func (o Options) withDefaults() Options {
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 60 * time.Second
	}
	if o.PollInterval <= 0 {
		o.PollInterval = 50 * time.Millisecond
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return o
}

// Store is one handle on a database; see [store.Store] for its methods. Several
// handles in one process exclude each other as processes do.
type Store struct {
	paths paths
	opt   Options
	id    string // this handle as an owner

	indexEvery int64 // see journal.go; less only in tests
	// draft is a database that is thrown away unless it is finished and synced as a
	// whole: its commits are not synced.
	draft bool

	queue   group.Queue[*request]
	readers readers
	locks   locks
	watches *watch.Watches

	writing sync.Mutex // guards writer, and is held by whoever uses it
	writer  *writer    // nil until the first commit that needs it

	state handle.State
}

var _ store.Store = (*Store)(nil)

// Open opens the store in the SQLite file at path, which need not exist: Open
// writes nothing, and the file is made by the first commit that stores
// something. It refuses network file systems, and a database of a newer format
// with [store.ErrNewerFormat].
func Open(ctx context.Context, path string, opt Options) (*Store, error) {
	// Both are settings of the process, without effect if they are on already.
	// Where the platform has no such thing SQLite's own way is as safe, slower.
	_, _ = sqlite.OFDLocking(true)
	_, _ = sqlite.Fdatasync(true)

	p, err := newPaths(path)
	if err != nil {
		return nil, err
	}
	if err := localfs.RefuseNetwork(p.dir); err != nil {
		return nil, err
	}
	id, err := handle.NewID()
	if err != nil {
		return nil, err
	}
	s := &Store{paths: p, opt: opt.withDefaults(), id: id, indexEvery: indexEvery}
	s.readers.open(s)
	s.locks.open(s)
	s.watches = watch.New(s.opt.PollInterval, s.newLookout)
	if s.opt.Repair {
		_ = s.state.Poison(errors.New("it was opened for repair"))
	}
	c, err := s.readers.get(ctx)
	switch {
	case err == nil:
		s.readers.put(c, nil)
	case !s.opt.Repair || !corrupt(err):
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Owner is this handle's id, as it appears in [store.Owner].
func (s *Store) Owner() string { return s.id }

// setPoison ends this handle's commits, and with them its ownership: others may
// take over what it can no longer work on.
func (s *Store) setPoison(cause error) error {
	return errors.Join(s.state.Poison(cause), s.locks.Close())
}

// Close implements [store.Store].
func (s *Store) Close() error {
	if s.state.Close() {
		return nil
	}
	s.watches.Close()
	var errs []error
	if w := s.writer; w != nil { // nobody else is left who could change it
		errs = append(errs, w.wal.close(), w.close())
		s.writer = nil
	}
	errs = append(errs, s.readers.close(), s.locks.Close())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}
