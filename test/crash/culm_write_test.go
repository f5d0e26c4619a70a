//go:build unix

package crash_test

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKilledInAWriteStep is the story of a kill as a user lives through it.
func TestKilledInAWriteStep(t *testing.T) {
	t.Parallel()
	s, owner := charging(t, stubborn)
	eventually(t, "the child is there", func() bool { return s.has("child.pid") })
	main, child := s.pid("main.pid"), s.pid("child.pid")
	s.sweep(main, child)
	s.wantOwner("running", true)
	owner.mustKill()

	// The step's processes, the one that ignores SIGTERM among them, are gone within
	// two seconds.
	if !within(t, 2*time.Second, func() bool { return !alive(main) && !alive(child) }) {
		t.Errorf("after two seconds: main alive %v, child alive %v", alive(main), alive(child))
	}
	r := s.wantOwner("running", false)
	s.wantText("gone!")
	s.wantTimes(map[string]int{"before": 1, "charge": 1})
	s.gone(r.RunID, "charge")

	recovered := s.culm(0, "recover")
	recovered.wantSaid(r.RunID, "In doubt: charge.")
	s.wantTimes(map[string]int{"before": 1, "charge": 1})
	s.check()

	before, locks := s.everything(), s.locks()
	refused := s.culm(5, "continue", tail(r.RunID), "--trust", "--allow", "exec")
	refused.wantSaid("step_in_doubt", "charge", "culm resolve "+tail(r.RunID)+" charge --output")
	s.wantUnchanged(before)
	if now := s.locks(); strings.Join(now, " ") != strings.Join(locks, " ") {
		t.Errorf("locks before %v, and after %v", locks, now)
	}
	s.wantTimes(map[string]int{"before": 1, "charge": 1})
	s.culm(0, "recover").wantSaid("Nothing to recover")
	s.wantUnchanged(before)

	s.culm(0, "resolve", tail(r.RunID), "charge", "--output", programOutput)
	done := s.culm(0, "continue", tail(r.RunID))
	if done.stdout() != "charged 0\n" {
		t.Errorf("output %q", done.stdout())
	}
	s.wantTimes(map[string]int{"before": 1, "charge": 1, "after": 1})
	s.culm(5, "continue", tail(r.RunID)).wantSaid("terminal")
	s.check()
}

// TestContinueRecoversFirst: continue on a dead owner's run recovers it, in a commit
// of its own that it prints; the refusal after that changes nothing more.
func TestContinueRecoversFirst(t *testing.T) {
	t.Parallel()
	s, owner := charging(t, "")
	owner.mustKill()
	r := s.wantOwner("running", false)
	s.gone(r.RunID, "charge")
	before := s.journal("")
	s.culm(5, "continue", r.RunID).wantSaid("Recovered run "+r.RunID, "step_in_doubt")
	s.wantExtended(before)
	if n := len(s.events("")) - len(entries(t, before)); n != 2 {
		t.Errorf("%d events were appended, want those of the recovery, 2", n)
	}
	all := s.everything()
	s.culm(5, "continue", r.RunID).wantSaid("step_in_doubt")
	s.wantUnchanged(all)
	s.letGo()
	s.culm(0, "resolve", r.RunID, "charge", "--rerun")
	s.culm(0, "continue", r.RunID)
	s.wantTimes(map[string]int{"before": 1, "charge": 2, "after": 1}) // as was asked for
	s.check()
}

// TestStillRunning: while a process of the killed step lives, nobody may decide that
// the step be entered again, or that it did not happen.
func TestStillRunning(t *testing.T) {
	t.Parallel()
	s, owner := charging(t, stubborn)
	eventually(t, "the child is there", func() bool { return s.has("child.pid") })
	guard, main, child := s.pid("guard.pid"), s.pid("main.pid"), s.pid("child.pid")
	s.sweep(guard, main, child)
	// A guard that is stopped cannot end the step.
	if err := syscall.Kill(guard, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	owner.mustKill()
	r := s.wantOwner("running", false)
	s.culm(0, "recover").wantSaid("In doubt: charge.")

	before := s.everything()
	for _, verdict := range [][]string{{"--rerun"}, {"--fail", "no"}, {"--output", programOutput}} {
		refused := s.culm(5, append([]string{"resolve", r.RunID, "charge"}, verdict...)...)
		refused.wantSaid("still_running", "--force")
	}
	s.wantUnchanged(before)
	if !alive(main) || !alive(child) {
		t.Error("the step's processes should still live")
	}

	if err := syscall.Kill(guard, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if !within(t, 2*time.Second, func() bool { return !alive(main) && !alive(child) }) {
		t.Error("two seconds after the guard goes on, the step's processes still live")
	}
	s.gone(r.RunID, "charge")
	s.letGo()
	s.culm(0, "resolve", r.RunID, "charge", "--rerun")
	s.culm(0, "continue", r.RunID)
	s.wantTimes(map[string]int{"before": 1, "charge": 2, "after": 1}) // as was asked for
	s.check()
}
