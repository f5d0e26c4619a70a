package file

import "github.com/culm-dev/culm/store/internal/watch"

// lookout looks for commits of other processes: for what the log holds that it did
// not when it looked last.
type lookout struct {
	s    *Store
	seen position // up to here
	e    epoch
}

func (s *Store) newLookout() watch.Lookout { return &lookout{s: s} }

// Close implements watch.Lookout.
func (*lookout) Close() {}

// Look implements watch.Lookout. Where the log began anew since, it does not tell who
// changed.
func (l *lookout) Look() (streams []string, all bool) {
	if l.s.begin() != nil {
		return nil, false
	}
	defer l.s.end()
	a, err := l.s.settle()
	if a == nil || err != nil {
		return nil, false
	}
	m, ok := readMark(a.applied)
	switch {
	case !ok || m.position == l.seen:
		return nil, false
	case m.epoch != l.e.number:
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
