package run_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/run"
)

// TestFoldRefuses: an event that cannot follow on what was before is an error, so
// that a journal which contradicts itself is never taken for a run.
func TestFoldRefuses(t *testing.T) {
	t.Parallel()
	running := []fact{queued(), started()}
	inCall := append(running[:2:2], enter("a", 1))
	inDoubt := append(inCall[:3:3], doubted("a"))
	asleep := append(running[:2:2], wait("nap", 1), until("nap", 30))
	for _, c := range []struct {
		name   string
		before []fact
		then   fact
		why    string
	}{
		{"a start without a queued run", nil, started(), "begins with run_queued"},
		{"a second run_queued", running, queued(), "begins with run_queued"},
		{"a step before the run started", []fact{queued()}, enter("a", 1), "the run is queued"},
		{"a decision before the run started", []fact{queued()}, decided("/plan", "true"), "the run is queued"},
		{"a success before the run started", []fact{queued()}, succeeded(), "the run is queued"},
		{"a start of a running run", running, started(), "the run is running"},
		{"a run_suspended twice", append(running[:2:2], suspended()), suspended(), "the run is suspended"},
		{"a run_suspended over a running step", inCall, suspended(), "step a is running"},
		{"a step while nobody works on the run", append(running[:2:2], suspended()), enter("a", 1), "the run is suspended"},

		{"completed without a start", running, completed("a"), "never entered"},
		{"cancelled without a start", running, cancelled("a"), "never entered"},
		{"suspended without a start", running, paused("a"), "never entered"},
		{"resumed without a start", running, resumed("a"), "never entered"},
		{"resolved without a start", running, resolved("a", run.VerdictRerun), "never entered"},
		{"a wait without a start", running, until("a", 30), "never entered"},
		{"a wait of a step that is not running", append(asleep[:4:4], paused("nap")), until("nap", 40), "not running"},
		{"a first attempt that is not the first", running, enter("a", 2), "attempt 2 follows on 0"},
		{"a start while running", inCall, enter("a", 2), "step a is running"},
		{"a start while in doubt", inDoubt, enter("a", 2), "in doubt"},
		{"a start while suspended", append(asleep[:4:4], paused("nap")), wait("nap", 2), "step nap is suspended"},
		{"a start after success", append(inCall[:3:3], completed("a")), enter("a", 2), "step a is succeeded"},
		{"a start after a failure without a retry round", append(inCall[:3:3], failed("a")), enter("a", 2), "no retry round"},
		{"a start after a retry round before the failure", append(running[:2:2], retry("/plan", 1), enter("a", 1), failed("a")), enter("a", 2), "no retry round"},
		{"completed while suspended", append(asleep[:4:4], paused("nap")), completed("nap"), "not running"},
		{"completed twice", append(inCall[:3:3], completed("a")), completed("a"), "not running"},
		{"failed after success", append(inCall[:3:3], completed("a")), failed("a"), "step a is succeeded"},
		{"failed twice", append(inCall[:3:3], failed("a")), failed("a"), "no retry round"},
		{"skipped while running", inCall, skipped("a"), "step a is running"},
		{"skipped after success", append(inCall[:3:3], completed("a")), skipped("a"), "step a is succeeded"},
		{"cancelled after success", append(inCall[:3:3], completed("a")), cancelled("a"), "nothing to cancel"},
		{"suspended twice", append(asleep[:4:4], paused("nap")), paused("nap"), "not running"},
		{"resumed while running", asleep, resumed("nap"), "not suspended"},
		{"resumed while nobody works on the run", append(asleep[:4:4], paused("nap"), suspended()), resumed("nap"), "the run is suspended"},
		{"another nested run in the second attempt", append(running[:2:2],
			fact{step: "w", body: &run.StepStarted{Attempt: 1, ChildRunID: "one"}}, failed("w"), retry("/plan", 1)),
			fact{step: "w", body: &run.StepStarted{Attempt: 2, ChildRunID: "two"}}, "its nested run was one"},

		{"a doubt about a step that calls no tool", asleep, doubted("nap"), "calls no tool"},
		{"a doubt that completes", inDoubt, completed("a"), "not running"},
		{"a doubt that fails without a verdict", inDoubt, failed("a"), "only a verdict"},
		{"a doubt that is resumed", inDoubt, resumed("a"), "in doubt"},
		{"a doubt hidden by cancelling", append(inDoubt[:4:4], cancelRequested()), cancelled("a"), "must not hide it"},
		{"a doubt cancelled though nobody asked", inDoubt, cancelledInDoubt("a"), "nobody asked"},
		{"a doubt that there is not", append(inCall[:3:3], cancelRequested()), cancelledInDoubt("a"), "not in doubt"},
		{"a verdict on what is not in doubt", inCall, resolved("a", run.VerdictFailed), "not in doubt"},
		{"a verdict on a cancelled doubt", append(inDoubt[:4:4], cancelRequested(), cancelledInDoubt("a")), resolved("a", run.VerdictSucceeded), "not in doubt"},
		{"an unknown verdict", inDoubt, resolved("a", "maybe"), "unknown verdict"},
		{"a verdict of failed without a failure", inDoubt, fact{step: "a", body: &run.StepResolved{Verdict: run.VerdictFailed}}, "without a failure"},
		{"a rerun that is resumed", append(inDoubt[:4:4], resolved("a", run.VerdictRerun)), resumed("a"), "entered again"},

		{"a second decision", append(running[:2:2], decided("/plan", "true")), decided("/plan", "false"), "decided before"},
		{"time over without a failure", running, fact{body: &run.Decided{Node: run.WallTimeNode}}, "without a failure"},
		{"time over twice", append(running[:2:2], timeOver()), timeOver(), "time is over"},
		{"a step after time was over", append(running[:2:2], timeOver()), enter("a", 1), "time is over"},
		{"a round after time was over", append(running[:2:2], timeOver()), retry("/plan", 1), "time is over"},
		{"a success after time was over", append(running[:2:2], timeOver()), succeeded(), "time is over"},
		{"a request to cancel by nobody", running, fact{body: &run.CancelRequested{}}, "names nobody"},
		{"a step after cancelling", append(running[:2:2], cancelRequested()), enter("a", 1), "being cancelled"},
		{"a decision after cancelling", append(running[:2:2], cancelRequested()), decided("/plan", "true"), "being cancelled"},
		{"a success after cancelling", append(running[:2:2], cancelRequested()), succeeded(), "being cancelled"},
		{"a failure after cancelling", append(running[:2:2], cancelRequested()), failedRun(), "only end as cancelled"},
		{"cancelled though nobody asked", running, cancelledRun(), "nobody asked"},
		{"an end over a running step", inCall, failedRun(), "step a is running"},
		{"an end over a doubt", inDoubt, failedRun(), "in doubt: true"},
		{"an end over a sleep", append(asleep[:4:4], cancelRequested()), cancelledRun(), "step nap is running"},

		{"a step taken over by a run of its own", []fact{queued()}, adopted("b"), "not started to go on"},
		{"a node taken over by a run of its own", []fact{queued()}, nodeAdopted("/plan", "true"), "not started to go on"},
		{"a step taken over later", []fact{continuing(), started()}, adopted("b"), "the run is running"},
		{"a node taken over later", []fact{continuing(), started()}, nodeAdopted("/plan", "true"), "the run is running"},
		{"a step taken over twice", []fact{continuing(), adopted("b")}, adopted("b"), "taken over before"},
		{"a node taken over twice", []fact{continuing(), nodeAdopted("/plan", "true")}, nodeAdopted("/plan", "true"), "decided before"},
		{"a round taken over twice", []fact{continuing(), {body: &run.NodeAdopted{Node: "/plan", Round: 1}}},
			fact{body: &run.NodeAdopted{Node: "/plan", Round: 2}}, "taken over before"},
		{"the step to go on from, taken over", []fact{continuing()}, adopted("a"), "to be run again"},
		{"a step taken over from no run", []fact{continuing()}, fact{step: "b", body: &run.StepAdopted{}}, "from no run"},
		{"a start of what was taken over", []fact{continuing(), adopted("b"), started()}, enter("b", 1), "step b is succeeded"},
		{"a decision that was taken over", []fact{continuing(), nodeAdopted("/plan", "true"), started()}, decided("/plan", "true"), "decided before"},

		{"a run event that names a step", running, fact{step: "a", body: &run.CancelRequested{By: "me"}}, "never entered"},
		{"a run event that names an open step", inCall, fact{step: "a", body: &run.CancelRequested{By: "me"}}, "belongs to the run"},
		{"a step event that names no step", running, completed(""), "names none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fold(t, c.before...)
			err := s.Apply(next(s, c.then))
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Fatalf("error %v, want one with %q", err, c.why)
			}
		})
	}
}

