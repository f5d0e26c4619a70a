package file

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
	"github.com/culm-dev/culm/store/internal/owner"
	"github.com/culm-dev/culm/store/internal/watch"
)

// Options adjusts a store. The zero value is what most programs want.
type Options struct {
	// BusyTimeout is how long a commit waits for its turn among the processes that
	// write. Default 60 s.
	BusyTimeout time.Duration
	// PollInterval is how often a store with watchers looks for commits of other
	// processes. Default 50 ms; more than 250 ms breaks the promise of
	// [store.Store.Watch].
	PollInterval time.Duration
	// Clock dates mail. Default [time.Now].
	Clock func() time.Time

	// Repair opens a store to be examined and salvaged, whatever is wrong with its
	// files. Commits are refused with [store.ErrPoisoned].
	Repair bool

	disk disk        // nil for the real one; another only in tests
	hook func(point) // called where a process may die; nil outside of tests
	trim int64       // length of the redo log at which it begins anew
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
	if o.disk == nil {
		o.disk = osDisk{}
	}
	if o.hook == nil {
		o.hook = func(point) {}
	}
	if o.trim == 0 {
		o.trim = trimBytes
	}
	return o
}

// point is a place in a commit at which a test may let the process die.
type point string

const (
	pointWritten point = "the record is written and not synced"
	pointSynced  point = "the record is synced and nothing of it is applied"
	pointHalf    point = "half of the record is applied"
	pointApplied point = "the record is applied and not marked so"
	pointReset   point = "the redo log is about to begin anew"
)

// Store is one handle on a folder; see [store.Store] for its methods. Several
// handles in one process exclude each other as processes do.
type Store struct {
	paths paths
	opt   Options
	id    string // this handle as an owner

	queue   group.Queue[*request]
	locks   *owner.Locks
	watches *watch.Watches
	listing listing
	places  places
	news    news
	spares  spares

	attaching sync.Mutex
	attached  *attached // nil until there is a store; guarded by attaching

	writing sync.Mutex // guards writer, and is held by whoever uses it
	writer  *writer    // nil until the first commit that needs it

	state handle.State
}

var (
	_ store.Store  = (*Store)(nil)
	_ store.Keeper = (*Store)(nil)
)

// Open opens the store in the folder dir, which need not exist: Open makes nothing,
// and the folder is made by the first commit that stores something. The first handle
// to open it after all others have died completes what they left half done. It
// refuses network file systems, and a store of a newer format with
// [store.ErrNewerFormat].
func Open(ctx context.Context, dir string, opt Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := newPaths(dir)
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
	s := &Store{paths: p, opt: opt.withDefaults(), id: id}
	s.spares.s = s
	if s.opt.Repair {
		_ = s.state.Poison(errors.New("it was opened for repair"))
	}
	s.locks = owner.New(p.locks, id, s.named)
	s.watches = watch.New(s.opt.PollInterval, s.newLookout)
	if _, err := s.attach(); err != nil {
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

// Watch implements [store.Store].
func (s *Store) Watch(stream string) (<-chan struct{}, func()) { return s.watches.Watch(stream) }

// Close implements [store.Store].
func (s *Store) Close() error {
	if s.state.Close() {
		return nil
	}
	s.watches.Close()
	var errs []error
	if w := s.writer; w != nil { // nobody else is left who could change it
		w.trimmer.close()
		s.spares.close()
		errs = append(errs, s.tidy(w), w.close())
		s.writer = nil
	}
	errs = append(errs, s.locks.Close(), s.detach())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}
