//go:build unix

package crash_test

import (
	"testing"

	"github.com/culm-dev/culm/internal/testkit/crashpoint"
	"github.com/culm-dev/culm/run"
)

// deaths is what leads to a death, and what must be found right after it.
type deaths struct {
	at   crashpoint.Point
	step string
	// first are the processes before it, by what they do; one that has a point dies
	// there.
	first []task
	op    op // of the process that dies

	status run.Status // of the run after it; "" if there must be none
	last   string     // type of the journal's last event
	doubts int        // steps that are in doubt, or will be when the run is recovered
	// calls are the effects at the death.
	calls map[string]int
}

// TestExitAtEveryPoint: wherever the process dies, what is left is either the state
// before or the state after the commit at hand, and from there the run goes on to its
// end with every effect had once.
func TestExitAtEveryPoint(t *testing.T) {
	t.Parallel()
	began := task{Op: opRun, Die: crashpoint.AfterOutcome, Step: "prefix"}
	inTool := task{Op: opRun, Die: crashpoint.InTool, Step: "suffix"}
	recovery := task{Op: opRecover}
	none, one, both := map[string]int{}, map[string]int{"prefix": 1}, map[string]int{"prefix": 1, "suffix": 1}
	for _, d := range []deaths{
		{at: crashpoint.MakeDatabase, op: opRun, calls: none},
		{at: crashpoint.InsideQueued, op: opRun, calls: none},
		{at: crashpoint.AfterQueued, op: opRun, status: run.StatusRunning, last: "run_started", calls: none},
		{at: crashpoint.BeforeStart, step: "suffix", op: opRun, status: run.StatusRunning, last: "step_completed", calls: one},
		{at: crashpoint.InsideStart, step: "suffix", op: opRun, status: run.StatusRunning, last: "step_completed", calls: one},
		{at: crashpoint.AfterStart, step: "suffix", op: opRun, status: run.StatusRunning, last: "step_started", doubts: 1, calls: one},
		{at: crashpoint.InTool, step: "prefix", op: opRun, status: run.StatusRunning, last: "step_started", doubts: 1, calls: one},
		{at: crashpoint.BeforeOutcome, step: "suffix", op: opRun, status: run.StatusRunning, last: "step_started", doubts: 1, calls: both},
		{at: crashpoint.InsideOutcome, step: "suffix", op: opRun, status: run.StatusRunning, last: "step_started", doubts: 1, calls: both},
		{at: crashpoint.InsideOutcome, step: "prefix", op: opRun, status: run.StatusRunning, last: "step_started", doubts: 1, calls: one},
		{at: crashpoint.AfterEnd, op: opRun, status: run.StatusSucceeded, last: "run_succeeded", calls: both},
		{at: crashpoint.BeforeRecover, first: []task{inTool}, op: opRecover, status: run.StatusRunning, last: "step_started", doubts: 1, calls: both},
		{at: crashpoint.InsideRecover, first: []task{inTool}, op: opRecover, status: run.StatusRunning, last: "step_started", doubts: 1, calls: both},
		{at: crashpoint.AfterRecover, first: []task{inTool}, op: opRecover, status: run.StatusSuspended, last: "run_suspended", doubts: 1, calls: both},
		{at: crashpoint.BeforeContinue, first: []task{began, recovery}, op: opContinue, status: run.StatusSuspended, last: "run_suspended", calls: one},
		{at: crashpoint.InsideContinue, first: []task{began, recovery}, op: opContinue, status: run.StatusSuspended, last: "run_suspended", calls: one},
		{at: crashpoint.AfterContinue, first: []task{began, recovery}, op: opContinue, status: run.StatusRunning, last: "run_started", calls: one},
		{at: crashpoint.BeforeResolve, step: "suffix", first: []task{inTool, recovery}, op: opResolve, status: run.StatusSuspended, last: "run_suspended", doubts: 1, calls: both},
		{at: crashpoint.InsideResolve, step: "suffix", first: []task{inTool, recovery}, op: opResolve, status: run.StatusSuspended, last: "run_suspended", doubts: 1, calls: both},
		{at: crashpoint.AfterResolve, step: "suffix", first: []task{inTool, recovery}, op: opResolve, status: run.StatusSuspended, last: "step_resolved", calls: both},
	} {
		t.Run(d.name(), func(t *testing.T) {
			t.Parallel()
			d.test(t)
		})
	}
}

func (d deaths) name() string {
	if d.step == "" {
		return d.at.String()
	}
	return d.at.String() + " of " + d.step
}

