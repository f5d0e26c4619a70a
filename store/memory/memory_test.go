package memory_test

import (
	"errors"
	"testing"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/memory"
	"github.com/culm-dev/culm/store/storetest"
)

type harness struct{ disk *memory.Disk }

func (h harness) Open(*testing.T) store.Store { return h.disk.Open() }

func (h harness) Kill(_ *testing.T, s store.Store) { s.(*memory.Store).Abandon() }

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Harness { return harness{memory.New()} })
}

func create(stream string) *store.Batch {
	return &store.Batch{Appends: []store.Append{{
		Stream: stream, Create: true, Row: &store.Row{}, Events: [][]byte{[]byte("{}")},
	}}}
}

func TestFailRefusesWithoutATrace(t *testing.T) {
	t.Parallel()
	disk := memory.New()
	s := disk.Open()
	broken := errors.New("disk is broken")
	disk.Fail(func(b *store.Batch) error {
		if b.Appends[0].Stream == "bad" {
			return broken
		}
		return nil
	})
	if err := s.Commit(t.Context(), create("bad")); !errors.Is(err, broken) {
		t.Errorf("commit: %v", err)
	}
	if _, err := s.Head(t.Context(), "bad"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("head: %v", err)
	}
	if err := s.Commit(t.Context(), create("good")); err != nil {
		t.Errorf("commit: %v", err)
	}
	disk.Fail(nil)
	if err := s.Commit(t.Context(), create("bad")); err != nil {
		t.Errorf("commit once mended: %v", err)
	}
}

func TestAfterSeesTheCommitAndMayKillItsHandle(t *testing.T) {
	t.Parallel()
	disk := memory.New()
	s, other := disk.Open(), disk.Open()
	calls := 0
	disk.After(func(b *store.Batch) {
		calls++
		if h, err := other.Head(t.Context(), b.Appends[0].Stream); err != nil || h.Last != 1 {
			t.Errorf("head in After: %+v, %v", h, err)
		}
		if b.Appends[0].Stream == "last" {
			s.Abandon()
		}
	})
	if err := s.Commit(t.Context(), create("first")); err != nil {
		t.Errorf("commit: %v", err)
	}
	if err := s.Commit(t.Context(), create("last")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("commit that killed its handle: %v", err)
	}
	h, err := other.Head(t.Context(), "last")
	if err != nil || h.Last != 1 || h.Owner.Alive || calls != 2 {
		t.Errorf("after %d calls: %+v, %v", calls, h, err)
	}
}
