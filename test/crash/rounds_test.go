//go:build unix

package crash_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/testkit/checker"
	"github.com/culm-dev/culm/internal/testkit/reference"
	"github.com/culm-dev/culm/run"
)

// rounds are what TestInvariant7 did, over all rounds.
type rounds struct {
	killed   atomic.Int64 // processes that SIGKILL ended
	midway   atomic.Int64 // of them, those that left a run that had begun and not ended
	resolved atomic.Int64 // doubts that were decided
}

// TestInvariant7_KilledAtARandomMoment: rounds of processes that are killed from
// outside at random moments, until the run ends. What is in doubt is decided by
// looking at the log of effects. No effect is had twice unless someone allowed it,
// none is lost, and the run comes to what it would have come to.
func TestInvariant7_KilledAtARandomMoment(t *testing.T) {
	t.Parallel()
	n := number(t, "CULM_ROUNDS", 20)
	seed := number(t, "CULM_SEED", int(time.Now().UnixNano()%1_000_000_000))
	t.Logf("CULM_SEED=%d CULM_ROUNDS=%d", seed, n)
	var all rounds
	t.Run("rounds", func(t *testing.T) {
		for i := range n {
			r := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				kind := inSQLite
				if i/4%2 == 1 {
					kind = inFiles
				}
				round := &round{site: newSiteOn(t, kind), t: t, r: r, all: &all}
				switch i % 4 {
				case 0:
					round.shape(shape{})
				case 1:
					round.programs()
				default:
					round.shape(randomShape(t, r))
				}
			})
		}
	})
	t.Logf("%d processes were killed, %d of them in the middle of a run; %d doubts were decided",
		all.killed.Load(), all.midway.Load(), all.resolved.Load())
	if n >= 10 && all.midway.Load() == 0 {
		t.Error("no process was killed in the middle of a run")
	}
}

// round is one run that is killed again and again.
type round struct {
	*site
	t   *testing.T
	r   *rand.Rand
	all *rounds
	// before are earlier looks at the journal.
	before []checker.Journal
}

// ended is the end of every round: the checker finds nothing, and what was durable
// at each kill is a prefix of the journal.
func (d *round) ended() {
	d.t.Helper()
	d.check()
	for _, j := range d.before {
		d.wantExtended(j)
	}
}

// randomShape draws a random definition that is worth killing.
func randomShape(t *testing.T, r *rand.Rand) shape {
	t.Helper()
	for {
		sh := shape{Random: 1 + r.IntN(1<<30), Calm: r.IntN(2) == 0, Concurrency: 1 + 3*r.Int64N(2)}
		want, err := sh.expected()
		if err != nil {
			t.Fatal(err)
		}
		if len(want.Steps) >= 8 {
			return sh
		}
	}
}

// shape kills helper processes that work on a shape.
func (d *round) shape(sh shape) {
	d.t.Logf("shape: %s", sh)
	want, err := sh.expected()
	if err != nil {
		d.t.Fatal(err)
	}
	for range 1 + d.r.IntN(4) {
		if !d.killed(func() *process { return d.helper(task{Op: opShape, Shape: sh}) }, 400*time.Millisecond) {
			break
		}
	}
	end := d.does(task{Op: opShape, Shape: sh})
	if end.Refused != "" {
		d.t.Fatalf("it was refused: %s %s", end.Refused, end.Doubts)
	}
	for _, c := range want.Contradictions(observed(d.t, end.View)) {
		d.t.Error(c)
	}
	d.effectsOnce(end.View)
	d.ended()
}

// killed lets a process run for a random time and kills it. It reports false if
// the process came to its end before. The time counts from its start or, as often,
// from when it has said its first word, which is when it works on the run.
func (d *round) killed(start func() *process, longest time.Duration) bool {
	d.t.Helper()
	delay := time.Duration(float64(longest) * d.r.Float64())
	atWork := d.r.IntN(2) == 0
	p := start()
	if atWork {
		delay /= 3
		eventually(d.t, "its first word", func() bool { return !p.running() || p.stdout()+p.stderr() != "" })
	}
	select {
	case <-time.After(delay): // the random moment
	case <-p.ended:
	}
	if !p.kill() {
		p.want(0)
		return false
	}
	d.all.killed.Add(1)
	d.t.Logf("killed after %s (at work: %v)", delay.Round(100*time.Microsecond), atWork)
	d.look()
	return true
}

// look checks what a kill left behind, and that the next one finds it unchanged.
func (d *round) look() {
	d.t.Helper()
	journals := d.journals()
	d.check()
	if len(journals) > 1 {
		d.t.Fatalf("there are %d runs of one start", len(journals))
	}
	if len(journals) == 0 {
		return
	}
	all := entries(d.t, journals[0])
	switch all[len(all)-1].Type {
	case "run_succeeded", "run_failed":
	default:
		d.all.midway.Add(1)
	}
	d.before = append(d.before, journals[0])
}

// observed is a run as the reference interpreter compares it.
func observed(t *testing.T, v *run.View) reference.Observed {
	t.Helper()
	o := reference.Observed{Steps: make(map[string]reference.Status)}
	if v.Output != nil {
		var err error
		if o.Output, err = canon.Decode(v.Output); err != nil {
			t.Fatal(err)
		}
	}
	if f := v.Failure; f != nil {
		o.Failure = &reference.Failure{Code: string(f.Code), Message: f.Message, Retryable: f.Retryable, EffectDone: f.EffectDone}
	}
	for id, st := range v.Steps {
		o.Steps[id] = reference.Status(st.Status)
	}
	return o
}

// effectsOnce checks that each write that succeeded had its effect, once; and what is
// harmless to repeat at least once. A step that did not succeed had none, since what
// fails here says so before its effect.
func (d *round) effectsOnce(v *run.View) {
	d.t.Helper()
	rerun := make(map[string]bool) // steps that the definition lets be repeated
	for _, text := range d.journal(v.RunID).Commits {
		for _, raw := range text {
			var e struct {
				Type, Verdict string
				Step          string `json:"step_id"`
				By            string
			}
			if err := json.Unmarshal(raw, &e); err != nil {
				d.t.Fatal(err)
			}
			if e.Type == "step_resolved" {
				d.all.resolved.Add(1)
				rerun[e.Step] = rerun[e.Step] || e.By == "definition"
			}
		}
	}
	for id, st := range v.Steps {
		n := d.times(id)
		switch {
		case st.Effect == "" || st.Status == run.StatusStepCancelled:
		case st.Cleanup: // a retry around it lets it happen after each round; the checker knows of which
		case st.Status != run.StatusStepSucceeded && n > 0 && st.Effect == "write" && !rerun[id]:
			d.t.Errorf("step %s is %s, and had its effect %d times", id, st.Status, n)
		case st.Status == run.StatusStepSucceeded && n == 0:
			d.t.Errorf("step %s succeeded, and its effect is lost", id)
		case st.Status == run.StatusStepSucceeded && n > 1 && st.Effect == "write" && !rerun[id]:
			d.t.Errorf("step %s had its effect %d times", id, n)
		}
	}
}
