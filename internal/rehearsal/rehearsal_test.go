package rehearsal_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/rehearsal"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

// order sleeps for an hour between two writes, then does two at once.
const order = `
workflow_schema: 1
id: order
revision: 1
steps:
  - {id: look, type: tool, tool: look}
  - {id: pay, type: tool, tool: pay, args: {got: {from: step, step: look}}}
  - {id: rest, type: sleep, duration_ms: 3600000}
  - {id: ship, type: tool, tool: ship}
  - {id: mail, type: tool, tool: ship}
plan: [look, pay, rest, {parallel: [ship, mail]}]
output: {pay: {from: step, step: pay}, ship: {from: step, step: ship}}
`

func returns(json string) rehearsal.Reply { return rehearsal.Reply{Output: []byte(json)} }

func spec(name string, effect tool.Effect) tool.Spec { return tool.Spec{Name: name, Effect: effect} }

// shop is a world with the tools of an order.
func shop() *rehearsal.World {
	w := rehearsal.New(culm.Config{}, time.Time{})
	w.Add(rehearsal.NewScript(spec("look", tool.Read), returns(`1`)))
	w.Add(rehearsal.NewScript(spec("pay", tool.Write), returns(`{"receipt":9}`)))
	ship := returns(`"shipped"`)
	ship.Takes = time.Minute
	w.Add(rehearsal.NewScript(spec("ship", tool.Write), ship))
	return w
}

func start(t *testing.T, w *rehearsal.World, def string) string {
	t.Helper()
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	v, err := w.Start(t.Context(), culm.Start{Workflow: []byte(def)})
	if err != nil {
		t.Fatal(err)
	}
	return v.RunID
}

// journal is what all commits held, in words.
func journal(w *rehearsal.World) string {
	var lines []string
	for _, c := range w.Commits() {
		lines = append(lines, c.String())
	}
	return strings.Join(lines, "\n")
}

func TestTimePassesByItself(t *testing.T) {
	t.Parallel()
	w := shop()
	id := start(t, w, order)
	v, err := w.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if v.Status != run.StatusSucceeded || string(v.Output) != `{"pay":{"receipt":9},"ship":"shipped"}` {
		t.Errorf("%s with %s\n%s", v.Status, v.Output, journal(w))
	}
	if took := v.UpdatedAt.Sub(v.CreatedAt); took != time.Hour+time.Minute {
		t.Errorf("it took %s", took)
	}
}

