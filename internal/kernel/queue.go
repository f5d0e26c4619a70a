package kernel

import (
	"container/heap"
	"slices"
	"time"
)

// request puts the frame in the queue of what it wants now.
func (m *Machine) request(f *frame, w want) {
	f.want = w
	f.queue = m.queueOf(f, w)
	f.queue.push(f)
}

// requestAt is request from a time on.
func (m *Machine) requestAt(f *frame, w want, at time.Time) {
	f.want = w
	f.timer = &timer{at: at, f: f}
	heap.Push(&m.timers.heap, f.timer)
	m.timers.live++
}

// unwant takes the frame out of whatever it waits in. Entries stay behind and
// are passed over, so that this costs nothing.
func (m *Machine) unwant(f *frame) {
	if f.timer != nil {
		f.timer.f = nil
		f.timer = nil
		m.timers.live--
	}
	if f.queue != nil {
		f.queue.live--
		f.queue = nil
	}
	f.want = wantNothing
	f.ticket++
}

func (m *Machine) queueOf(f *frame, w want) *queue {
	if w == wantStart && f.takesSlot() {
		return &m.calls
	}
	return &m.others
}

// ripen moves what is due by now into the queues.
func (m *Machine) ripen(now time.Time) {
	for len(m.timers.heap) > 0 {
		t := m.timers.heap[0]
		if t.f != nil && t.at.After(now) {
			return
		}
		heap.Pop(&m.timers.heap)
		if f := t.f; f != nil {
			w := f.want
			m.unwant(f)
			m.request(f, w)
		}
	}
}

// Wake is when something falls due next; zero if nothing does.
func (m *Machine) Wake() time.Time {
	for len(m.timers.heap) > 0 && m.timers.heap[0].f == nil {
		heap.Pop(&m.timers.heap)
	}
	if len(m.timers.heap) == 0 {
		return time.Time{}
	}
	return m.timers.heap[0].at
}

// queue is first in, first out; entries whose frame no longer wants what it
// wanted are passed over.
type queue struct {
	entries []entry
	live    int
}

type entry struct {
	f      *frame
	ticket int
}

func (q *queue) push(f *frame) {
	q.entries = append(q.entries, entry{f, f.ticket})
	q.live++
}

// first gives up to n frames from the front, without taking them out.
func (q *queue) first(n int) []*frame {
	q.trim()
	frames := make([]*frame, 0, min(n, q.live))
	for _, e := range q.entries {
		if len(frames) == n {
			break
		}
		if e.valid(q) {
			frames = append(frames, e.f)
		}
	}
	return frames
}

func (e entry) valid(q *queue) bool { return e.f.queue == q && e.f.ticket == e.ticket }

// trim drops what is passed over: at the front always, elsewhere when it is the
// larger part.
func (q *queue) trim() {
	for len(q.entries) > 0 && !q.entries[0].valid(q) {
		q.entries = q.entries[1:]
	}
	if len(q.entries) > 2*q.live {
		q.entries = slices.DeleteFunc(q.entries, func(e entry) bool { return !e.valid(q) })
	}
}

type timer struct {
	at time.Time
	f  *frame // nil once nobody waits for it
}

type timers struct {
	heap timerHeap
	live int
}

type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h timerHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)        { *h = append(*h, x.(*timer)) }
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}

// skip is a leaf to be recorded as skipped.
type skip struct{ id, reason string }

type skipList struct{ ids []skip }

func (l *skipList) add(s skip) {
	if !slices.Contains(l.ids, s) {
		l.ids = append(l.ids, s)
	}
}

func (l *skipList) remove(id string) bool {
	i := slices.IndexFunc(l.ids, func(s skip) bool { return s.id == id })
	if i < 0 {
		return false
	}
	l.ids = slices.Delete(l.ids, i, i+1)
	return true
}
