package kernel_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
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
		for range pick(t, "steps", 120) {
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
	c := drawCase(t)
	for _, ref := range slices.Sorted(maps.Keys(c.Bundle.Definitions)) {
		for _, s := range c.Bundle.Definitions[ref].Steps {
			if s.Type != workflow.ToolStep && pick(t, "timeout", 4) == 3 {
				ms := int64(1 + pick(t, "ms", 20_000))
				s.TimeoutMS = &ms
			}
		}
	}
	return walkerOf(t, c)
}

func drawCase(t *rapid.T) *randdef.Case {
	return randdef.Cases(randdef.Config{}).Filter(notTiny).Draw(t, "case")
}

func walkerOf(t *rapid.T, c *randdef.Case) *walker {
	prog, err := workflow.CompileBundle(c.Bundle, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, c)
	}
	return &walker{sim: newSim(prog), t: t, slots: 1 + pick(t, "slots", 4)}
}

// notTiny leaves out definitions in which nothing can meet anything.
func notTiny(c *randdef.Case) bool {
	return len(c.Bundle.Definitions[workflow.Ref(c.Bundle.RootID, c.Bundle.RootRevision)].Steps) > 3
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

func (w *walker) pick(label string, n int) int { return pick(w.t, label, n) }

// pick draws one of n, 0 rather often and the others evenly: rapid's own ranges
// lean towards the ends.
func pick(t *rapid.T, label string, n int) int {
	mixed := rapid.Uint32().Draw(t, label) * 0x9e3779b1
	return int(mixed>>8) % n
}

// wander does one thing that may happen now.
func (w *walker) wander() {
	if w.state().Status == run.StatusSuspended {
		w.wanderAlone()
		return
	}
	switch what := w.pick("what", 200); {
	case what < 80:
		w.goOn()
	case what < 155:
		w.outcome()
	case what < 170:
		w.resolveOne()
	case what < 190:
		w.now = w.now.Add(time.Duration(w.pick("pass", 5000)) * time.Millisecond)
		w.compare()
	case what < 195:
		w.giveUpEach(w.state().RecoverBodies())
	case what < 198:
		if len(w.running()) == 0 {
			w.giveUpEach(w.state().SuspendBodies(run.KindStopped))
		}
	case what == 198:
		w.timeOver()
	default:
		w.record("", &run.CancelRequested{By: "someone"})
	}
}

// timeOver lets the wall time run out, or that of the cleanups after it.
func (w *walker) timeOver() {
	over := &run.Decided{Node: run.WallTimeNode, Failure: &run.Failure{Code: run.BudgetExceeded, Message: "time is over"}}
	if w.state().Doomed() {
		over.Node, over.Failure.Message = run.CleanupTimeNode, "time to clean up is over"
	}
	if w.state().CleanupOver == nil {
		w.record("", over)
	}
}

// wanderAlone is what may happen to a run that nobody works on.
func (w *walker) wanderAlone() {
	switch alone := w.pick("alone", 20); {
	case alone < 12:
		w.restart()
		return
	case alone < 19:
		w.resolveOne()
	default:
		w.record("", &run.CancelRequested{By: "someone"})
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
	case 0, 1:
		body.Verdict, body.Output = run.VerdictSucceeded, run.Raw(`1`)
	case 2:
		body.Verdict, body.Failure = run.VerdictFailed, w.failure()
	default:
		body.Verdict = run.VerdictRerun
	}
	w.record(doubts[w.pick("doubt", len(doubts))].ID, body)
}

func (w *walker) failure() *run.Failure {
	return &run.Failure{Code: run.ExecutionFailed, Message: "no", Retryable: w.pick("hard", 4) < 3}
}

// outcome lets a call in flight come to something.
func (w *walker) outcome() {
	calls := w.running()
	if len(calls) == 0 {
		return
	}
	st := calls[w.pick("call", len(calls))]
	kind := 0
	if !w.calm {
		kind = w.pick("outcome", 20)
	}
	switch {
	case kind > 10 && w.m.Dying(st.ID):
		w.record(st.ID, &run.StepCancelled{})
	case kind == 19:
		w.record(st.ID, &run.StepSuspended{Reason: string(run.OutcomeUnknown), InDoubt: true})
	case kind > 13:
		w.record(st.ID, &run.StepFailed{Failure: *w.failure()})
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
		if !w.calm && w.pick("cannot be entered", 20) == 19 {
			w.record(a.StepID, &run.StepFailed{Failure: *w.failure(), Cleanup: a.Cleanup})
			return false
		}
		effect := []string{"read", "write"}[w.pick("effect", 2)]
		w.must(w.start(a.StepID, a.Step, effect, time.Duration(w.pick("sleep", 4000))*time.Millisecond))
		return true
	case kernel.Decide:
		w.record("", w.decide(a))
		return false
	case kernel.Reserve:
		if !w.calm && w.pick("no budget", 6) == 5 {
			w.record("", &run.Decided{Node: a.Node, Scope: a.Scope, Failure: &run.Failure{Code: run.BudgetExceeded}, Cleanup: a.Cleanup})
			return false
		}
	}
	w.must(w.do(a))
	return a.Do == kernel.Skip || a.Do == kernel.Resume || a.Do == kernel.Rerun
}

func (w *walker) decide(a kernel.Action) *run.Decided {
	d := &run.Decided{Node: a.Node, Scope: a.Scope, Cleanup: a.Cleanup}
	switch {
	case !w.calm && w.pick("cannot be decided", 30) == 29:
		d.Failure = &run.Failure{Code: run.ExpressionFailed}
	case a.Plan.Type == workflow.MapNode:
		d.Count = w.pick("items", 4)
		d.Value = run.Raw(`[]`)
	case w.calm && a.Plan.Type == workflow.RepeatNode && round(w.t, a.Scope)+1 >= a.Plan.Def.Max:
		d.Value = run.Raw(`true`) // another would be a failure
	default:
		d.Value = run.Raw(fmt.Sprint(w.pick("decision", 2) == 0))
	}
	return d
}

// round is the round of a repeat, which its scope ends with.
func round(t *rapid.T, scope string) int {
	n, err := strconv.Atoi(scope[strings.LastIndexByte(scope, '#')+1:])
	if err != nil {
		t.Fatalf("the scope %q names no round", scope)
	}
	return n
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
