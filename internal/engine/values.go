package engine

import (
	"container/list"
	"context"
	"fmt"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// cacheBytes bounds the decoded values that one run keeps in memory, counted as
// the size of their JSON.
const cacheBytes = 1 << 20

// values reads the values that a run's events carry. What was read or written
// lately is kept, up to a bound; what is not yet committed is always kept.
type values struct {
	store  store.Store
	stream string

	pending map[uint64]held // of events not yet committed
	cache   map[uint64]*list.Element
	recent  *list.List // of cached, most recent first
	size    int
}

// held is a value, decoded and as the canonical JSON that it is.
type held struct {
	v   any
	raw run.Raw
}

type cached struct {
	seq uint64
	held
}

func newValues(st store.Store, stream string) *values {
	return &values{
		store: st, stream: stream,
		pending: make(map[uint64]held),
		cache:   make(map[uint64]*list.Element),
		recent:  list.New(),
	}
}

// put keeps the value of an event that is about to be committed.
func (vs *values) put(seq uint64, v any, raw run.Raw) { vs.pending[seq] = held{v, raw} }

// committed moves what was pending into the cache.
func (vs *values) committed() {
	for seq, h := range vs.pending {
		vs.keep(seq, h)
	}
	clear(vs.pending)
}

func (vs *values) keep(seq uint64, h held) {
	if len(h.raw) > cacheBytes/4 {
		return
	}
	vs.cache[seq] = vs.recent.PushFront(&cached{seq, h})
	vs.size += len(h.raw)
	for vs.size > cacheBytes {
		last := vs.recent.Back()
		c := vs.recent.Remove(last).(*cached)
		delete(vs.cache, c.seq)
		vs.size -= len(c.raw)
	}
}

// fill puts the JSON of a value into it, if it is at hand.
func (vs *values) fill(at *run.Value) bool {
	if at.IsZero() || at.Raw != nil {
		return true
	}
	el, ok := vs.cache[at.Seq]
	if ok {
		at.Raw = el.Value.(*cached).raw
	}
	return ok
}

// stored gives the decoded value that an event carries. It must not be changed.
func (vs *values) stored(ctx context.Context, at run.Value) (any, error) {
	if h, ok := vs.pending[at.Seq]; ok {
		return h.v, nil
	}
	if el, ok := vs.cache[at.Seq]; ok {
		vs.recent.MoveToFront(el)
		return el.Value.(*cached).v, nil
	}
	raw, err := vs.raw(ctx, at)
	if err != nil {
		return nil, err
	}
	v, err := canon.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("decode value of event %d: %w", at.Seq, err)
	}
	vs.keep(at.Seq, held{v, raw})
	return v, nil
}

func (vs *values) raw(ctx context.Context, at run.Value) (run.Raw, error) {
	switch {
	case at.IsZero():
		return run.Raw("null"), nil
	case at.Raw != nil:
		return at.Raw, nil
	case at.Blob != nil:
		return vs.store.Blob(ctx, vs.stream, at.Blob.SHA256)
	}
	ev, err := readEvent(ctx, vs.store, vs.stream, at.Seq)
	if err != nil {
		return nil, err
	}
	raw, _ := run.ValueOf(ev)
	if raw == nil {
		raw = run.Raw("null")
	}
	return raw, nil
}

// load gives a kernel value, decoded.
func (vs *values) load(ctx context.Context, v kernel.Val) (any, error) {
	switch v.Kind {
	case kernel.Stored:
		return vs.stored(ctx, v.Value)
	case kernel.Element:
		all, err := vs.stored(ctx, v.Value)
		if err != nil {
			return nil, err
		}
		items, ok := all.([]any)
		if !ok || v.Index >= len(items) {
			return nil, fmt.Errorf("event %d carries no item %d", v.Value.Seq, v.Index)
		}
		return items[v.Index], nil
	case kernel.List:
		items := make([]any, len(v.List))
		for i, el := range v.List {
			item, err := vs.load(ctx, el)
			if err != nil {
				return nil, err
			}
			items[i] = item
		}
		return items, nil
	case kernel.OutcomeValue:
		ended := map[string]any{"status": v.Outcome}
		if v.Failure != nil {
			ended["failure"] = v.Failure
		}
		raw, err := canon.Marshal(ended)
		if err != nil {
			return nil, err
		}
		return canon.Decode(raw)
	case kernel.FailureValue:
		raw, err := canon.Marshal(map[string]any{"error": v.Failure})
		if err != nil {
			return nil, err
		}
		return canon.Decode(raw)
	}
	return nil, nil
}

// readEvent reads one event of a journal.
func readEvent(ctx context.Context, st store.Store, stream string, seq uint64) (run.Event, error) {
	groups, err := st.Read(ctx, stream, seq-1, 1)
	for _, g := range groups { // they verified, even if the journal is damaged behind them
		if seq >= g.First && seq < g.First+uint64(len(g.Events)) {
			return run.Decode(g.Events[seq-g.First])
		}
	}
	if err != nil {
		return run.Event{}, err
	}
	return run.Event{}, fmt.Errorf("read event %d of %s: %w", seq, stream, store.ErrNotFound)
}
