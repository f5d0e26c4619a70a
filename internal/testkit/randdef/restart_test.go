package randdef_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/internal/testkit/checker"
	"github.com/culm-dev/culm/internal/testkit/randdef"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
)

// TestInvariant26_RandomRestarts: a run that goes on from any step of another one
// calls nothing that had succeeded before that step began, keeps every promise that
// the outside checker knows, and comes to the output of the whole run.
func TestInvariant26_RandomRestarts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		slots := 1 + 3*int64(rapid.IntRange(0, 1).Draw(t, "slots"))
		h := newHarness(t, randdef.Cases(randdef.Config{Calm: true, NoSleep: true, Concurrency: slots}).Draw(t, "case"))
		h.start()
		st := h.disk.Open()
		defer st.Close()
		old := h.events(st, h.run)
		from := drawStep(t, old)
		again := h.restart(st, from)
		now := h.events(st, again)
		h.examine(st, h.run, again)
		if slices.ContainsFunc(old, isRetry) || slices.ContainsFunc(now, isRetry) {
			return // what a retry comes to depends on how many rounds are left
		}
		for _, id := range startedAgain(old, now, from) {
			t.Errorf("from %s, %s was entered again", from, id)
		}
		if diff := cmp.Diff(ending(old), ending(now)); diff != "" {
			t.Errorf("from %s, the end differs (-whole +restarted):\n%s", from, diff)
		}
		if t.Failed() {
			t.Fatalf("%s", h.c)
		}
	})
}

func isRetry(ev run.Event) bool { return ev.Type == run.TypeRetryReserved }

// drawStep draws one of the steps that were entered.
func drawStep(t *rapid.T, events []run.Event) string {
	entered := map[string]bool{}
	for _, ev := range events {
		if ev.Type == run.TypeStepStarted {
			entered[ev.StepID] = true
		}
	}
	if len(entered) == 0 {
		t.Skip("nothing was entered")
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(entered))).Draw(t, "from")
}

// restart goes on from the step, to the end.
func (h *harness) restart(st store.Store, from string) string {
	work := randdef.Tool(func(ctx context.Context, run, step string) (int, error) { return failures(ctx, st, run, step) })
	e, err := engine.Open(h.t.Context(), st, engine.Config{Tools: []tool.Tool{work}})
	if err != nil {
		h.t.Fatal(err)
	}
	defer e.Close(context.Background())
	v, err := e.Restart(h.t.Context(), h.run, engine.RestartOptions{From: from})
	var refused *engine.Error
	if errors.As(err, &refused) && refused.Code == engine.CodeStepNotReached {
		h.t.Skip("a retry around it began anew, and did not come to it")
	}
	if err == nil {
		v, err = e.Wait(h.t.Context(), v.RunID)
	}
	if err != nil {
		h.t.Fatalf("restart from %s: %v\n%s", from, err, h.c)
	}
	if !v.Status.Terminal() {
		h.t.Fatalf("restarted from %s, it is %s", from, v.Status)
	}
	return v.RunID
}

func (h *harness) events(st store.Store, id string) (events []run.Event) {
	groups, err := st.Read(h.t.Context(), id, 0, 64<<20)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, g := range groups {
		for _, line := range g.Events {
			ev, err := run.Decode(line)
			if err != nil {
				h.t.Fatal(err)
			}
			events = append(events, ev)
		}
	}
	return events
}

// examine lets the outside checker look at both runs.
func (h *harness) examine(st store.Store, runs ...string) {
	var journals []checker.Journal
	for _, id := range runs {
		groups, err := st.Read(h.t.Context(), id, 0, 64<<20)
		if err != nil {
			h.t.Fatal(err)
		}
		j := checker.Journal{Run: id, Blob: func(sum string) ([]byte, error) { return st.Blob(h.t.Context(), id, sum) }}
		for _, g := range groups {
			j.Commits = append(j.Commits, g.Events)
		}
		journals = append(journals, j)
	}
	for _, f := range checker.Check(journals, nil) {
		h.t.Error(f)
	}
}

// startedAgain are the steps that had succeeded before the given one began, and
// were entered again. Rounds of a repeat may be: one that was exhausted begins anew.
func startedAgain(old, now []run.Event, from string) (again []string) {
	done := map[string]bool{}
	for _, ev := range old {
		if ev.Type == run.TypeStepStarted && ev.StepID == from {
			break
		}
		if ev.Type == run.TypeStepCompleted && !strings.Contains(ev.StepID, "#") {
			done[ev.StepID] = true
		}
	}
	for _, ev := range now {
		if ev.Type == run.TypeStepStarted && done[ev.StepID] {
			again = append(again, ev.StepID)
		}
	}
	return again
}

// ending is how a run ended, as far as messages do not matter.
func ending(events []run.Event) []string {
	switch b := events[len(events)-1].Body.(type) {
	case *run.Succeeded:
		if b.OutputBlob != nil {
			return []string{"succeeded", b.OutputBlob.SHA256}
		}
		return []string{"succeeded", string(b.Output)}
	case *run.Failed:
		return []string{"failed", string(b.Failure.Code)}
	}
	return nil
}
