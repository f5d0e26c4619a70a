package sqlite

import (
	"context"
	"database/sql/driver"
	"sync"
	"time"
)

// watches tells whoever watches a stream that it changed: at once for commits
// of this handle, by polling for those of others. The one goroutine that polls
// lives while there are watchers, and a little longer: runs come and go.
type watches struct {
	s       *Store
	mu      sync.Mutex
	streams map[string]map[chan struct{}]struct{}
	count   int
	poller  *poller
	closed  bool
}

func (w *watches) open(s *Store) {
	w.s = s
	w.streams = make(map[string]map[chan struct{}]struct{})
}

// Watch implements [store.Store].
func (s *Store) Watch(stream string) (<-chan struct{}, func()) {
	w := &s.watches
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
		w.poller = startPoller(s)
	}
	return ch, sync.OnceFunc(func() { w.stop(stream, ch) })
}

// stop ends one watch.
func (w *watches) stop(stream string, ch chan struct{}) {
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
func (w *watches) watched(p *poller) (look, end bool) {
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

func (w *watches) close() {
	w.mu.Lock()
	w.closed = true
	p := w.poller
	w.poller = nil
	w.mu.Unlock()
	if p != nil {
		p.close()
	}
}

// signal wakes the watchers of some streams.
func (w *watches) signal(streams []string) {
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
func (w *watches) signalAll() {
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

// poller looks for commits of other processes.
type poller struct {
	s    *Store
	stop context.CancelFunc
	done chan struct{}

	// unwatched counts the looks left out since there were watchers; it belongs
	// to watches.mu.
	unwatched int

	conn    *conn
	version int64 // PRAGMA data_version, which every commit of another connection changes
	commits int64 // greatest commits.id seen
	mail    int64 // greatest mail.id ever given, as seen
}

func startPoller(s *Store) *poller {
	ctx, cancel := context.WithCancel(context.Background())
	p := &poller{s: s, stop: cancel, done: make(chan struct{}), version: -1}
	go p.loop(ctx)
	return p
}

func (p *poller) close() {
	p.stop()
	<-p.done
}

func (p *poller) loop(ctx context.Context) {
	defer close(p.done)
	tick := time.NewTicker(p.s.opt.PollInterval)
	defer tick.Stop()
	defer func() {
		if p.conn != nil {
			_ = p.conn.close()
		}
	}()
	for {
		look, end := p.s.watches.watched(p)
		if end {
			return
		}
		if look {
			p.poll()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// poll looks once. When it cannot tell who has cause it wakes everybody; the
// first look, whose beginning nobody knows, is such a case.
func (p *poller) poll() {
	if p.conn == nil {
		there, err := p.s.paths.exists()
		if err != nil || !there {
			return
		}
		if p.conn, err = p.s.readers.dialFile(context.Background()); err != nil {
			p.conn = nil
			return
		}
		p.version = -1
	}
	first := p.version == -1
	changed, err := p.changed()
	if err == nil && !changed {
		return
	}
	var streams []string
	if err == nil {
		streams, err = p.look(first)
	}
	if err != nil {
		_ = p.conn.close()
		p.conn = nil
	}
	if err != nil || first {
		p.s.watches.signalAll()
		return
	}
	p.s.watches.signal(streams)
}

func (p *poller) changed() (changed bool, err error) {
	err = p.conn.query(context.Background(), `PRAGMA data_version`, nil, func(v []driver.Value) error {
		version, _ := v[0].(int64)
		changed = version != p.version
		p.version = version
		return nil
	})
	return changed, err
}

const selectChanged = `SELECT name FROM streams WHERE id IN (
	SELECT stream FROM commits WHERE id > ? UNION SELECT stream FROM mail WHERE id > ?)`

// look names the streams that have commits or mail not seen before; the first
// look only takes note of what there is.
func (p *poller) look(first bool) (streams []string, err error) {
	ctx := context.Background()
	if _, err := p.conn.exec(`BEGIN`); err != nil {
		return nil, err
	}
	if !first {
		err = p.conn.query(ctx, selectChanged, []any{p.commits, p.mail}, func(v []driver.Value) error {
			name, _ := v[0].(string)
			streams = append(streams, name)
			return nil
		})
	}
	if err == nil {
		err = p.conn.query(ctx, `SELECT (SELECT max(id) FROM commits), (SELECT seq FROM sqlite_sequence WHERE name = 'mail')`, nil,
			func(v []driver.Value) error {
				p.commits, _ = v[0].(int64)
				p.mail, _ = v[1].(int64)
				return nil
			})
	}
	if _, rerr := p.conn.exec(`ROLLBACK`); err == nil {
		err = rerr
	}
	return streams, err
}
