package run

import "time"

// Clock is the part of the state that knows how much wall time is left. Time
// durably spent waiting (for a person, an event, a sleep, a verdict on a step in
// doubt) while no call was in flight moves the deadline; time offline does not.
type Clock struct {
	// Base is the deadline without the waiting since Base was set.
	Base time.Time `json:"base"`
	// Waited is in nanoseconds.
	Waited int64 `json:"waited_ns,omitzero"`
	// At is when the waiting was last added up.
	At time.Time `json:"at"`
	// Calls is how many calls are in flight, as far as the journal knows.
	Calls int `json:"calls,omitzero"`
	// Waits are the open waits' deadlines, by step instance; zero for none.
	Waits map[string]time.Time `json:"waits,omitzero"`
}

// Deadline is when the run's wall time is over, as seen at now.
func (s *State) Deadline(now time.Time) time.Time {
	return s.Clock.Base.Add(time.Duration(s.Clock.Waited) + s.waitingUntil(now))
}

// Expiry is when the wall time will be over if no event comes before; zero while
// only an event can bring that nearer, because the run waits.
func (s *State) Expiry(now time.Time) time.Time {
	c := &s.Clock
	if c.Calls > 0 || (s.Doubts == 0 && len(c.Waits) == 0) {
		return s.Deadline(now)
	}
	last := s.lastWait()
	if s.Doubts > 0 || last.IsZero() {
		return time.Time{}
	}
	return s.Deadline(last)
}

// waitingUntil is how much of the time since Clock.At was spent waiting.
func (s *State) waitingUntil(now time.Time) time.Duration {
	c := &s.Clock
	if c.Calls > 0 || s.Status.Terminal() {
		return 0
	}
	if s.Doubts == 0 {
		if len(c.Waits) == 0 {
			return 0
		}
		if last := s.lastWait(); !last.IsZero() && last.Before(now) {
			now = last
		}
	}
	return max(0, now.Sub(c.At))
}

// tick adds up the waiting before an event at the given time changes anything.
func (s *State) tick(at time.Time) {
	s.Clock.Waited += int64(s.waitingUntil(at))
	if at.After(s.Clock.At) {
		s.Clock.At = at
	}
}
