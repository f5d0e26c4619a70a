//go:build unix

package crash_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/culm-dev/culm/run"
)

// TestInvariant25_CleanupsRunOnceOverKills: rounds of processes that are killed at
// random moments in a run that fails, and whose cleanup then fails too. In every other
// round the run is cancelled after a kill. However often they died: each node that was
// entered is cleaned up after, once; and the failure of a cleanup hides nothing.
func TestInvariant25_CleanupsRunOnceOverKills(t *testing.T) {
	t.Parallel()
	n := number(t, "CULM_ROUNDS", 10)
	seed := number(t, "CULM_SEED", int(time.Now().UnixNano()%1_000_000_000))
	t.Logf("CULM_SEED=%d CULM_ROUNDS=%d", seed, n)
	var all rounds
	t.Run("rounds", func(t *testing.T) {
		for i := range n {
			r := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				(&round{site: newSite(t), t: t, r: r, all: &all}).cleanups(i%2 == 1)
			})
		}
	})
	t.Logf("%d processes were killed, %d of them in the middle of a run; %d doubts were decided",
		all.killed.Load(), all.midway.Load(), all.resolved.Load())
	if n >= 10 && all.midway.Load() == 0 {
		t.Error("no process was killed in the middle of a run")
	}
}

// cleanups kills helper processes that work on the cleanups.
func (d *round) cleanups(cancel bool) {
	sh := shape{Cleanups: true}
	for range 1 + d.r.IntN(3) {
		if !d.killed(func() *process { return d.helper(task{Op: opShape, Shape: sh}) }, 250*time.Millisecond) {
			break
		}
	}
	if began := d.journals(); cancel && len(began) == 1 && !d.terminal(began[0].Run) {
		d.does(task{Op: opCancel, Run: began[0].Run})
	}
	v := d.does(task{Op: opShape, Shape: sh}).View
	if v.Status == run.StatusCancelled {
		d.cleanedOnce(v)
	} else {
		d.failedCleanly(v, sh)
	}
	d.effectsOnce(v)
	d.ended()
}

func (d *round) terminal(id string) bool { return d.site.look(id).View.Status.Terminal() }

// failedCleanly checks a run that nobody cancelled.
func (d *round) failedCleanly(v *run.View, sh shape) {
	want, err := sh.expected()
	if err != nil {
		d.t.Fatal(err)
	}
	for _, c := range want.Contradictions(observed(d.t, v)) {
		d.t.Error(c)
	}
	message := "broken was told to fail; cleanup failed: execution_failed: branch[1]: report was told to fail"
	if v.Failure == nil || v.Failure.Message != message {
		d.t.Errorf("failure %v, want %s", v.Failure, message)
	}
	d.wantTimes(map[string]int{
		"make": 1, "left": 1, "left-tidy": 1, "item@root[0]": 1, "item-tidy@root[0]": 1, "item-tidy@root[1]": 1, "item-tidy@root[2]": 1,
		"undo": 2, "flaky": 1, "nested/enter": 1, "nested/leave": 1, "note": 1, "tidy": 1,
	})
}

// cleanedOnce checks the cleanups of a run that was cancelled: what was entered was
// cleaned up after once, and nothing else was. Of a cleanup that was in doubt when the
// run was cancelled, which gave it up, nobody knows, but that it was not run again.
func (d *round) cleanedOnce(v *run.View) {
	for node, cleanup := range map[string]string{
		"make": "tidy", "left": "left-tidy", "item@root[0]": "item-tidy@root[0]", "item@root[1]": "item-tidy@root[1]",
		"item@root[2]": "item-tidy@root[2]", "nested/enter": "nested/leave",
	} {
		want := 0
		if v.Steps[node] != nil {
			want = 1
		}
		st := v.Steps[cleanup]
		if given := st != nil && st.InDoubt; given && d.times(cleanup) <= want {
			continue
		}
		if n := d.times(cleanup); n != want {
			d.t.Errorf("cleanup %s had its effect %d times, want %d", cleanup, n, want)
		}
	}
}