func TestNothingHappensUntilTimeIsLetPass(t *testing.T) {
	t.Parallel()
	w := shop()
	id := start(t, w, order)
	if err := w.Advance(59 * time.Minute); err != nil {
		t.Fatal(err)
	}
	v, err := w.View(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if v.Status != run.StatusRunning || v.Steps["pay"].Status != run.StatusStepSucceeded || v.Steps["ship"] != nil {
		t.Errorf("%s\n%s", v.Status, journal(w))
	}
	if got := w.Clock().Now().Sub(rehearsal.Epoch()); got != 59*time.Minute {
		t.Errorf("%s have passed", got)
	}
}

// The same start gives the same journal, with the same times, each time.
func TestRunsAreDetermined(t *testing.T) {
	t.Parallel()
	const wide = `
workflow_schema: 1
id: wide
revision: 1
steps:
  - {id: a, type: tool, tool: ship}
  - {id: b, type: tool, tool: pay}
  - {id: c, type: tool, tool: ship, timeout_ms: 60000}
  - {id: d, type: tool, tool: pay}
  - {id: e, type: sleep, duration_ms: 60000}
plan: {parallel: [a, b, c, d, e]}
`
	first := ""
	for range 20 {
		w := shop()
		if _, err := w.Wait(t.Context(), start(t, w, wide)); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, c := range w.Commits() {
			for _, ev := range c.Events {
				lines = append(lines, fmt.Sprint(ev.At, ev.Type, ev.StepID))
			}
		}
		got := strings.Join(lines, "\n")
		if first == "" {
			first = got
		}
		if got != first {
			t.Fatalf("first\n%s\nthen\n%s", first, got)
		}
	}
}

func TestTimeoutsPass(t *testing.T) {
	t.Parallel()
	w := shop()
	never := returns(`1`)
	never.Until = rehearsal.NewGate()
	w.Add(rehearsal.NewScript(spec("hang", tool.Read), never))
	id := start(t, w, "workflow_schema: 1\nid: h\nrevision: 1\nsteps: [{id: h, type: tool, tool: hang, timeout_ms: 60000}]\n")
	v, err := w.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if v.Failure == nil || v.Failure.Code != run.TimedOut || v.UpdatedAt.Sub(v.CreatedAt) != time.Minute {
		t.Errorf("%s %v after %s", v.Status, v.Failure, v.UpdatedAt.Sub(v.CreatedAt))
	}
}

func TestGateThatNobodyOpensIsNamed(t *testing.T) {
	t.Parallel()
	w := shop()
	gate := rehearsal.NewGate()
	held := returns(`1`)
	held.Until = gate
	w.Add(rehearsal.NewScript(spec("hold", tool.Write), held))
	id := start(t, w, "workflow_schema: 1\nid: h\nrevision: 1\nbudgets: {wall_time_ms: 1000}\nsteps: [{id: h, type: tool, tool: hold}]\n")
	if err := w.Settle(); err != nil {
		t.Fatal(err)
	}
	if blocked := w.Clock().Blocked(); len(blocked) != 1 || blocked[0] != "h" {
		t.Fatalf("blocked %v", blocked)
	}
	gate.Open()
	v, err := w.Wait(t.Context(), id)
	if err != nil || v.Status != run.StatusSucceeded {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestCrashAndGoOn(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{true, false} {
		w := shop()
		w.CrashAt(rehearsal.Crash{Before: before, Event: rehearsal.Event{Type: run.TypeStepCompleted, Step: "pay"}})
		id := start(t, w, order)
		v, err := w.Wait(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if v.Status != run.StatusRunning || v.Owner == nil || v.Owner.Alive || w.Processes() != 2 {
			t.Fatalf("%s, owner %+v, %d processes", v.Status, v.Owner, w.Processes())
		}
		v, err = w.Operate(t.Context(), id, &rehearsal.Operator{Knows: true})
		if err != nil {
			t.Fatal(err)
		}
		if v.Status != run.StatusSucceeded || string(v.Output) != `{"pay":{"receipt":9},"ship":"shipped"}` {
			t.Errorf("%s with %s", v.Status, v.Output)
		}
		pays := 0
		for _, c := range w.Calls() {
			if c.Tool == "pay" {
				pays++
			}
		}
		if pays != 1 {
			t.Errorf("paid %d times", pays)
		}
	}
}

func TestEverywhere(t *testing.T) {
	t.Parallel()
	all := rehearsal.Everywhere{Operator: &rehearsal.Operator{Knows: true}, Start: culm.Start{Workflow: []byte(order)}}
	if err := all.Begin(t.Context(), shop()); err != nil {
		t.Fatal(err)
	}
	if len(all.Places()) < 20 {
		t.Errorf("only %d places", len(all.Places()))
	}
	for _, place := range all.Places() {
		if err := all.Try(t.Context(), shop(), place); err != nil {
			t.Errorf("%s: %v", all.Name(place), err)
		}
	}
}

// A write that its author lets be repeated is found.
func TestEverywhereFindsWhatIsDoneTwice(t *testing.T) {
	t.Parallel()
	def := strings.Replace(order, "{id: pay, type: tool, tool: pay,", "{id: pay, type: tool, tool: pay, on_unknown: rerun,", 1)
	for _, may := range [][]string{nil, {"pay"}} {
		all := rehearsal.Everywhere{Operator: &rehearsal.Operator{Knows: true}, Start: culm.Start{Workflow: []byte(def)}, MayRepeat: may}
		if err := all.Begin(t.Context(), shop()); err != nil {
			t.Fatal(err)
		}
		var found []error
		for _, place := range all.Places() {
			if err := all.Try(t.Context(), shop(), place); err != nil {
				found = append(found, fmt.Errorf("%s: %w", all.Name(place), err))
			}
		}
		switch err := errors.Join(found...); {
		case may == nil && (len(found) != 1 || !strings.Contains(err.Error(), "step pay: pay was done 2 times")):
			t.Errorf("found %v", err)
		case may != nil && err != nil:
			t.Errorf("found %v, which may be", err)
		}
	}
}
