package file

import (
	"slices"
	"sync"
)

// places remembers where commits of journals end, so that who reads on from an event
// need not read the journal from its beginning. They are a shortcut to what a reader
// verified, and hold as long as the stream is the same one.
type places struct {
	mu      sync.Mutex
	streams map[string]*known
}

// known are places of one stream's journal.
type known struct {
	id     string
	apart  []place // in order, and far from each other
	recent [4]place
	next   int // in recent
}

const (
	placesStreams = 4096
	placesEach    = 1024
	placesApart   = 64 << 10 // bytes
)

// before is the last place known that is not after an event.
func (p *places) before(h *head, after uint64) place {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.streams[h.Stream]
	if k == nil || k.id != h.ID {
		return place{}
	}
	var best place
	if i, _ := slices.BinarySearchFunc(k.apart, after+1, func(pl place, last uint64) int {
		return int(min(1, max(-1, int64(pl.last-last))))
	}); i > 0 {
		best = k.apart[i-1]
	}
	for _, pl := range k.recent {
		if pl.last <= after && pl.last > best.last {
			best = pl
		}
	}
	return best
}

// of is what is known of a stream; the caller holds the lock.
func (p *places) of(h *head) *known {
	k := p.streams[h.Stream]
	if k != nil && k.id == h.ID {
		return k
	}
	if p.streams == nil || len(p.streams) >= placesStreams {
		p.streams = make(map[string]*known)
	}
	k = &known{id: h.ID}
	p.streams[h.Stream] = k
	return k
}

// note remembers where a reader came to.
func (p *places) note(h *head, at place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.of(h)
	k.recent[k.next] = at
	k.next = (k.next + 1) % len(k.recent)
	k.pass(at)
}

// pass remembers a place on the way.
func (p *places) pass(h *head, at place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of(h).pass(at)
}

func (k *known) pass(at place) {
	if n := len(k.apart); n > 0 && at.off < k.apart[n-1].off+placesApart {
		return
	}
	k.apart = append(k.apart, at)
	if len(k.apart) < placesEach {
		return
	}
	half := k.apart[:0]
	for i := 1; i < len(k.apart); i += 2 {
		half = append(half, k.apart[i])
	}
	k.apart = half
}