// next makes a fact the event that follows on a state.
func next(s *run.State, f fact) run.Event {
	return run.Event{
		Header: run.Header{RunID: "r", Sequence: s.Last + 1, At: s.UpdatedAt, StepID: f.step, Type: f.body.EventType()},
		Body:   f.body,
	}
}

func TestNothingFollowsOnAnEnd(t *testing.T) {
	t.Parallel()
	ends := map[string][]fact{
		"succeeded": {queued(), started(), succeeded()},
		"failed":    {queued(), started(), failedRun()},
		"cancelled": {queued(), started(), cancelRequested(), cancelledRun()},
	}
	for name, facts := range ends {
		for typ, f := range everyFact() {
			s := fold(t, facts...)
			if err := s.Apply(next(s, f)); err == nil || !strings.Contains(err.Error(), "already "+name) {
				t.Errorf("%s after %s: error %v", typ, name, err)
			}
		}
	}
}

func TestFoldNeedsEverySequence(t *testing.T) {
	t.Parallel()
	for _, seq := range []uint64{0, 1, 2, 4, 5} { // 3 is next
		s := fold(t, queued(), started())
		ev := next(s, enter("a", 1))
		ev.Sequence = seq
		if err := s.Apply(ev); err == nil || !strings.Contains(err.Error(), "follows on 2") {
			t.Errorf("sequence %d: error %v", seq, err)
		}
	}
}

