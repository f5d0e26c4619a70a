package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/internal/group"
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

	state struct {
		sync.Mutex
		closed   bool
		poison   error
		inFlight sync.WaitGroup // calls that use connections
		damaged  map[string]string
	}
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
	id, err := newID()
	if err != nil {
		return nil, err
	}
	s := &Store{paths: p, opt: opt.withDefaults(), id: id, indexEvery: indexEvery}
	s.state.damaged = make(map[string]string)
	s.readers.open(s)
	s.locks.open(s)
	s.watches = watch.New(s.opt.PollInterval, s.newLookout)
	if s.opt.Repair {
		s.state.poison = fmt.Errorf("%w: it was opened for repair", store.ErrPoisoned)
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

// newID makes a name that nobody else has.
func newID() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("make id: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// Owner is this handle's id, as it appears in [store.Owner].
func (s *Store) Owner() string { return s.id }

// begin opens a call; end must follow it.
func (s *Store) begin() error {
	s.state.Lock()
	defer s.state.Unlock()
	if s.state.closed {
		return store.ErrClosed
	}
	s.state.inFlight.Add(1)
	return nil
}

func (s *Store) end() { s.state.inFlight.Done() }

func (s *Store) poisoned() error {
	s.state.Lock()
	defer s.state.Unlock()
	return s.state.poison
}

// setPoison ends this handle's commits, and with them its ownership: others may
// take over what it can no longer work on.
func (s *Store) setPoison(cause error) error {
	s.state.Lock()
	if s.state.poison == nil {
		s.state.poison = fmt.Errorf("%w: %w", store.ErrPoisoned, cause)
	}
	poison := s.state.poison
	s.state.Unlock()
	return errors.Join(poison, s.locks.Close())
}

// noteDamage remembers damage that was found in a journal, for Head to tell.
func (s *Store) noteDamage(err error) {
	var d *store.DamagedError
	if !errors.As(err, &d) {
		return
	}
	s.state.Lock()
	defer s.state.Unlock()
	if len(s.state.damaged) < 10_000 { // a courtesy, not worth more memory
		s.state.damaged[d.Stream] = d.Reason
	}
}

func (s *Store) knownDamage(stream string) string {
	s.state.Lock()
	defer s.state.Unlock()
	return s.state.damaged[stream]
}

// Close implements [store.Store].
func (s *Store) Close() error {
	s.state.Lock()
	already := s.state.closed
	s.state.closed = true
	s.state.Unlock()
	s.state.inFlight.Wait()
	if already {
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
