package kernel

import "time"

// Pending gives all that waits to be recorded, in no order that means anything:
// what Next would give in the end if each action changed nothing.
func (m *Machine) Pending(now time.Time) []Action {
	m.ripen(now)
	var acts []Action
	m.skips.each(func(s skip) bool {
		acts = append(acts, s.action())
		return true
	})
	for _, q := range []*queue{&m.ends, &m.others, &m.calls} {
		for _, f := range q.first(q.live) {
			acts = append(acts, m.action(f))
		}
	}
	return acts
}

// Dying reports whether the leaf's scope was cancelled.
func (m *Machine) Dying(stepID string) bool {
	f := m.leaves[stepID]
	return f != nil && f.dying
}