func TestFoldRefusesAnotherRunsEvent(t *testing.T) {
	t.Parallel()
	s := fold(t, queued(), started())
	ev := next(s, enter("a", 1))
	ev.RunID = "other"
	if err := s.Apply(ev); err == nil || !strings.Contains(err.Error(), `of run "other"`) {
		t.Errorf("error %v", err)
	}
}

// TestStepsOverTheirLife: what the fold makes of a step's events.
func TestStepsOverTheirLife(t *testing.T) {
	t.Parallel()
	type life struct {
		Status   run.StepStatus
		Attempts int
		InDoubt  bool
		Reenter  bool
		Failed   bool
		Output   uint64
	}
	for _, c := range []struct {
		name  string
		facts []fact
		want  life
	}{
		{"running", []fact{enter("a", 1)}, life{Status: run.StatusStepRunning, Attempts: 1}},
		{"completed", []fact{enter("a", 1), completed("a")}, life{Status: run.StatusStepSucceeded, Attempts: 1, Output: 4}},
		{"failed", []fact{enter("a", 1), failed("a")}, life{Status: run.StatusStepFailed, Attempts: 1, Failed: true}},
		{"never entered", []fact{failed("a")}, life{Status: run.StatusStepFailed, Failed: true}},
		{"skipped", []fact{skipped("a")}, life{Status: run.StatusStepSkipped}},
		{"cancelled", []fact{enter("a", 1), cancelled("a")}, life{Status: run.StatusStepCancelled, Attempts: 1}},
		{"in doubt", []fact{enter("a", 1), doubted("a")}, life{Status: run.StatusStepSuspended, Attempts: 1, InDoubt: true}},
		{"resolved", []fact{enter("a", 1), doubted("a"), resolved("a", run.VerdictSucceeded)}, life{Status: run.StatusStepSucceeded, Attempts: 1, Output: 5}},
		{"resolved as failed", []fact{enter("a", 1), doubted("a"), resolved("a", run.VerdictFailed)}, life{Status: run.StatusStepFailed, Attempts: 1, Failed: true}},
		{"to be entered again", []fact{enter("a", 1), doubted("a"), resolved("a", run.VerdictRerun)}, life{Status: run.StatusStepSuspended, Attempts: 1, Reenter: true}},
		{"entered again", []fact{enter("a", 1), doubted("a"), resolved("a", run.VerdictRerun), enter("a", 2)}, life{Status: run.StatusStepRunning, Attempts: 2}},
		{"not entered again after all", []fact{enter("a", 1), doubted("a"), resolved("a", run.VerdictRerun), failed("a")}, life{Status: run.StatusStepFailed, Attempts: 1, Failed: true}},
		{"retried", []fact{enter("a", 1), failed("a"), retry("/plan", 1), enter("a", 2), completed("a")}, life{Status: run.StatusStepSucceeded, Attempts: 2, Output: 7}},
		{"skipped, then entered", []fact{skipped("a"), retry("/plan", 1), enter("a", 1)}, life{Status: run.StatusStepRunning, Attempts: 1}},
		{"failed, then skipped", []fact{enter("a", 1), failed("a"), retry("/plan", 1), skipped("a")}, life{Status: run.StatusStepSkipped, Attempts: 1}},
		{"cancelled in doubt", []fact{enter("a", 1), doubted("a"), cancelRequested(), cancelledInDoubt("a")}, life{Status: run.StatusStepCancelled, Attempts: 1, InDoubt: true}},
		{"a call taken up again", []fact{enter("a", 1), paused("a"), resumed("a")}, life{Status: run.StatusStepRunning, Attempts: 1}},
		{"resumed", []fact{wait("a", 1), until("a", 30), paused("a"), resumed("a")}, life{Status: run.StatusStepRunning, Attempts: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fold(t, append([]fact{queued(), started()}, c.facts...)...)
			st := s.Steps["a"]
			got := life{st.Status, st.Attempts, st.InDoubt, st.Reenter, st.Failure != nil, st.Output.Seq}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			doubts, calls := 0, 0
			if st.InDoubt && !st.Status.Ended() {
				doubts = 1
			}
			if st.Status == run.StatusStepRunning && st.Effect != "" {
				calls = 1
			}
			if s.Doubts != doubts || s.Clock.Calls != calls {
				t.Errorf("%d doubts and %d calls in flight, want %d and %d", s.Doubts, s.Clock.Calls, doubts, calls)
			}
		})
	}
}

