//go:build unix

package crash_test

import (
	"testing"

	"github.com/culm-dev/culm/internal/testkit/crashpoint"
	"github.com/culm-dev/culm/run"
)

// TestInvariant6_ExitWithAnUnknownOutcome: the process dies inside the suffix's tool,
// after the tool has recorded the call.
func TestInvariant6_ExitWithAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	onEachStore(t, testExitWithAnUnknownOutcome)
}

func testExitWithAnUnknownOutcome(t *testing.T, kind string) {
	s := crashed(t, kind, crashpoint.InTool, "suffix")

	reopened := s.look("")
	before := s.journal("")
	s.sameRun("reopened", reopened)
	wantBare(t, "reopened", reopened.View, run.StatusRunning)
	wantDead(t, "reopened", reopened.View)
	s.wantSucceeded("reopened", reopened.View, "prefix")
	suffix := reopened.View.Steps["suffix"]
	if suffix == nil || suffix.Status != run.StatusStepRunning || suffix.Attempts != 1 || suffix.Output != nil || suffix.Failure != nil {
		t.Fatalf("reopened: suffix %+v", suffix)
	}
	s.wantUsage("reopened", reopened, 2)
	s.wantLast("reopened", "step_started", "suffix")
	s.wantMarks("reopened", map[string]int{"prefix": 1, "suffix": 1})
	s.check()

	recovered := s.does(task{Op: opRecover})
	s.sameRun("recovered", recovered)
	wantBare(t, "recovered", recovered.View, run.StatusSuspended)
	s.wantExtended(before)
	if n := len(s.events("")) - len(entries(t, before)); n != 2 {
		t.Errorf("recover appended %d events, want 2", n)
	}
	s.wantLast("recovered", "run_suspended", "")
	s.wantUsage("recovered", recovered, 2)
	wantSame(t, "recover", "prefix", reopened.View.Steps["prefix"], recovered.View.Steps["prefix"])
	s.wantInDoubt(recovered.View.Steps["suffix"], suffix.InputHash)
	s.wantMarks("recovered", map[string]int{"prefix": 1, "suffix": 1})
	s.check()

	s.recoverAgain()
	s.wantRefused(recovered)

	// Decided, it goes on to success, and nothing happens twice.
	before = s.journal("")
	resolved := s.does(task{Op: opResolve, Run: s.want.RunID, Step: "suffix"})
	if resolved.Refused != "" {
		t.Fatalf("resolve was refused: %s", resolved.Refused)
	}
	continued := s.does(task{Op: opContinue, Run: s.want.RunID})
	s.sameRun("continued", continued)
	s.wantExtended(before)
	s.wantResolvedEnd(continued)
	s.check()
}

// wantInDoubt checks the suffix after recovery.
func (s *stages) wantInDoubt(st *run.SnapshotStep, inputHash string) {
	s.t.Helper()
	if st.Status != run.StatusStepSuspended || st.Attempts != 1 || !st.InDoubt || st.Output != nil || st.InputHash != inputHash {
		s.t.Errorf("recovered: suffix %s, attempts %d, in doubt %v, output %s, input %s; it was entered with %s",
			st.Status, st.Attempts, st.InDoubt, st.Output, st.InputHash, inputHash)
	}
	if st.Failure == nil || st.Failure.Code != run.RecoverySuspended {
		s.t.Errorf("recovered: suffix: failure %+v, want %s", st.Failure, run.RecoverySuspended)
	}
}

// wantRefused checks that continue is refused, trusted and allowed as it is, and
// that this changes nothing at all.
func (s *stages) wantRefused(recovered report) {
	s.t.Helper()
	before, journal, locks := s.everything(), s.journal(""), s.locks()
	refused := s.does(task{Op: opContinue, Run: s.want.RunID})
	if refused.Refused != "step_in_doubt" || refused.Began != nil {
		s.t.Errorf("continue: refused with %q", refused.Refused)
	}
	wantSame(s.t, "the refusal", "the listed steps", []string{"suffix"}, refused.Doubts)
	s.wantUnchanged(before)
	wantSame(s.t, "the refusal", "the locks", locks, s.locks())
	wantSame(s.t, "the refusal", "the journal", journal.Commits, s.journal("").Commits)
	wantSame(s.t, "the refusal", "the snapshot", recovered.View, refused.View)
	s.sameRun("refused", refused)
	s.wantMarks("refused", map[string]int{"prefix": 1, "suffix": 1})
	all := s.events("")
	if n := count(all, "step_completed", "suffix") + count(all, "run_succeeded", ""); n != 0 {
		s.t.Errorf("the journal holds a success of what is in doubt")
	}
	s.check()
}

// wantResolvedEnd checks the end of a pair whose suffix was said to have succeeded.
func (s *stages) wantResolvedEnd(r report) {
	s.t.Helper()
	if r.View.Status != run.StatusSucceeded {
		s.t.Fatalf("at the end: %s, failure %v", r.View.Status, r.View.Failure)
	}
	s.wantSucceeded("at the end", r.View, "prefix")
	s.wantSucceeded("at the end", r.View, "suffix")
	s.wantUsage("at the end", r, 2)
	s.wantMarks("at the end", map[string]int{"prefix": 1, "suffix": 1})
	all := s.events("")
	if n := count(all, "step_started", "suffix"); n != 1 {
		s.t.Errorf("the suffix was entered %d times", n)
	}
	if count(all, "step_completed", "suffix") != 0 || count(all, "step_resolved", "suffix") != 1 {
		s.t.Errorf("the suffix's end is not the verdict: %v", all)
	}
}
