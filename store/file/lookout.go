package file

import (
	"sync"

	"github.com/culm-dev/culm/store/internal/watch"
)

// lookout looks for commits of other processes: for what the log holds that it did
// not when it looked last.
type lookout struct {
	s      *Store
	seen   position // up to here
	e      epoch
	others uint64 // what news.others was
}

// news tells the lookout what needs no looking: that all since it looked last was
// this handle's own, whose watchers know.
type news struct {
	mu     sync.Mutex
	own    position // where this handle's last commit ended
	others uint64   // how often something else came in between
}

func (n *news) committed(at position) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.own = at
}

func (n *news) foreign() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.others++
}

func (n *news) get() (own position, others uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.own, n.others
}

func (s *Store) newLookout() watch.Lookout { return &lookout{s: s} }

// Close implements watch.Lookout.
func (*lookout) Close() {}

// Look implements watch.Lookout. Where the log began anew since, it does not tell who
// changed.
func (l *lookout) Look() (streams []string, all bool) {
	if l.s.state.Begin() != nil {
		return nil, false
	}
	defer l.s.state.End()
	a, err := l.s.settle()
	if a == nil || err != nil {
		return nil, false
	}
	own, others := l.s.news.get()
	m, ok := readMark(a.applied)
	switch {
	case !ok || m.position == l.seen:
		return nil, false
	case m.position == own && others == l.others && m.epoch == l.e.number:
		l.seen = own
		return nil, false
	}
	l.others = others
	if m.epoch != l.e.number {
		e, err := readEpoch(a.log)
		if err != nil || e.number != m.epoch {
			return nil, true
		}
		l.e, l.seen = e, m.position
		return nil, true
	}
	touched := make(map[string]bool)
	end, err := l.e.scan(a.log, l.seen, m.off, func(r *record) error {
		for i := range r.ops {
			name, ok := unescape(streamOf(r.ops[i].path))
			all = all || !ok
			if name != "" && !touched[name] {
				touched[name] = true
				streams = append(streams, name)
			}
		}
		return nil
	})
	l.seen = m.position
	return streams, all || err != nil || end != m.position
}
