// Package watch tells whoever watches a stream that it changed.
package watch

import (
	"context"
	"sync"
	"time"
)

// Lookout looks for commits of other processes. Its methods are called one after
// the other.
type Lookout interface {
	// Look returns the streams that changed since the last call; all if it cannot
	// tell, as in the first.
	Look() (streams []string, all bool)
	// Close is called when nobody watches any more.
	Close()
}

// Watches are the watches of one handle: told at once of its own commits, by a
// lookout of those of others. The one goroutine that polls lives while there are
// watchers, and a little longer: runs come and go. It is safe for concurrent use.
type Watches struct {
	interval time.Duration
	lookout  func() Lookout

	mu      sync.Mutex
	streams map[string]map[chan struct{}]struct{}
	count   int
	poller  *poller
	closed  bool
}

// New makes watches that look for commits of others at an interval.
func New(interval time.Duration, lookout func() Lookout) *Watches {
	return &Watches{interval: interval, lookout: lookout, streams: make(map[string]map[chan struct{}]struct{})}
}

// Watch begins a watch, as [store.Store] has it.
func (w *Watches) Watch(stream string) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ch, func() {}
	}
	if w.streams[stream] == nil {
		w.streams[stream] = make(map[chan struct{}]struct{})
	}
	w.streams[stream][ch] = struct{}{}
	w.count++
	if w.poller == nil {
		w.poller = w.start()
	}
	return ch, sync.OnceFunc(func() { w.stop(stream, ch) })
}

// stop ends one watch.
func (w *Watches) stop(stream string, ch chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.streams[stream], ch)
	if len(w.streams[stream]) == 0 {
		delete(w.streams, stream)
	}
	w.count--
}

// lingerPolls is how many looks the poller leaves out before it ends for want of
// watchers.
const lingerPolls = 20

// watched tells the poller whether to look; once it was not for long enough, the
// poller is to end.
func (w *Watches) watched(p *poller) (look, end bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count > 0 {
		p.unwatched = 0
		return true, false
	}
	p.unwatched++
	if p.unwatched > lingerPolls && w.poller == p {
		w.poller = nil
	}
	return false, w.poller != p
}

// Close ends all watches, and waits for the lookout.
func (w *Watches) Close() {
	w.mu.Lock()
	w.closed = true
	p := w.poller
	w.poller = nil
	w.mu.Unlock()
	if p != nil {
		p.stop()
		<-p.done
	}
}

// Signal wakes the watchers of some streams.
func (w *Watches) Signal(streams []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count == 0 {
		return
	}
	for _, name := range streams {
		wake(w.streams[name])
	}
}

// signalAll wakes everybody, when it is not known who has cause.
func (w *Watches) signalAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, watchers := range w.streams {
		wake(watchers)
	}
}

func wake(watchers map[chan struct{}]struct{}) {
	for ch := range watchers {
		select {
		case ch <- struct{}{}:
		default: // it has a signal that was not taken yet
		}
	}
}

// poller asks a lookout again and again.
type poller struct {
	w    *Watches
	stop context.CancelFunc
	done chan struct{}

	// unwatched counts the looks left out since there were watchers; it belongs
	// to Watches.mu.
	unwatched int
}

func (w *Watches) start() *poller {
	ctx, cancel := context.WithCancel(context.Background())
	p := &poller{w: w, stop: cancel, done: make(chan struct{})}
	go p.loop(ctx, w.lookout())
	return p
}

func (p *poller) loop(ctx context.Context, l Lookout) {
	defer close(p.done)
	defer l.Close()
	tick := time.NewTicker(p.w.interval)
	defer tick.Stop()
	for {
		look, end := p.w.watched(p)
		if end {
			return
		}
		if look {
			p.look(l)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *poller) look(l Lookout) {
	streams, all := l.Look()
	if all {
		p.w.signalAll()
		return
	}
	if len(streams) > 0 {
		p.w.Signal(streams)
	}
}
