//go:build unix

package crash_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/internal/testkit/crashpoint"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// identity is what of a run never changes.
type identity struct {
	RunID, ParentRunID, ParentStepID, RootRunID, SessionID string
	Definition                                             run.DefinitionRef
	Budget                                                 run.Budget
	BundleHash                                             string
	Bundle, Args                                           string // "" if not shown
	CreatedAt                                              time.Time
}

func identityOf(v *run.View) identity {
	return identity{
		RunID: v.RunID, ParentRunID: v.ParentRunID, ParentStepID: v.ParentStepID, RootRunID: v.RootRunID,
		SessionID: v.SessionID, Definition: v.Definition, Budget: v.Budget, BundleHash: v.BundleHash,
		Bundle: string(v.Bundle), Args: string(v.Args), CreatedAt: v.CreatedAt,
	}
}

// pinned is the identity that a new run of the pair has, but for ids and time.
func pinned(t *testing.T, began *run.View) identity {
	t.Helper()
	source, err := workflow.Load("pair.yaml", pair)
	if err != nil {
		t.Fatal(err)
	}
	program, err := workflow.Compile(source, workflow.NewSnapshot(), unknownTools)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := program.Bundle.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	limits, err := workflow.Effective(source.Definition().Budgets, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return identity{
		RunID: began.RunID, RootRunID: began.RunID, SessionID: "night",
		Definition: run.DefinitionRef{ID: "pair", Revision: 3}, Budget: limits,
		BundleHash: program.Hash, Bundle: string(bundle), Args: `{"word":"go"}`, CreatedAt: began.CreatedAt,
	}
}

// stages follows a run of the pair through the processes that work on it.
type stages struct {
	*site
	t    *testing.T
	want identity
}

// crashed runs the pair in a process that dies at a point, and reaps it.
func crashed(t *testing.T, kind string, at crashpoint.Point, step string) *stages {
	t.Helper()
	s := &stages{site: newSiteOn(t, kind), t: t}
	began := s.dies(task{Op: opRun, Die: at, Step: step}).began()
	if began.Status != run.StatusRunning || began.LastSequence != 2 || len(began.Steps) != 0 {
		t.Errorf("as it began: %s with %d events and steps %v", began.Status, began.LastSequence, began.Steps)
	}
	s.want = pinned(t, began)
	return s
}

// sameRun checks that there is one run, of the same identity, with a journal 1..n.
func (s *stages) sameRun(stage string, r report) {
	s.t.Helper()
	if len(r.Runs) != 1 || len(s.journals()) != 1 {
		s.t.Fatalf("%s: %d runs are listed, and there are %d journals; want one", stage, len(r.Runs), len(s.journals()))
	}
	if diff := cmp.Diff(s.want, identityOf(r.View)); diff != "" {
		s.t.Errorf("%s: identity (-want +got):\n%s", stage, diff)
	}
	all := s.events("")
	for i, e := range all {
		if e.Sequence != uint64(i+1) {
			s.t.Errorf("%s: event %d has sequence %d", stage, i+1, e.Sequence)
		}
	}
	if r.View.LastSequence != uint64(len(all)) {
		s.t.Errorf("%s: last_sequence %d, and the journal has %d events", stage, r.View.LastSequence, len(all))
	}
	if r.View.Damaged != "" {
		s.t.Errorf("%s: damaged: %s", stage, r.View.Damaged)
	}
}

// wantUsage checks what was spent: steps entered, and nothing else; by the snapshot,
// by the journal's reservations and by the account.
func (s *stages) wantUsage(stage string, r report, steps int64) {
	s.t.Helper()
	zero := int64(0)
	want := run.Usage{Steps: steps, Tokens: &zero, CostMicros: &zero}
	if diff := cmp.Diff(want, r.View.Usage); diff != "" {
		s.t.Errorf("%s: usage (-want +got):\n%s", stage, diff)
	}
	if diff := cmp.Diff(map[string]int64{"steps": steps}, r.Account.Spent); diff != "" {
		s.t.Errorf("%s: account (-want +got):\n%s", stage, diff)
	}
	var reservations int64
	for _, e := range s.events("") {
		if e.Reserved == nil {
			continue
		}
		reservations++
		if diff := cmp.Diff(map[string]int64{"steps": 1}, e.Reserved); diff != "" {
			s.t.Errorf("%s: reservation of event %d (-want +got):\n%s", stage, e.Sequence, diff)
		}
	}
	if reservations != steps {
		s.t.Errorf("%s: %d reservations, want %d", stage, reservations, steps)
	}
}

// wantLast checks the journal's last event.
func (s *stages) wantLast(stage, typ, step string) {
	s.t.Helper()
	all := s.events("")
	if last := all[len(all)-1]; last.Type != typ || last.Step != step {
		s.t.Errorf("%s: the last event is %s %s, want %s %s", stage, last.Type, last.Step, typ, step)
	}
}

// wantMarks checks which tools were called, and how often.
func (s *stages) wantMarks(stage string, want map[string]int) {
	s.t.Helper()
	got := make(map[string]int)
	for _, l := range s.done() {
		got[l.Step]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("%s: calls of tools (-want +got):\n%s", stage, diff)
	}
}

// marked is what a step's tool returned, as the log of effects has it.
func (s *stages) marked(step string) mark {
	s.t.Helper()
	for _, l := range s.done() {
		if l.Step == step {
			var m mark
			if err := json.Unmarshal([]byte(l.What), &m); err != nil {
				s.t.Fatal(err)
			}
			return m
		}
	}
	s.t.Fatalf("step %s left no mark", step)
	return mark{}
}

// wantSucceeded checks a step that was entered once and succeeded.
func (s *stages) wantSucceeded(stage string, v *run.View, step string) {
	s.t.Helper()
	st := v.Steps[step]
	if st == nil {
		s.t.Fatalf("%s: there is no step %s", stage, step)
	}
	var output mark
	if err := json.Unmarshal(st.Output, &output); err != nil {
		s.t.Fatalf("%s: output of %s: %q: %v", stage, step, st.Output, err)
	}
	if st.Status != run.StatusStepSucceeded || st.Attempts != 1 || st.Failure != nil || st.InDoubt || st.EndedAt == nil {
		s.t.Errorf("%s: step %s: %s, attempts %d, failure %v, in doubt %v", stage, step, st.Status, st.Attempts, st.Failure, st.InDoubt)
	}
	if want := s.marked(step); output != want {
		s.t.Errorf("%s: output of %s: %+v, and its tool returned %+v", stage, step, output, want)
	}
}

// wantBare checks a run that has not come to anything yet.
func wantBare(t *testing.T, stage string, v *run.View, status run.Status) {
	t.Helper()
	if v.Status != status || v.Output != nil || v.Failure != nil {
		t.Errorf("%s: run %s, output %s, failure %v; want %s without either", stage, v.Status, v.Output, v.Failure, status)
	}
	if (v.Suspension != nil) != (status == run.StatusSuspended) {
		t.Errorf("%s: suspension %v of a run that is %s", stage, v.Suspension, v.Status)
	}
}

// wantDead checks that the run has an owner, which is gone.
func wantDead(t *testing.T, stage string, v *run.View) {
	t.Helper()
	if v.Owner == nil || v.Owner.Alive {
		t.Errorf("%s: owner %+v, want one that is gone", stage, v.Owner)
	}
}

// noTrace checks that a step is nowhere.
func (s *stages) noTrace(stage string, v *run.View, step string) {
	s.t.Helper()
	if st := v.Steps[step]; st != nil {
		s.t.Errorf("%s: step %s is %s", stage, step, st.Status)
	}
	for _, e := range s.events("") {
		if e.Step == step {
			s.t.Errorf("%s: event %d is %s of step %s", stage, e.Sequence, e.Type, step)
		}
	}
}

// recoverAgain: recovering is idempotent.
func (s *stages) recoverAgain() {
	s.t.Helper()
	before := s.everything()
	again := s.does(task{Op: opRecover})
	if len(again.Recovered) != 0 {
		s.t.Errorf("recovered again: %v", again.Recovered)
	}
	s.wantUnchanged(before)
}

// asCheckpoint checks what continue returned: the running snapshot, with steps and
// usage as they were.
func (s *stages) asCheckpoint(continued, checkpoint report) {
	s.t.Helper()
	v := continued.Began
	if v == nil {
		s.t.Fatalf("it was not continued: %s", continued.Refused)
	}
	wantBare(s.t, "as it was continued", v, run.StatusRunning)
	if v.LastSequence != checkpoint.View.LastSequence+1 {
		s.t.Errorf("as it was continued: last_sequence %d after %d", v.LastSequence, checkpoint.View.LastSequence)
	}
	wantSame(s.t, "continue", "usage", checkpoint.View.Usage, v.Usage)
	got := identityOf(v)
	got.Bundle, got.Args = s.want.Bundle, s.want.Args // not shown
	wantSame(s.t, "continue", "identity", s.want, got)
	wantSame(s.t, "continue", "steps", withoutValues(checkpoint.View.Steps), withoutValues(v.Steps))
}

func withoutValues(steps map[string]*run.SnapshotStep) map[string]run.SnapshotStep {
	bare := make(map[string]run.SnapshotStep)
	for id, st := range steps {
		copied := *st
		copied.Output = nil
		bare[id] = copied
	}
	return bare
}

// wantEnded checks the end of a pair of which nothing was done twice.
func (s *stages) wantEnded(r report) {
	s.t.Helper()
	v := r.View
	if v.Status != run.StatusSucceeded || v.Failure != nil || v.Suspension != nil {
		s.t.Fatalf("at the end: %s, failure %v, suspension %v", v.Status, v.Failure, v.Suspension)
	}
	s.wantSucceeded("at the end", v, "prefix")
	s.wantSucceeded("at the end", v, "suffix")
	if got, want := s.marked("suffix").Word, s.marked("prefix").Token; got != want {
		s.t.Errorf("the suffix was called with %q, and the prefix's recorded output is %q", got, want)
	}
	if want := fmt.Sprintf("%q", s.marked("suffix").Token); string(v.Output) != want {
		s.t.Errorf("output %s, want %s", v.Output, want)
	}
	s.wantUsage("at the end", r, 2)
	s.wantMarks("at the end", map[string]int{"prefix": 1, "suffix": 1})
	all := s.events("")
	for _, step := range []string{"prefix", "suffix"} {
		for _, typ := range []string{"step_started", "step_completed"} {
			if n := count(all, typ, step); n != 1 {
				s.t.Errorf("%d %s of %s, want 1", n, typ, step)
			}
		}
	}
}

func wantSame(t *testing.T, who, what string, before, after any) {
	t.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("%s changed %s (-before +after):\n%s", who, what, diff)
	}
}
