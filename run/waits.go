package run

import (
	"container/heap"
	"slices"
	"time"
)

// waitIndex finds the first and the last of the open waits without looking at all
// of them: a run may sleep in ten thousand places. It is derived from Clock.Waits,
// and no part of a checkpoint. Entries of waits that are over stay behind until
// they come to the top, or are the larger part.
type waitIndex struct {
	open        map[string]time.Time // is Clock.Waits
	first, last waitHeap
	endless     int // how many open waits have no deadline
}

// waitEntry is a wait as it was opened.
type waitEntry struct {
	id       string
	deadline time.Time
}

func newWaitIndex(open map[string]time.Time) *waitIndex {
	w := &waitIndex{open: open, first: waitHeap{sign: 1}, last: waitHeap{sign: -1}}
	for id, deadline := range open {
		w.add(waitEntry{id, deadline})
	}
	return w
}

func (w *waitIndex) add(e waitEntry) {
	if e.deadline.IsZero() {
		w.endless++
		return
	}
	heap.Push(&w.first, e)
	heap.Push(&w.last, e)
}

// remove ends a wait.
func (w *waitIndex) remove(id string) {
	deadline, open := w.open[id]
	if !open {
		return
	}
	delete(w.open, id)
	if deadline.IsZero() {
		w.endless--
		return
	}
	w.first.trim(w.open)
	w.last.trim(w.open)
}

// openWait books that the step waits until the deadline; zero for no end.
func (s *State) openWait(id string, deadline time.Time) {
	if s.waiting == nil {
		s.Clock.Waits = make(map[string]time.Time)
		s.waiting = newWaitIndex(s.Clock.Waits)
	}
	s.waiting.remove(id)
	s.Clock.Waits[id] = deadline
	s.waiting.add(waitEntry{id, deadline})
}

// closeWait books that the step's wait is over, if it had one.
func (s *State) closeWait(id string) {
	if s.waiting != nil {
		s.waiting.remove(id)
	}
}

// WakeAt is when the first of the open waits falls due; zero if none does.
func (s *State) WakeAt() time.Time {
	if s.waiting == nil {
		return time.Time{}
	}
	return s.waiting.first.top()
}

// lastWait is when the last of the open waits is over; zero if one has no end.
func (s *State) lastWait() time.Time {
	if s.waiting == nil || s.waiting.endless > 0 {
		return time.Time{}
	}
	return s.waiting.last.top()
}

// waitHeap has the earliest deadline on top if sign is 1, the latest if it is -1.
// The top is an open wait.
type waitHeap struct {
	entries []waitEntry
	sign    int
}

func (h *waitHeap) top() time.Time {
	if len(h.entries) == 0 {
		return time.Time{}
	}
	return h.entries[0].deadline
}

// trim drops what is over: at the top always, elsewhere when it is the larger part.
func (h *waitHeap) trim(open map[string]time.Time) {
	over := func(e waitEntry) bool {
		deadline, ok := open[e.id]
		return !ok || !deadline.Equal(e.deadline)
	}
	if len(h.entries) > 2*len(open)+8 {
		h.entries = slices.DeleteFunc(h.entries, over)
		heap.Init(h)
	}
	for len(h.entries) > 0 && over(h.entries[0]) {
		heap.Pop(h)
	}
}

// Len implements heap.Interface.
func (h *waitHeap) Len() int { return len(h.entries) }

// Less implements heap.Interface.
func (h *waitHeap) Less(i, j int) bool {
	return h.entries[i].deadline.Compare(h.entries[j].deadline)*h.sign < 0
}

// Swap implements heap.Interface.
func (h *waitHeap) Swap(i, j int) { h.entries[i], h.entries[j] = h.entries[j], h.entries[i] }

// Push implements heap.Interface.
func (h *waitHeap) Push(x any) { h.entries = append(h.entries, x.(waitEntry)) }

// Pop implements heap.Interface.
func (h *waitHeap) Pop() any {
	last := len(h.entries) - 1
	e := h.entries[last]
	h.entries[last] = waitEntry{}
	h.entries = h.entries[:last]
	return e
}
