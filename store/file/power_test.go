package file_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/file"
)

// Wherever the power fails, what was acknowledged is there, and of the commit at hand
// all or nothing.
func TestAPowerLossLosesNothing(t *testing.T) {
	t.Parallel()
	dir := dirOf(t)
	disk, opt := file.NewRecorder(dir, 24<<10)
	s, err := file.Open(t.Context(), dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	const commits = 24
	var told [commits + 1]int // how much was done when so many were acknowledged
	for n := range uint64(commits) {
		commit(t, s, work(n))
		told[n+1] = disk.Done()
		if n%8 == 7 {
			if err := s.Trim(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	moments := []int{disk.Done()}
	for n := 1; n <= commits; n += 3 {
		moments = append(moments, told[n], told[n]-1, told[n]+1)
	}
	for range 60 {
		moments = append(moments, rng.IntN(disk.Done()))
	}
	for i, moment := range moments {
		least := uint64(0)
		for least < commits && told[least+1] <= moment {
			least++
		}
		left := dirOf(t)
		if err := disk.Leave(moment, uint64(i), left); err != nil {
			t.Fatal(err)
		}
		survivor, err := file.Open(t.Context(), left, file.Options{})
		if err != nil {
			t.Errorf("after %d of %d: %v", moment, disk.Done(), err)
			continue
		}
		if _, err := worked(t.Context(), survivor, least, least+1); err != nil {
			t.Errorf("after %d of %d, %d acknowledged: %v", moment, disk.Done(), least, err)
		}
		if err := survivor.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A stream that is restored or removed is there as a whole or not at all, whenever the
// power fails; and the others are as they were.
func TestAPowerLossWhileHouseIsKept(t *testing.T) {
	t.Parallel()
	dir := dirOf(t)
	disk, opt := file.NewRecorder(dir, 1<<20)
	s, err := file.Open(t.Context(), dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n := range uint64(5) {
		commit(t, s, work(n))
	}
	want, err := s.Extract(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	want.Stream, want.Row.ID, want.Account.ID = "copy", "copy", "copy"
	began := disk.Done()
	if err := s.Restore(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	restored := disk.Done()
	commit(t, s, &store.Batch{Posts: []store.Post{{Stream: "s", ID: "between", Body: []byte("x")}}})
	removing := disk.Done()
	if err := s.Remove(t.Context(), "copy", 5); err != nil {
		t.Fatal(err)
	}
	removed := disk.Done()
	s.Refill()
	commit(t, s, newStream("spared", event(1))) // in a folder that was made ahead
	spared := disk.Done()
	commit(t, s, appendTo("s", 5, event(6)))
	for moment := began; moment <= disk.Done(); moment++ {
		left := dirOf(t)
		if err := disk.Leave(moment, 5, left); err != nil {
			t.Fatal(err)
		}
		survivor, err := file.Open(t.Context(), left, file.Options{})
		if err != nil {
			t.Errorf("after %d: %v", moment, err)
			continue
		}
		got, err := survivor.Extract(t.Context(), "copy")
		if err == nil {
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), bytesAtOnce()); diff != "" {
				t.Errorf("after %d: %s", moment, diff)
			}
		}
		gone := errors.Is(err, store.ErrNotFound)
		must, mustNot := moment >= restored && moment <= removing, moment >= removed
		if err != nil && !gone || must && gone || mustNot && !gone {
			t.Errorf("after %d of %d, %d, %d, %d: %v", moment, began, restored, removing, removed, err)
		}
		if _, err := survivor.Extract(t.Context(), "spared"); err != nil && (moment >= spared || !errors.Is(err, store.ErrNotFound)) {
			t.Errorf("after %d, with the new stream at %d: %v", moment, spared, err)
		}
		if _, err := survivor.Extract(t.Context(), "s"); err != nil {
			t.Errorf("after %d: the other: %v", moment, err)
		}
		if err := survivor.Close(); err != nil {
			t.Error(err)
		}
	}
}

// bytesAtOnce compares bytes as a whole: one by one they take seconds.
func bytesAtOnce() cmp.Option {
	return cmp.FilterValues(func(x, y []byte) bool { return len(x)+len(y) > 0 }, cmp.Comparer(bytes.Equal))
}