// TestRunsOverTheirLife: what the fold makes of a run's own events.
func TestRunsOverTheirLife(t *testing.T) {
	t.Parallel()
	s := fold(t, queued(), started())
	if s.Status != run.StatusRunning || s.RunID != "r" || s.StartedSeq != 2 {
		t.Errorf("started: %s, run %q, start %d", s.Status, s.RunID, s.StartedSeq)
	}
	s = fold(t, queued(), started("read"), enter("a", 1), doubted("a"), suspended())
	if s.Status != run.StatusSuspended || s.Suspension != run.KindRecovery || len(s.Rerun) != 1 {
		t.Errorf("suspended: %s because of %s, rerun %v", s.Status, s.Suspension, s.Rerun)
	}
	s = fold(t, queued(), started("read"), suspended(), started())
	if s.Suspension != "" || s.StartedSeq != 4 || s.Rerun != nil {
		t.Errorf("a permission to rerun outlived its start: %v", s.Rerun)
	}
	s = fold(t, queued(), started(), enter("a", 1), failed("a"), retry("/plan", 1), enter("a", 2), completed("a"), succeeded())
	if s.Usage.Steps != 2 || s.Usage.Retries != 1 || s.Output.Seq != 8 {
		t.Errorf("used %+v, output in event %d", s.Usage, s.Output.Seq)
	}
	s = fold(t, queued(), started(), enter("a", 1), doubted("a"), cancelRequested(), cancelledInDoubt("a"), cancelledRun())
	if s.Status != run.StatusCancelled || s.Doubts != 0 || s.Abandoned != 1 {
		t.Errorf("%s with %d doubts, %d abandoned", s.Status, s.Doubts, s.Abandoned)
	}
}

// TestATimeoutMayBeDecidedInEachAttempt, and nothing else twice.
func TestATimeoutMayBeDecidedInEachAttempt(t *testing.T) {
	t.Parallel()
	over := fact{body: &run.Decided{Node: "/plan", Failure: &run.Failure{Code: run.TimedOut, Retryable: true}}}
	s := fold(t, queued(), started(), wait("w", 1), over, failed("w"), retry("/plan", 1), wait("w", 2), over)
	if d := s.Decisions[run.NodeKey("", "/plan")]; d.Seq != 8 {
		t.Errorf("the second timeout is not the one that counts: %+v", d)
	}
}

// TestPanicsAreCountedAtOnePlace: only panics in a row without progress add up.
func TestPanicsAreCountedAtOnePlace(t *testing.T) {
	t.Parallel()
	panicked := fact{body: &run.Suspended{Reason: run.KindRecovery, Panic: "boom"}}
	if s := fold(t, queued(), started(), panicked, started(), panicked); s.Panics != 2 {
		t.Errorf("%d panics in a row, want 2", s.Panics)
	}
	s := fold(t, queued(), started(), panicked, started(), enter("a", 1), completed("a"), panicked)
	if s.Panics != 1 {
		t.Errorf("%d panics in a row after progress, want 1", s.Panics)
	}
}

// TestRecovering: what is appended for a dead owner, and that it is done with then.
func TestRecovering(t *testing.T) {
	t.Parallel()
	before := []fact{queued(), started(), enter("b", 1), completed("b"), wait("nap", 1), until("nap", 30), enter("a", 1), enter("c", 1), doubted("c")}
	s := fold(t, before...)
	var got []string
	for _, ev := range s.RecoverBodies() {
		text := string(ev.Body.EventType()) + " " + ev.StepID
		if b, ok := ev.Body.(*run.StepSuspended); ok && b.InDoubt {
			text += " in doubt"
		}
		got = append(got, text)
		if err := s.Apply(next(s, fact{step: ev.StepID, body: ev.Body})); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"step_suspended nap", "step_suspended a in doubt", "run_suspended "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.Status != run.StatusSuspended || s.Doubts != 2 || s.Clock.Calls != 0 {
		t.Errorf("%s with %d doubts and %d calls in flight", s.Status, s.Doubts, s.Clock.Calls)
	}
}
