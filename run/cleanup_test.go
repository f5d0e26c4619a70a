package run_test

import (
	"strings"
	"testing"
	"time"

	"github.com/culm-dev/culm/run"
)

// cleaning makes a fact one of a cleanup.
func (f fact) cleaning() fact {
	switch b := f.body.(type) {
	case *run.StepStarted:
		b.Cleanup = true
	case *run.StepFailed:
		b.Cleanup = true
	case *run.Decided:
		b.Cleanup = true
	case *run.RetryReserved:
		b.Cleanup = true
	}
	return f
}

func cleanupTimeOver() fact {
	return fact{body: &run.Decided{Node: run.CleanupTimeNode, Failure: &run.Failure{Code: run.BudgetExceeded}}}
}

// TestCleanupsGoOnWhereNothingElseDoes: in a run that can only end, and after a retry
// round although they succeeded.
func TestCleanupsGoOnWhereNothingElseDoes(t *testing.T) {
	t.Parallel()
	done := []fact{queued(), started(), enter("c", 1).cleaning(), completed("c"), decided("/plan", "true").cleaning()}
	for _, c := range []struct {
		name   string
		before []fact
		then   fact
		why    string // of refusing it; "" if it is in order
	}{
		{"a cleanup of a cancelled run", []fact{queued(), started(), cancelRequested()}, enter("c", 1).cleaning(), ""},
		{"a step of a cancelled run", []fact{queued(), started(), cancelRequested()}, enter("c", 1), "being cancelled"},
		{"a cleanup when time is over", []fact{queued(), started(), timeOver()}, enter("c", 1).cleaning(), ""},
		{"a step when time is over", []fact{queued(), started(), timeOver()}, enter("c", 1), "time is over"},
		{"a cleanup that fails before it is entered", []fact{queued(), started(), timeOver()}, failed("c").cleaning(), ""},
		{"a step that fails before it is entered", []fact{queued(), started(), timeOver()}, failed("c"), "time is over"},
		{"a decision of a cleanup", []fact{queued(), started(), timeOver()}, decided("/plan", "true").cleaning(), ""},
		{"a round in a cleanup", []fact{queued(), started(), timeOver()}, retry("/plan", 1).cleaning(), ""},
		{"a round", []fact{queued(), started(), timeOver()}, retry("/plan", 1), "time is over"},
		{"a cleanup when its time is over", []fact{queued(), started(), timeOver(), cleanupTimeOver()}, enter("c", 1).cleaning(), "cleanups is over"},
		{"a cleanup while nobody works on the run", []fact{queued(), started(), suspended()}, enter("c", 1).cleaning(), "suspended"},

		{"a cleanup of another round", append(done[:5:5], retry("/plan", 1)), enter("c", 2).cleaning(), ""},
		{"a cleanup of the same round", done, enter("c", 2).cleaning(), "no retry round"},
		{"a step that succeeded, in another round", append(done[:5:5], retry("/plan", 1)), enter("c", 2), "succeeded"},
		{"a cleanup in doubt, in another round", []fact{queued(), started(), enter("c", 1).cleaning(), doubted("c"), retry("/plan", 1)},
			enter("c", 2).cleaning(), "in doubt"},
		{"a decision of another round", append(done[:5:5], retry("/plan", 1)), decided("/plan", "false").cleaning(), ""},
		{"a decision of the same round", done, decided("/plan", "false").cleaning(), "decided before"},
		{"another decision in another round", append(done[:5:5], retry("/plan", 1)), decided("/plan", "false"), "decided before"},

		{"the end of a time that did not begin", []fact{queued(), started()}, cleanupTimeOver(), "may go on"},
		{"the end of it twice", []fact{queued(), started(), timeOver(), cleanupTimeOver()}, cleanupTimeOver(), "is over"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			evs := journal(append(c.before[:len(c.before):len(c.before)], c.then)...)
			_, err := run.Fold(evs)
			switch {
			case c.why == "" && err != nil:
				t.Error(err)
			case c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)):
				t.Errorf("error %v, want one that says %q", err, c.why)
			}
		})
	}
}

// TestTheTimeOfCleanups counts from when the run can only end, and anew at each start.
func TestTheTimeOfCleanups(t *testing.T) {
	t.Parallel()
	budget := queued()
	budget.body.(*run.Queued).Budget.CleanupMS = 5000
	at := func(s *run.State) time.Duration {
		if s.CleanupDeadline().IsZero() {
			return -1
		}
		return s.CleanupDeadline().Sub(epoch())
	}
	for name, c := range map[string]struct {
		facts []fact
		want  time.Duration
	}{
		"a run that may go on":     {[]fact{started()}, -1},
		"cancelled":                {[]fact{started(), cancelRequested().after(10)}, 15 * time.Second},
		"time over":                {[]fact{started(), timeOver().after(10)}, 15 * time.Second},
		"cancelled after that":     {[]fact{started(), timeOver().after(10), cancelRequested().after(2)}, 15 * time.Second},
		"continued":                {[]fact{started(), cancelRequested().after(10), suspended().after(1), started().after(100)}, 116 * time.Second},
		"cancelled, then started":  {[]fact{cancelRequested().after(10), started().after(1)}, 16 * time.Second},
		"its time is over as well": {[]fact{started(), timeOver().after(10), cleanupTimeOver().after(5)}, -1},
	} {
		if got := at(fold(t, append([]fact{budget}, c.facts...)...)); got != c.want {
			t.Errorf("%s: %s after the beginning, want %s", name, got, c.want)
		}
	}
}
