package run_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/run"
)

// eventful is a journal in which nearly everything happens.
func eventful() []fact {
	return []fact{
		queued(), started("read"),
		decided("/plan/nodes/0", "[1,2]"),
		enter("a@root[0]", 1), enter("a@root[1]", 1).after(1),
		completed("a@root[0]").after(2), failed("a@root[1]"),
		retry("/plan/nodes/0/body", 1), enter("a@root[1]", 2).after(1),
		doubted("a@root[1]").after(1),
		wait("nap", 1), until("nap", 30), wait("endless", 1), {step: "endless", body: &run.WaitSet{}},
		wait("short", 1), until("short", 12), completed("short").after(7),
		{step: "w", body: &run.StepStarted{Attempt: 1, ChildRunID: "c", Workflow: &run.DefinitionRef{ID: "w", Revision: 1}, Args: run.Raw(`{}`)}},
		skipped("w/b"), enter("w/a", 1),
		paused("nap"), paused("endless"), paused("w"), doubted("w/a"),
		{body: &run.Suspended{Reason: run.KindRecovery, Panic: "boom"}},
		resolved("a@root[1]", run.VerdictSucceeded).after(5), resolved("w/a", run.VerdictRerun),
		{body: &run.DeadlineExtended{Until: at(500), By: "me"}}, started(),
		resumed("nap"), resumed("endless"), resumed("w"), enter("w/a", 2), completed("w/a"), completed("w"),
		completed("nap").after(20), enter("z", 1),
		timeOver(), doubted("z"),
		cancelRequested(), cancelledInDoubt("z"), cancelled("endless"), cancelledRun(),
	}
}

// TestCheckpointsAreStates: from a checkpoint at any prefix, the rest of the journal
// gives the same states as from the beginning.
func TestCheckpointsAreStates(t *testing.T) {
	t.Parallel()
	events := journal(eventful()...)
	var prefixes []*run.State
	for n := range len(events) + 1 {
		s, err := run.Fold(events[:n])
		if err != nil {
			t.Fatal(err)
		}
		prefixes = append(prefixes, s)
	}
	for n := range prefixes {
		data, err := prefixes[n].EncodeCheckpoint()
		if err != nil {
			t.Fatal(err)
		}
		s, err := run.DecodeCheckpoint(data)
		if err != nil {
			t.Fatal(err)
		}
		for m := n; ; m++ {
			if diff := cmp.Diff(prefixes[m], s, same()); diff != "" {
				t.Fatalf("checkpoint at %d, state at %d (-journal +checkpoint):\n%s", n, m, diff)
			}
			sameTimes(t, prefixes[m], s)
			if m == len(events) {
				break
			}
			if err := s.Apply(events[m]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// sameTimes compares what states say about time.
func sameTimes(t *testing.T, want, got *run.State) {
	t.Helper()
	now := want.UpdatedAt.Add(3e9)
	if !want.WakeAt().Equal(got.WakeAt()) || !want.Deadline(now).Equal(got.Deadline(now)) || !want.Expiry(now).Equal(got.Expiry(now)) {
		t.Errorf("at %d: wake %v and %v, deadline %v and %v, expiry %v and %v", want.Last,
			want.WakeAt(), got.WakeAt(), want.Deadline(now), got.Deadline(now), want.Expiry(now), got.Expiry(now))
	}
}

func TestCheckpointsHoldNoValues(t *testing.T) {
	t.Parallel()
	s := run.NewState()
	s.Keep()
	for _, ev := range journal(queued(), started(), enter("a", 1), completed("a")) {
		if err := s.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	if string(s.Steps["a"].Output.Raw) != `"out"` || string(s.Args.Raw) != `{"n":1}` {
		t.Errorf("a state that keeps values has %s and %s", s.Steps["a"].Output.Raw, s.Args.Raw)
	}
	data, err := s.EncodeCheckpoint()
	if err != nil || strings.Contains(string(data), `"out"`) {
		t.Errorf("error %v, %s", err, data)
	}
}

func TestDecodeCheckpointIsStrict(t *testing.T) {
	t.Parallel()
	data, err := fold(t, queued(), started()).EncodeCheckpoint()
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"unknown member": strings.Replace(string(data), "{", `{"surprise":1,`, 1),
		"duplicate name": strings.Replace(string(data), "{", `{"run_id":"r",`, 1),
		"cut":            string(data[:len(data)-1]),
		"empty":          "",
	} {
		if _, err := run.DecodeCheckpoint([]byte(bad)); err == nil {
			t.Errorf("%s: it is read", name)
		}
	}
}
