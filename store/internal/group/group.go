// Package group forms groups of commits that share one sync.
package group

import (
	"context"
	"sync"

	"github.com/culm-dev/culm/store"
)

// Limits of one group, so that one commit does not grow without bound.
const (
	maxMembers = 512
	maxBytes   = 32 << 20
)

// Ticket is a request's place in the queue; requests embed it.
type Ticket struct {
	size int
	done chan struct{}
	lead chan struct{} // closed when this request's caller is to run the next group
}

// NewTicket makes the ticket of a batch.
func NewTicket(b *store.Batch) Ticket {
	return Ticket{size: size(b), done: make(chan struct{}), lead: make(chan struct{})}
}

// size is about how many bytes a batch stores.
func size(b *store.Batch) int {
	n := 0
	for i := range b.Appends {
		for _, e := range b.Appends[i].Events {
			n += len(e) + 1
		}
		n += len(b.Appends[i].Checkpoint)
	}
	for i := range b.Blobs {
		n += len(b.Blobs[i].Data)
	}
	for i := range b.Posts {
		n += len(b.Posts[i].Body)
	}
	return n
}

func (t *Ticket) ticket() *Ticket { return t }

// Member is a request: what embeds a [Ticket].
type Member interface{ ticket() *Ticket }

// Queue forms groups: what arrives while one group commits is the next group.
// No goroutine of its own stands behind it. The first caller that finds nobody
// leading runs the group itself, which spares a lone committer two switches of
// goroutine; when it is through it hands the lead to a caller that waits.
//
// The zero Queue is empty. It is safe for concurrent use.
type Queue[M Member] struct {
	mu      sync.Mutex
	waiting []M
	leading bool
}

// Do queues a request and returns when run was called with a group that holds it.
// Until then it may be withdrawn: then the result is the context's error, and run
// never sees the request. Calls of run do not overlap.
func (q *Queue[M]) Do(ctx context.Context, r M, run func(members []M)) error {
	t := r.ticket()
	if q.join(r) {
		q.lead(run)
		return nil
	}
	select {
	case <-t.done:
		return nil
	case <-t.lead:
		q.lead(run)
		return nil
	case <-ctx.Done():
	}
	if !q.leave(t) {
		<-t.done // taken up already: the truth is what becomes of it
		return nil
	}
	select {
	case <-t.lead: // asked to lead while leaving: somebody else must
		q.handOver()
	default:
	}
	return ctx.Err()
}

// lead runs the group at the head of the queue, which the caller's request is part of.
func (q *Queue[M]) lead(run func([]M)) {
	members := q.take()
	run(members)
	q.handOver()
	for _, m := range members {
		close(m.ticket().done)
	}
}

// join queues a request and tells whether its caller leads the next group.
func (q *Queue[M]) join(r M) (leads bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, r)
	leads = !q.leading
	q.leading = true
	return leads
}

// take removes the next group.
func (q *Queue[M]) take() []M {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, bytes := 0, 0
	for n < len(q.waiting) && n < maxMembers && (n == 0 || bytes+q.waiting[n].ticket().size <= maxBytes) {
		bytes += q.waiting[n].ticket().size
		n++
	}
	members := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	if len(q.waiting) == 0 {
		q.waiting = nil
	}
	return members
}

// handOver ends a lead: the first who waits leads on.
func (q *Queue[M]) handOver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.leading = false
		return
	}
	close(q.waiting[0].ticket().lead)
}

// leave withdraws a request that no group has taken yet.
func (q *Queue[M]) leave(t *Ticket) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, w := range q.waiting {
		if w.ticket() == t {
			q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
			return true
		}
	}
	return false
}
