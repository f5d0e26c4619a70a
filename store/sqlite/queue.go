package sqlite

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/culm-dev/culm/store"
)

// Limits of one group, so that one commit does not grow without bound.
const (
	maxGroup      = 512
	maxGroupBytes = 32 << 20
)

// request is one batch on its way.
type request struct {
	batch  *store.Batch
	events []string // of each append, joined to what the journal stores
	bytes  int
	at     time.Time
	err    error // the result; valid once done is closed
	done   chan struct{}
	lead   chan struct{} // closed when this request's caller is to run the next group
}

func newRequest(b *store.Batch, now time.Time) *request {
	r := &request{batch: b, at: now, done: make(chan struct{}), lead: make(chan struct{})}
	r.events = make([]string, len(b.Appends))
	for i := range b.Appends {
		r.events[i] = string(bytes.Join(b.Appends[i].Events, []byte{'\n'}))
		r.bytes += len(r.events[i]) + len(b.Appends[i].Checkpoint)
	}
	for i := range b.Blobs {
		r.bytes += len(b.Blobs[i].Data)
	}
	for i := range b.Posts {
		r.bytes += len(b.Posts[i].Body)
	}
	return r
}

// queue forms groups: what arrives while one group commits is the next group.
// No goroutine of its own stands behind it. The first caller that finds nobody
// leading runs the group itself, which spares a lone committer two switches of
// goroutine; when it is through it hands the lead to a caller that waits.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	leading bool
}

// join queues a request and tells whether its caller leads the next group.
func (q *queue) join(r *request) (leads bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, r)
	leads = !q.leading
	q.leading = true
	return leads
}

// take removes the next group.
func (q *queue) take() []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, size := 0, 0
	for n < len(q.waiting) && n < maxGroup && (n == 0 || size+q.waiting[n].bytes <= maxGroupBytes) {
		size += q.waiting[n].bytes
		n++
	}
	group := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	if len(q.waiting) == 0 {
		q.waiting = nil
	}
	return group
}

// handOver ends a lead: the first who waits leads on.
func (q *queue) handOver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.leading = false
		return
	}
	close(q.waiting[0].lead)
}

// leave withdraws a request that no group has taken yet.
func (q *queue) leave(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, w := range q.waiting {
		if w == r {
			q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// Commit implements [store.Store].
func (s *Store) Commit(ctx context.Context, b *store.Batch) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	if err := b.Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.poisoned(); err != nil {
		return err
	}
	r := newRequest(b, s.opt.Clock())
	if s.queue.join(r) {
		return s.lead(r)
	}
	select {
	case <-r.done:
		return r.err
	case <-r.lead:
		return s.lead(r)
	case <-ctx.Done():
	}
	if !s.queue.leave(r) {
		<-r.done // taken up already: the truth is what becomes of it
		return r.err
	}
	select {
	case <-r.lead: // asked to lead while leaving: somebody else must
		s.queue.handOver()
	default:
	}
	return ctx.Err()
}

// lead runs the group at the head of the queue, which r is part of.
func (s *Store) lead(r *request) error {
	group := s.queue.take()
	s.commitGroup(group)
	s.queue.handOver()
	for _, g := range group {
		close(g.done)
	}
	return r.err
}
