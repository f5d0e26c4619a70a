// Package memory is a store that lives as long as the process: for tests, and
// for engines whose runs need not survive.
//
// A [Disk] is what would be durable, a [Store] one process's handle on it.
// Several handles on one disk behave as processes on one database do, so that a
// test can kill one and look at what it leaves with another.
package memory

import (
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/culm-dev/culm/store"
)

// Disk is data that handles share. Make one with [New].
type Disk struct {
	generation string // see [store.Identity]

	mu       sync.Mutex
	handles  int
	alive    map[string]bool // owners by id
	streams  map[string]*stream
	accounts map[string]*store.Account
	keys     map[[2]string]store.KeyRecord
	claims   map[string]*claim // claims under way, by stream
	watchers map[string]map[chan struct{}]struct{}
	fail     func(*store.Batch) error
	after    func(*store.Batch)
	now      func() time.Time
}

// stream is everything of one stream.
type stream struct {
	groups       []store.Group
	last         uint64
	owner        string
	epoch        uint64
	row          store.Row
	checkpoint   []byte
	checkpointAt uint64
	mail         []store.Mail
	mailLast     uint64
	seen         map[string][]byte // bodies of all mail ever posted, by id
	blobs        map[string][]byte
}

// New makes an empty disk.
func New() *Disk {
	return &Disk{
		generation: rand.Text(),

		alive:    make(map[string]bool),
		streams:  make(map[string]*stream),
		accounts: make(map[string]*store.Account),
		keys:     make(map[[2]string]store.KeyRecord),
		claims:   make(map[string]*claim),
		watchers: make(map[string]map[chan struct{}]struct{}),
		now:      time.Now,
	}
}

// Fail sets what is asked before a commit takes effect: an error refuses the
// batch, which leaves no trace. It is called with the disk locked and must not
// use it. nil takes it away.
func (d *Disk) Fail(f func(*store.Batch) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = f
}

// After sets what is called when a commit took effect, before Commit returns
// to its caller; the disk is not locked. If it abandons the handle, that Commit
// returns [store.ErrClosed] although its batch is there: a process that dies
// between the sync and the reply. nil takes it away.
func (d *Disk) After(f func(*store.Batch)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.after = f
}

// Clock sets the clock that dates mail, [time.Now] without it.
func (d *Disk) Clock(now func() time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = now
}

// Open gives a new handle.
func (d *Disk) Open() *Store {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handles++
	s := &Store{disk: d, id: fmt.Sprintf("memory-%d", d.handles)}
	d.alive[s.id] = true
	return s
}

// Store is one handle on a disk.
type Store struct {
	disk *Disk
	id   string

	commits sync.WaitGroup // under way
}

var _ store.Store = (*Store)(nil)

// Owner is this handle's id, as it appears in [store.Owner].
func (s *Store) Owner() string { return s.id }

// Abandon makes the handle as dead as if its process had been killed: its
// streams have a dead owner, its claims are gone, and whoever still uses it gets
// [store.ErrClosed].
func (s *Store) Abandon() {
	d := s.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.alive, s.id)
	for _, c := range d.claims {
		if c.s == s {
			c.drop()
		}
	}
}

// Close implements [store.Store].
func (s *Store) Close() error {
	s.disk.mu.Lock()
	delete(s.disk.alive, s.id)
	s.disk.mu.Unlock()
	s.commits.Wait()
	return nil
}

// lock locks the disk for a call on this handle.
func (s *Store) lock() error {
	s.disk.mu.Lock()
	if !s.disk.alive[s.id] {
		s.disk.mu.Unlock()
		return store.ErrClosed
	}
	return nil
}

// Watch implements [store.Store].
func (s *Store) Watch(name string) (<-chan struct{}, func()) {
	d := s.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	ch := make(chan struct{}, 1)
	if d.watchers[name] == nil {
		d.watchers[name] = make(map[chan struct{}]struct{})
	}
	d.watchers[name][ch] = struct{}{}
	return ch, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.watchers[name], ch)
		if len(d.watchers[name]) == 0 {
			delete(d.watchers, name)
		}
	}
}

func (d *Disk) signal(name string) {
	for ch := range d.watchers[name] {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