// before runs the processes that come before the one that dies, and gives the run.
func (d deaths) before(s *site) string {
	s.t.Helper()
	for _, k := range d.first {
		s.dies(k) // those without a point end with 0
	}
	if len(d.first) == 0 {
		return ""
	}
	return s.journal("").Run
}

func (d deaths) test(t *testing.T) {
	s := newSite(t)
	s.dies(task{Op: d.op, Die: d.at, Step: d.step, Run: d.before(s)})
	s.wantTimes(d.calls)
	s.check()
	found := s.look("")
	if d.status == "" {
		d.wantNothing(t, s, found)
		return
	}
	d.wantState(t, s, found)
	before := s.journal("")
	end := s.does(task{Op: opFinish, Run: before.Run})
	if end.Refused != "" || end.View.Status != run.StatusSucceeded || len(end.Runs) != 1 {
		t.Errorf("at the end: %s, refused %q, %d runs", end.View.Status, end.Refused, len(end.Runs))
	}
	s.wantExtended(before)
	s.wantTimes(map[string]int{"prefix": 1, "suffix": 1})
	s.check()
}

// wantNothing: a run that was never durable never was, and starts as if nothing had
// happened.
func (d deaths) wantNothing(t *testing.T, s *site, found report) {
	t.Helper()
	if len(found.Runs) != 0 {
		t.Errorf("there is a run: %+v", found.Runs)
	}
	if end := s.does(task{Op: opRun}); end.View.Status != run.StatusSucceeded || len(end.Runs) != 1 {
		t.Errorf("started again: %s, %d runs", end.View.Status, len(end.Runs))
	}
	s.wantTimes(map[string]int{"prefix": 1, "suffix": 1})
	s.check()
}

func (d deaths) wantState(t *testing.T, s *site, found report) {
	t.Helper()
	v := found.View
	if len(found.Runs) != 1 || v.Status != d.status {
		t.Fatalf("%d runs, and the run is %s, want one that is %s", len(found.Runs), v.Status, d.status)
	}
	if v.Status == run.StatusRunning {
		wantDead(t, "after the death", v)
	} else if v.Owner != nil {
		t.Errorf("owner %+v of a run that is %s", v.Owner, v.Status)
	}
	all := s.events("")
	if last := all[len(all)-1]; last.Type != d.last {
		t.Errorf("the last event is %s, want %s", last.Type, d.last)
	}
	doubts := 0
	for _, st := range v.Steps {
		if st.InDoubt || st.Status == run.StatusStepRunning {
			doubts++
		}
	}
	if doubts != d.doubts {
		t.Errorf("%d steps are, or would be, in doubt; want %d", doubts, d.doubts)
	}
}

// TestExitInRestart: the old run is cancelled and the new one begun by one commit, or
// neither.
func TestExitInRestart(t *testing.T) {
	t.Parallel()
	for _, at := range []crashpoint.Point{crashpoint.BeforeRestart, crashpoint.InsideRestart, crashpoint.AfterRestart} {
		t.Run(at.String(), func(t *testing.T) {
			t.Parallel()
			testExitInRestart(t, at)
		})
	}
}

func testExitInRestart(t *testing.T, at crashpoint.Point) {
	s := newSite(t)
	s.dies(task{Op: opRun, Die: crashpoint.AfterOutcome, Step: "prefix"})
	old := s.does(task{Op: opRecover}).View.RunID
	s.dies(task{Op: opRestart, Die: at, Run: old})
	s.check()
	s.wantTimes(map[string]int{"prefix": 1})

	found := s.look(old)
	var end report
	if at == crashpoint.AfterRestart {
		if found.View.Status != run.StatusCancelled || len(found.Runs) != 2 {
			t.Fatalf("the old run is %s, and there are %d runs", found.View.Status, len(found.Runs))
		}
		began := found.Runs[0] // the newest is first
		if began.RunID == old || began.Status != run.StatusRunning || began.Owner == nil || began.Owner.Alive {
			t.Errorf("the new run: %+v", began)
		}
		end = s.does(task{Op: opFinish, Run: began.RunID})
	} else {
		if found.View.Status != run.StatusSuspended || len(found.Runs) != 1 {
			t.Fatalf("the old run is %s, and there are %d runs", found.View.Status, len(found.Runs))
		}
		end = s.does(task{Op: opRestart, Run: old})
	}
	if end.View == nil || end.View.Status != run.StatusSucceeded || end.View.RestartedFrom != old || len(end.Runs) != 2 {
		t.Errorf("at the end: %+v", end)
	}
	if v := s.look(old).View; v.Status != run.StatusCancelled {
		t.Errorf("at the end the old run is %s", v.Status)
	}
	s.wantTimes(map[string]int{"prefix": 2, "suffix": 1}) // once in each run that came there
	s.check()
}
