//go:build unix

package crash_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/internal/testkit/crashpoint"
	"github.com/culm-dev/culm/run"
)

// TestInvariant5_ExitAfterACompletedPrefix: the process dies inside the store, right
// after the commit of the prefix's step_completed has returned.
func TestInvariant5_ExitAfterACompletedPrefix(t *testing.T) {
	t.Parallel()
	onEachStore(t, testExitAfterACompletedPrefix)
}

func testExitAfterACompletedPrefix(t *testing.T, kind string) {
	s := crashed(t, kind, crashpoint.AfterOutcome, "prefix")

	reopened := s.look("")
	before := s.journal("")
	s.sameRun("reopened", reopened)
	wantBare(t, "reopened", reopened.View, run.StatusRunning)
	wantDead(t, "reopened", reopened.View)
	s.wantSucceeded("reopened", reopened.View, "prefix")
	s.noTrace("reopened", reopened.View, "suffix")
	s.wantUsage("reopened", reopened, 1)
	s.wantLast("reopened", "step_completed", "prefix")
	s.wantMarks("reopened", map[string]int{"prefix": 1})
	s.check()

	recovered := s.does(task{Op: opRecover})
	if diff := cmp.Diff([]string{s.want.RunID}, recovered.Recovered); diff != "" {
		t.Errorf("recover returned (-want +got):\n%s", diff)
	}
	s.sameRun("recovered", recovered)
	wantBare(t, "recovered", recovered.View, run.StatusSuspended)
	if recovered.View.Suspension.Kind != run.KindRecovery {
		t.Errorf("recovered: suspension %+v", recovered.View.Suspension)
	}
	s.wantExtended(before)
	if n := len(s.events("")) - len(entries(t, before)); n != 1 {
		t.Errorf("recover appended %d events, want 1", n)
	}
	s.wantLast("recovered", "run_suspended", "")
	wantSame(t, "recover", "steps", reopened.View.Steps, recovered.View.Steps)
	s.wantUsage("recovered", recovered, 1)
	s.wantMarks("recovered", map[string]int{"prefix": 1})
	s.check()

	s.recoverAgain()
	before = s.journal("")
	continued := s.does(task{Op: opContinue, Run: s.want.RunID})
	s.asCheckpoint(continued, recovered)
	s.sameRun("continued", continued)
	s.wantExtended(before)
	s.wantEnded(continued)
	wantSame(t, "continue", "prefix", reopened.View.Steps["prefix"], continued.View.Steps["prefix"])
	s.check()
}
