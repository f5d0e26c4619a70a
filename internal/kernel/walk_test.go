package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/internal/testkit/randdef"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// TestRandomWalks takes random ways through random plans: calls that succeed, fail
// and are never heard of again, decisions of every kind, verdicts, cancelling, time
// running out, owners that die or stop, and others that go on. It shows of each that
//
//   - no event that the machine proposes, or that may come from outside, is refused;
//   - after every single event, also in the middle of a commit, a machine made of the
//     folded state says what the machine says that applied event by event;
//   - a state read from a checkpoint anywhere is the state that the journal gives;
//   - nothing stands still but for a doubt, and without doubts the run ends.
func TestRandomWalks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWalker(t)
		w.must(w.begin())
		for range rapid.IntRange(0, 120).Draw(t, "steps") {
			if w.over() {
				break
			}
			w.wander()
		}
		w.bringToEnd()
		w.checkFold()
	})
}

type walker struct {
	*sim
	t     *rapid.T
	slots int
	calm  bool // from here on everything succeeds
}

func newWalker(t *rapid.T) *walker {
	c := randdef.Cases(randdef.Config{Depth: rapid.IntRange(1, 5).Draw(t, "depth")}).Draw(t, "case")
	for _, def := range c.Bundle.Definitions {
		for _, s := range def.Steps {
			if s.Type != workflow.ToolStep && rapid.IntRange(0, 3).Draw(t, "timeout") == 3 {
				ms := int64(rapid.IntRange(1, 20_000).Draw(t, "ms"))
				s.TimeoutMS = &ms
			}
		}
	}
	prog, err := workflow.CompileBundle(c.Bundle, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, c)
	}
	return &walker{sim: newSim(prog), t: t, slots: rapid.IntRange(1, 4).Draw(t, "slots")}
}

func (w *walker) must(err error) {
	if err != nil {
		w.t.Fatalf("%v\n%s", err, w.journal())
	}
	w.compare()
}

func (w *walker) journal() string {
	text := ""
	for _, ev := range w.events {
		line, err := ev.Encode()
		if err != nil {
			return err.Error()
		}
		text += string(line) + "\n"
	}
	return text
}

// emit makes every event that the walk records be checked.
func (w *walker) record(step string, body run.Body) { w.must(w.emit(step, body)) }

// compare holds the machine against one that walks the plan over the folded state.
func (w *walker) compare() {
	other, err := w.walked()
	if err != nil {
		w.t.Fatal(err)
	}
	if w.state().Status.Terminal() {
		return
	}
	if diff := cmp.Diff(observe(other, w.now), observe(w.m, w.now)); diff != "" {
		w.t.Fatalf("the machine differs from a walk over its state (-walk +machine):\n%s\n%s", diff, w.journal())
	}
}

func (w *walker) over() bool { return w.state().Status.Terminal() }

func (w *walker) pick(label string, n int) int { return rapid.IntRange(0, n-1).Draw(w.t, label) }

// wander does one thing that may happen now.
func (w *walker) wander() {
	if w.state().Status == run.StatusSuspended {
		w.wanderAlone()
		return
	}
	switch w.pick("what", 40) {
	case 0:
		w.record("", &run.CancelRequested{By: "someone"})
	case 1:
		if st := w.state(); st.Expired == nil && st.CancelRequested == "" {
			w.record("", &run.Decided{Node: run.WallTimeNode, Failure: &run.Failure{Code: run.BudgetExceeded}})
		}
	case 2, 3:
		w.giveUpEach(w.state().RecoverBodies())
	case 4:
		if len(w.running()) == 0 {
			w.giveUpEach(w.state().SuspendBodies(run.KindStopped))
		}
	case 5, 6, 7, 8, 9:
		w.now = w.now.Add(time.Duration(w.pick("pass", 5000)) * time.Millisecond)
		w.compare()
	case 10, 11, 12:
		w.resolveOne()
	case 13, 14, 15, 16, 17, 18, 19, 20, 21, 22:
		w.outcome()
	default:
		w.goOn()
	}
}

// wanderAlone is what may happen to a run that nobody works on.
func (w *walker) wanderAlone() {
	switch w.pick("alone", 8) {
	case 0:
		w.record("", &run.CancelRequested{By: "someone"})
	case 1, 2, 3:
		w.resolveOne()
	default:
		w.restart()
		return
	}
	w.dueAlone()
}

// dueAlone records what follows without working on the run.
func (w *walker) dueAlone() {
	w.due()
	if end, ok := w.m.End(); ok && end.Kind != kernel.Succeeded {
		w.must(w.end(end))
	}
}

func (w *walker) restart() {
	w.now = w.now.Add(time.Duration(w.pick("offline", 3000)) * time.Millisecond)
	rerun := [][]string{nil, {"read"}, {"read", "write"}}[w.pick("rerun", 3)]
	w.record("", &run.Started{By: "test", Rerun: rerun})
}

func (w *walker) giveUpEach(evs []run.Event) {
	for _, ev := range evs {
		w.record(ev.StepID, ev.Body)
	}
}

func (w *walker) due() {
	for due := w.m.Due(w.now); len(due) > 0; due = w.m.Due(w.now) {
		w.must(w.do(due[0]))
	}
}

// resolveOne gives a verdict on a step in doubt.
func (w *walker) resolveOne() {
	doubts := w.doubts()
	if len(doubts) == 0 {
		return
	}
	body := &run.StepResolved{By: "someone"}
	switch w.pick("verdict", 4) {
	case 0:
		body.Verdict = run.VerdictRerun
	case 1:
		body.Verdict, body.Failure = run.VerdictFailed, w.failure()
	default:
		body.Verdict, body.Output = run.VerdictSucceeded, run.Raw(`1`)
	}
	w.record(doubts[w.pick("doubt", len(doubts))].ID, body)
}

