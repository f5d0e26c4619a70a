package kernel

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/culm-dev/culm/internal/expr"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// Verb is what is to be done.
type Verb int

// What may or must be done now.
const (
	// Decide: evaluate Expr and record decided. Only durable outcomes may be used.
	Decide Verb = iota
	// Reserve: record retry_reserved, the Round-th of this node; or decided with
	// a failure if the budget has none left.
	Reserve
	// Skip: record step_skipped with Reason.
	Skip
	// Rerun: record step_resolved with the verdict rerun.
	Rerun
	// Resume: record step_resumed.
	Resume
	// Expire: record decided with the failure timed_out: the step's timeout passed.
	Expire
	// Start: record step_started and then dispatch.
	Start
	// Finish: record how a sleep or workflow step ended: as Result says.
	Finish
	// Cancel: record step_cancelled; InDoubt says whether its outcome is unknown.
	Cancel
)

// Action is one thing that may or must be done now.
type Action struct {
	Do Verb
	// StepID and Step are set on what concerns a leaf.
	StepID string
	Step   *workflow.StepInfo
	// Node and Scope name a node as events do; set on Decide and Reserve.
	Node, Scope string
	// Plan is the node; Expr what is to be decided.
	Plan *workflow.PlanNode
	Expr *expr.Template
	// View is what templates of this step or node may refer to.
	View View
	// Cleanup: the step or node is part of a cleanup. What is recorded of Decide,
	// Reserve, Start, and a Start that fails, says so.
	Cleanup bool
	// Keep is how many of the run's steps a Start or Decide must leave free for
	// cleanups.
	Keep int64
	// Round and Delay are set on Reserve.
	Round int
	Delay time.Duration
	// Reason is set on Skip.
	Reason string
	// InDoubt is set on Cancel.
	InDoubt bool
	// Result is set on Finish.
	Result Result
}

// Result is how an inner plan ended.
type Result struct {
	Kind    EndKind
	Output  Val
	View    View // what the nested definition's output template may refer to
	Failure *run.Failure
}

// Due gives the first of what must be recorded now whatever else happens: the end
// of a step that follows from ends already applied. It may share their commit. A
// plan that skipped steps ends only after that was recorded, which Next gives. It
// is one action at a time, because each may change which is next.
func (m *Machine) Due(now time.Time) []Action {
	m.ripen(now)
	var acts []Action
	m.ends.each(func(f *frame) bool {
		if f.inner == nil || !m.skips.any(f.id+"/") {
			acts = []Action{m.action(f)}
		}
		return acts == nil
	})
	return acts
}

// page is how much Next gives of what takes no slot.
const page = 256

// Next gives what may be recorded and entered now, with at most slots steps that
// take one. They may be done in their order, up to and including the first after
// which more is known than now: a Decide, Reserve, Expire, Finish or Cancel, or a
// Start that failed. Then Next is to be asked again. Much of what stands behind
// those is left out, so that asking again costs no more than what is done; there
// is nothing left to do when Next gives nothing.
func (m *Machine) Next(now time.Time, slots int) []Action {
	m.ripen(now)
	var acts []Action
	m.skips.each(func(s skip) bool {
		acts = append(acts, s.action())
		return true
	})
	if ends := m.ends.first(1); len(ends) > 0 {
		acts = append(acts, m.action(ends[0]))
	}
	most := len(acts) + page
	m.others.each(func(f *frame) bool {
		acts = append(acts, m.action(f))
		return len(acts) < most && f.want != wantDecide && f.want != wantRetry && f.want != wantExpire
	})
	for _, f := range m.calls.first(slots) {
		acts = append(acts, m.action(f))
	}
	return acts
}

func (s skip) action() Action { return Action{Do: Skip, StepID: s.id, Reason: s.reason} }

// Aborts are the calls in flight that are to be cancelled: their scope was.
func (m *Machine) Aborts() []string {
	ids := make([]string, 0, len(m.aborts))
	for f := range m.aborts {
		ids = append(ids, f.id)
	}
	slices.Sort(ids)
	return ids
}

func (m *Machine) action(f *frame) Action {
	a := Action{Plan: f.node, View: f.view(m), Cleanup: f.cleans != nil, Keep: m.keep(f)}
	if f.isLeaf() {
		a.StepID, a.Step = f.id, f.node.Step
	} else {
		a.Node, a.Scope, a.Expr = f.node.Path, f.scope.name(), f.node.Expr
	}
	switch f.want {
	case wantStart:
		a.Do = Start
	case wantDecide:
		a.Do = Decide
		if f.node.Type == workflow.RepeatNode {
			a.Scope, a.View.scope = f.rounds.name(), f.rounds
		}
	case wantRetry:
		a.Do = Reserve
		a.Round = f.pos + 1
		a.Delay = backoff(f.node.Def, a.Round)
	case wantFinish:
		a.Do = Finish
		a.Result = f.innerResult(m)
	case wantCancel:
		a.Do = Cancel
		rec := m.st.Steps[f.id]
		a.InDoubt = rec != nil && rec.InDoubt
	case wantResume:
		a.Do = Resume
	case wantExpire:
		a.Do = Expire
		a.Node, a.Scope = f.node.Path, f.scope.name()
	case wantRerun:
		a.Do = Rerun
	}
	return a
}

func (f *frame) innerResult(m *Machine) Result {
	if f.inner == nil { // a sleep that is over
		rec := m.st.Steps[f.id]
		if at := expiry(f, rec); !at.IsZero() && at.Before(rec.Deadline) {
			return Result{Kind: Failed, Failure: TimedOut(f.node.Step)}
		}
		return Result{Output: Val{Kind: Null}}
	}
	res := Result{Output: f.inner.val, View: View{m: m, scope: f.plan}}
	switch {
	case f.inner.kind == resOK:
	case f.timedOut != nil && !f.dying:
		timedOut := *beside(f.timedOut, f.also(nobody))
		timedOut.Retryable = !f.inner.hard
		res.Kind, res.Failure = Failed, &timedOut
	case f.inner.kind == resFailed:
		whole := *f.inner.fail.Failure
		whole.Retryable = !f.inner.hard // a retry around the step is one around its leaves
		res.Kind, res.Failure = Failed, &whole
	default:
		res.Kind = Cancelled
	}
	return res
}

// TimedOut is the failure of a step whose timeout passed.
func TimedOut(step *workflow.StepInfo) *run.Failure {
	return &run.Failure{
		Code: run.TimedOut, Retryable: true,
		Message: fmt.Sprintf("the attempt took longer than %s", time.Duration(*step.Def.TimeoutMS)*time.Millisecond),
	}
}

// backoff is the delay before a round: delay_ms, times backoff for each round
// after the first, at most max_delay_ms.
func backoff(n *workflow.Node, round int) time.Duration {
	if n.DelayMS == nil {
		return 0
	}
	ms := float64(*n.DelayMS)
	if n.Backoff != nil {
		ms *= math.Pow(*n.Backoff, float64(round-1))
	}
	if n.MaxDelayMS != nil {
		ms = min(ms, float64(*n.MaxDelayMS))
	}
	const longest = float64(math.MaxInt64 / int64(time.Millisecond) / 2)
	return time.Duration(min(ms, longest)) * time.Millisecond
}
