package file_test

import (
	"math/rand/v2"
	"testing"

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