func (w *walker) failure() *run.Failure {
	return &run.Failure{Code: run.ExecutionFailed, Message: "no", Retryable: w.pick("retryable", 3) > 0}
}

// outcome lets a call in flight come to something.
func (w *walker) outcome() {
	calls := w.running()
	if len(calls) == 0 {
		return
	}
	st := calls[w.pick("call", len(calls))]
	kind := 5
	if !w.calm {
		kind = w.pick("outcome", 9)
	}
	switch {
	case kind == 0:
		w.record(st.ID, &run.StepSuspended{Reason: string(run.OutcomeUnknown), InDoubt: true})
	case kind < 4:
		w.record(st.ID, &run.StepFailed{Failure: *w.failure()})
	case kind == 4 && w.m.Dying(st.ID):
		w.record(st.ID, &run.StepCancelled{})
	default:
		w.record(st.ID, &run.StepCompleted{Output: run.Raw(`1`)})
	}
}

// goOn does what the machine proposes, as far as it may be done in one go; or ends
// the run. It reports whether there was anything.
func (w *walker) goOn() bool {
	w.due()
	if end, ok := w.m.End(); ok {
		w.must(w.end(end))
		return true
	}
	acts := w.m.Next(w.now, w.slots-len(w.running()))
	for _, a := range acts {
		if more := w.act(a); !more {
			break
		}
	}
	return len(acts) > 0
}

// act does one action; more reports that those behind it still stand.
func (w *walker) act(a kernel.Action) (more bool) {
	switch a.Do {
	case kernel.Start:
		if !w.calm && w.pick("cannot be entered", 12) == 11 {
			w.record(a.StepID, &run.StepFailed{Failure: *w.failure()})
			return false
		}
		effect := []string{"read", "write"}[w.pick("effect", 2)]
		w.must(w.start(a.StepID, a.Step, effect, time.Duration(w.pick("sleep", 4000))*time.Millisecond))
		return true
	case kernel.Decide:
		w.record("", w.decide(a))
		return false
	case kernel.Reserve:
		if !w.calm && w.pick("no budget", 8) == 7 {
			w.record("", &run.Decided{Node: a.Node, Scope: a.Scope, Failure: &run.Failure{Code: run.BudgetExceeded}})
			return false
		}
	}
	w.must(w.do(a))
	return a.Do == kernel.Skip || a.Do == kernel.Resume || a.Do == kernel.Rerun
}

func (w *walker) decide(a kernel.Action) *run.Decided {
	d := &run.Decided{Node: a.Node, Scope: a.Scope}
	switch {
	case !w.calm && w.pick("cannot be decided", 16) == 15:
		d.Failure = &run.Failure{Code: run.ExpressionFailed}
	case a.Plan.Type == workflow.MapNode:
		d.Count = w.pick("items", 4)
		d.Value = run.Raw(`[]`)
	default:
		d.Value = run.Raw(fmt.Sprint(w.pick("decision", 2) == 1))
	}
	return d
}

// bringToEnd decides all doubts and lets everything else succeed, until the run
// has ended. Where there is nothing to do before that, there is a doubt.
func (w *walker) bringToEnd() {
	w.calm = true
	for range 20_000 {
		switch {
		case w.over():
			return
		case w.state().Status == run.StatusSuspended:
			w.restart()
		case w.goOn():
		case len(w.running()) > 0:
			w.outcome()
		case !w.m.Wake().IsZero():
			w.now = w.m.Wake()
		default:
			w.checkStuck()
			w.giveUpEach(w.state().SuspendBodies(run.KindInDoubt))
			w.decideDoubts()
			w.dueAlone()
		}
	}
	w.t.Fatalf("the run does not end\n%s", w.journal())
}

func (w *walker) checkStuck() {
	if !w.m.Stuck() || len(w.doubts()) == 0 {
		w.t.Fatalf("there is nothing to do, stuck: %v, in doubt: %d\n%s", w.m.Stuck(), len(w.doubts()), w.journal())
	}
}

func (w *walker) decideDoubts() {
	for _, st := range w.doubts() {
		w.record(st.ID, &run.StepResolved{Verdict: run.VerdictFailed, By: "someone", Failure: w.failure()})
	}
}

// checkFold folds the journal again, with and without a checkpoint in between.
func (w *walker) checkFold() {
	want, err := run.Fold(w.events)
	if err != nil {
		w.t.Fatalf("fold: %v\n%s", err, w.journal())
	}
	at := w.pick("checkpoint", len(w.events)+1)
	before, err := run.Fold(w.events[:at])
	if err != nil {
		w.t.Fatal(err)
	}
	got, err := copyState(before)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, ev := range w.events[at:] {
		if err := got.Apply(ev); err != nil {
			w.t.Fatalf("apply on checkpoint: %v\n%s", err, w.journal())
		}
	}
	same := cmp.Options{cmpopts.IgnoreUnexported(run.State{}), cmpopts.EquateEmpty()}
	if diff := cmp.Diff(want, got, same); diff != "" {
		w.t.Fatalf("a checkpoint at %d gives another state (-journal +checkpoint):\n%s", at, diff)
	}
	if diff := cmp.Diff(want, w.state(), same); diff != "" {
		w.t.Fatalf("the machine's state differs from the journal's (-journal +machine):\n%s", diff)
	}
}
