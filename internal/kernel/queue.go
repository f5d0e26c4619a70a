package kernel

import (
	"container/heap"
	"container/list"
	"slices"
	"strings"
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
	f.timer = m.timers.add(at, f)
}

// unwant takes the frame out of whatever it waits in. Queues' entries stay behind
// and are passed over, so that this costs nothing.
func (m *Machine) unwant(f *frame) {
	if f.timer != nil {
		m.timers.remove(f.timer)
		f.timer = nil
	}
	if f.queue != nil {
		f.queue.live--
		f.queue = nil
	}
	f.want = wantNothing
	f.ticket++
}

func (m *Machine) queueOf(f *frame, w want) *queue {
	switch {
	case w == wantFinish || w == wantCancel:
		return &m.ends
	case w == wantStart && f.takesSlot():
		return &m.calls
	}
	return &m.others
}

// ripen moves what is due by now into the queues.
func (m *Machine) ripen(now time.Time) {
	for {
		at, f := m.timers.first()
		if f == nil || at.After(now) {
			return
		}
		w := f.want
		m.unwant(f)
		m.request(f, w)
	}
}

// Wake is when something falls due next; zero if nothing does.
func (m *Machine) Wake() time.Time {
	at, _ := m.timers.first()
	return at
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

// each visits frames from the front, without taking them out, until visit is false.
func (q *queue) each(visit func(*frame) bool) {
	q.trim()
	for _, e := range q.entries {
		if e.valid(q) && !visit(e.f) {
			return
		}
	}
}

// first gives up to n frames from the front, without taking them out.
func (q *queue) first(n int) []*frame {
	if n <= 0 || q.live == 0 {
		return nil
	}
	frames := make([]*frame, 0, min(n, q.live))
	q.each(func(f *frame) bool {
		frames = append(frames, f)
		return len(frames) < n
	})
	return frames
}

func (e entry) valid(q *queue) bool { return e.f.queue == q && e.f.ticket == e.ticket }

// trim drops what is passed over: at the front always, elsewhere when it is the
// larger part.
func (q *queue) trim() {
	if q.live == 0 {
		clear(q.entries)
		q.entries = q.entries[:0]
		return
	}
	for !q.entries[0].valid(q) {
		q.entries[0] = entry{}
		q.entries = q.entries[1:]
	}
	if len(q.entries) > 2*q.live {
		q.entries = slices.DeleteFunc(q.entries, func(e entry) bool { return !e.valid(q) })
	}
}

// timers are what waits for a time: the earliest first, and of equal ones the one
// that was added first.
type timers struct {
	heap  timerHeap
	added int
}

type timer struct {
	at    time.Time
	order int
	index int // in the heap
	f     *frame
}

func (t *timers) add(at time.Time, f *frame) *timer {
	t.added++
	added := &timer{at: at, order: t.added, f: f}
	heap.Push(&t.heap, added)
	return added
}

func (t *timers) remove(old *timer) { heap.Remove(&t.heap, old.index) }

// first is what falls due first; nil if nothing does.
func (t *timers) first() (time.Time, *frame) {
	if len(t.heap) == 0 {
		return time.Time{}, nil
	}
	return t.heap[0].at, t.heap[0].f
}

func (t *timers) none() bool { return len(t.heap) == 0 }

type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	if c := h[i].at.Compare(h[j].at); c != 0 {
		return c < 0
	}
	return h[i].order < h[j].order
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}

// skip is a leaf to be recorded as skipped.
type skip struct{ id, reason string }

// skipList is in the order in which the plan skipped them.
type skipList struct {
	order *list.List // of skip
	at    map[string]*list.Element
}

func newSkipList() skipList { return skipList{order: list.New(), at: make(map[string]*list.Element)} }

func (l *skipList) add(s skip) {
	if l.at[s.id] == nil {
		l.at[s.id] = l.order.PushBack(s)
	}
}

func (l *skipList) remove(id string) bool {
	e := l.at[id]
	if e == nil {
		return false
	}
	l.order.Remove(e)
	delete(l.at, id)
	return true
}

// each visits the skips in order until visit is false.
func (l *skipList) each(visit func(skip) bool) {
	for e := l.order.Front(); e != nil; e = e.Next() {
		if !visit(e.Value.(skip)) {
			return
		}
	}
}

// any reports whether a step under the prefix is among them.
func (l *skipList) any(prefix string) (found bool) {
	l.each(func(s skip) bool {
		found = strings.HasPrefix(s.id, prefix)
		return !found
	})
	return found
}

func (l *skipList) empty() bool { return l.order.Len() == 0 }
