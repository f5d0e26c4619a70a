//go:build unix

package crash_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/culm-dev/culm/run"
)

// TestInvariant8_RecoverLeavesTheLiving: a run whose process lives, be it stopped, is
// never touched; and recovering again changes nothing.
func TestInvariant8_RecoverLeavesTheLiving(t *testing.T) {
	t.Parallel()
	s, owner := charging(t, "")
	before := s.journal("")
	s.culm(0, "recover").wantSaid("Nothing to recover")

	owner.signal(syscall.SIGSTOP)
	eventually(t, "the owner is stopped", func() bool { return stopped(owner.cmd.Process.Pid) })
	s.wantOwner("running", true)
	s.culm(0, "recover").wantSaid("Nothing to recover")
	s.culm(5, "continue", before.Run, "--trust", "--allow", "exec").wantSaid("owned_elsewhere", "culm wait")
	s.wantText("alive")
	if now := s.journal(""); len(now.Commits) != len(before.Commits) {
		t.Errorf("%d commits, and there were %d", len(now.Commits), len(before.Commits))
	}

	owner.signal(syscall.SIGCONT)
	s.letGo()
	owner.want(0)
	s.wantTimes(map[string]int{"before": 1, "charge": 1, "after": 1})
	s.check()
}

// stopped reports whether a process is stopped; where there is no /proc, the signal
// is taken for delivered.
func stopped(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "T")
}

// TestInvariant9_SixteenProcessesContinue: one of them goes on with the run, the
// others are told that somebody does.
func TestInvariant9_SixteenProcessesContinue(t *testing.T) {
	t.Parallel()
	for name, recovered := range map[string]bool{"recovered before": true, "each recovers": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testSixteen(t, recovered)
		})
	}
}

func testSixteen(t *testing.T, recovered bool) {
	s := newSite(t)
	s.workflow("charge.yaml", strings.Replace(charge, "- id: charge\n", "- id: charge\n    on_unknown: rerun\n", 1), "")
	owner := s.startCulm("run", "charge.yaml", "--trust", "--allow", "exec")
	s.atWork()
	id := s.only().RunID
	owner.mustKill()
	s.gone(id, "charge")
	if recovered {
		s.culm(0, "recover")
	}
	s.remove("main.pid")
	processes := make([]*process, 16)
	for i := range processes {
		processes[i] = s.startCulm("continue", id)
	}
	eventually(t, "all but one have ended", func() bool {
		n := 0
		for _, p := range processes {
			if p.running() {
				n++
			}
		}
		return n <= 1
	})
	eventually(t, "the step is at work for the winner", func() bool { return s.has("main.pid") })
	s.letGo()
	won := 0
	for _, p := range processes {
		switch p.wait() {
		case 0:
			won++
		case 5:
			p.wantSaid("owned_elsewhere")
		default:
			p.want(5)
		}
	}
	if won != 1 {
		t.Errorf("%d of 16 won", won)
	}
	s.wantTimes(map[string]int{"before": 1, "charge": 2, "after": 1}) // as its definition allows
	all := s.events("")
	if n := count(all, "run_started", ""); n != 2 {
		t.Errorf("the run was started %d times, want twice", n)
	}
	if n := count(all, "run_suspended", ""); n != 1 {
		t.Errorf("the run was recovered %d times, want once", n)
	}
	s.check()
}

// TestCancelFromAnotherProcess stops a running run; the call in flight is told to end.
func TestCancelFromAnotherProcess(t *testing.T) {
	t.Parallel()
	s, owner := charging(t, stubborn)
	main := s.pid("main.pid")
	s.sweep(main)
	id := s.only().RunID
	s.culm(0, "cancel", tail(id)).wantSaid("Recorded")
	owner.want(4)
	if alive(main) {
		t.Error("the step's program still lives")
	}
	v := s.view(id)
	if v.Status != run.StatusCancelled || v.Steps["charge"].Status != run.StatusStepCancelled {
		t.Errorf("run %s, step %s", v.Status, v.Steps["charge"].Status)
	}
	s.wantTimes(map[string]int{"before": 1, "charge": 1})
	s.culm(5, "continue", id).wantSaid("terminal")
	s.check()
}

// TestInterruptedOnce: what is under way is awaited, nothing new is begun, and the
// run says how to go on.
func TestInterruptedOnce(t *testing.T) {
	t.Parallel()
	s, owner := charging(t, "")
	id := s.only().RunID
	owner.signal(syscall.SIGINT)
	eventually(t, "it says that it stops", func() bool { return strings.Contains(owner.stderr(), "Stopping") })
	s.letGo()
	owner.want(3)
	owner.wantSaid("culm continue " + tail(id))
	v := s.view(id)
	if v.Status != run.StatusSuspended || v.Suspension.Kind != run.KindStopped || v.Steps["charge"].Status != run.StatusStepSucceeded || v.Steps["after"] != nil {
		t.Errorf("run %s, suspension %+v, steps %v", v.Status, v.Suspension, v.Steps)
	}
	s.wantTimes(map[string]int{"before": 1, "charge": 1})
	s.culm(0, "continue", tail(id))
	s.wantTimes(map[string]int{"before": 1, "charge": 1, "after": 1})
	s.check()
}

// TestInterruptedTwice leaves at once: the run is as after a kill.
func TestInterruptedTwice(t *testing.T) {
	t.Parallel()
	s, owner := charging(t, stubborn)
	main := s.pid("main.pid")
	s.sweep(main)
	id := s.only().RunID
	owner.signal(syscall.SIGINT)
	eventually(t, "it says that it stops", func() bool { return strings.Contains(owner.stderr(), "Stopping") })
	owner.signal(syscall.SIGINT)
	owner.want(130)
	owner.wantSaid("culm continue " + tail(id))
	s.wantOwner("running", false)
	s.gone(id, "charge")
	s.culm(5, "continue", id).wantSaid("step_in_doubt")
	s.wantTimes(map[string]int{"before": 1, "charge": 1})
	s.check()
}

// TestDetachedRunOutlivesItsParents: the process that started it, and all of that
// one's group, are killed, and the run goes on.
func TestDetachedRunOutlivesItsParents(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.workflow("charge.yaml", charge, "")
	cmd := exec.Command("sh", "-c", `"$0" run charge.yaml --trust --allow exec --detach; echo handed over; sleep 600`, os.Getenv(binaryVariable))
	cmd.Env = s.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	parent := s.launch("parent", cmd)
	eventually(t, "the run was handed over", func() bool { return strings.Contains(parent.stdout(), "handed over") })
	s.atWork()
	id, _, _ := strings.Cut(parent.stdout(), "\n")
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	parent.mustKill()
	s.wantOwner("running", true)
	waiting := s.startCulm("wait", id)
	s.letGo()
	waiting.want(0)
	if waiting.stdout() != "charged 0\n" {
		t.Errorf("output %q", waiting.stdout())
	}
	s.wantTimes(map[string]int{"before": 1, "charge": 1, "after": 1})
	s.check()
}
