package kernel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// advance enters the children of a sequence, one after the other, until one of
// them is not done at once.
func (m *Machine) advance(f *frame) {
	if f.busy {
		return
	}
	f.busy = true
	for !f.done && f.live == 0 {
		m.enter(f, 0, f.node.Children[f.pos], f.scope)
	}
	f.busy = false
}

func (m *Machine) sequenceDone(f *frame, r result) {
	f.hard = f.hard || r.hard
	f.pos++
	switch {
	case r.kind != resOK:
		m.finish(f, result{kind: r.kind, fail: r.fail, hard: f.hard})
	case r.skipRest:
		for _, node := range f.node.Children[f.pos:] {
			m.skipLeaves(f, node, run.SkipDependency)
		}
		m.finish(f, result{val: r.val, hard: f.hard})
	case f.pos == len(f.node.Children):
		m.finish(f, result{val: r.val, hard: f.hard})
	default:
		m.advance(f)
	}
}

func (m *Machine) enterParallel(f *frame) {
	f.vals = make([]Val, len(f.node.Children))
	f.busy = true
	for i, node := range f.node.Children {
		m.enter(f, i, node, f.scope)
	}
	f.busy = false
	m.parallelEnd(f)
}

func (m *Machine) parallelDone(f, child *frame, r result) {
	f.hard = f.hard || r.hard
	switch r.kind {
	case resOK:
		f.vals[child.slot] = r.val
	case resFailed:
		if f.fail == nil || r.fail.seq < f.fail.seq {
			f.fail = &failure{Failure: named("branch", child.slot, r.fail.Failure), slot: child.slot, seq: r.fail.seq}
		}
		if !f.dying {
			m.cancel(f)
		}
	}
	m.parallelEnd(f)
}

func (m *Machine) parallelEnd(f *frame) {
	switch {
	case f.busy || f.done || f.live > 0:
	case f.fail != nil:
		whole := &failure{Failure: beside(f.fail.Failure, f.also(f.fail.slot)), seq: f.fail.seq}
		m.finish(f, failedResult(whole, f.hard))
	default:
		m.finish(f, f.joined())
	}
}

// joined is the result of a parallel or map in which nothing failed: a success
// unless something in it was cancelled. What all succeeded before a cancelled scope
// was done is done, whenever one looks.
func (f *frame) joined() result {
	if slices.ContainsFunc(f.vals, Val.isNone) {
		return result{kind: resCancelled, hard: f.hard}
	}
	return result{val: Val{Kind: List, List: f.vals}, hard: f.hard}
}

// failedResult makes the result of a node that fails as a whole: it is
// retryable exactly if nothing in it must not be retried.
func failedResult(fl *failure, hard bool) result {
	whole := *fl.Failure
	whole.Retryable = !hard
	return result{kind: resFailed, fail: &failure{Failure: &whole, seq: fl.seq}, hard: hard}
}

func named(what string, i int, fl *run.Failure) *run.Failure {
	n := *fl
	n.Message = fmt.Sprintf("%s[%d]: %s", what, i, fl.Message)
	return &n
}

// decide goes on with a choice or map as far as it is decided.
func (m *Machine) decide(f *frame) {
	d, ok := m.decision(f, f.scope)
	switch {
	case !ok:
	case d.Failure != nil:
		m.undecidable(f, d, d.Failure)
	case f.node.Type == workflow.ChoiceNode:
		m.branch(f, d.Truth)
	default:
		f.vals = make([]Val, d.Count)
		m.openItems(f, d)
	}
}

func (m *Machine) branch(f *frame, truth bool) {
	taken, other := 0, 1
	if !truth {
		taken, other = 1, 0
	}
	if other < len(f.node.Children) {
		m.skipLeaves(f, f.node.Children[other], run.SkipNotTaken)
	}
	if taken >= len(f.node.Children) {
		m.finish(f, result{val: Val{Kind: Null}})
		return
	}
	m.enter(f, taken, f.node.Children[taken], f.scope)
}

// openItems enters a map's items as far as its concurrency allows.
func (m *Machine) openItems(f *frame, d run.Decision) {
	if f.busy {
		return
	}
	limit := d.Count
	if c := f.node.Def.Concurrency; c != nil {
		limit = *c
	}
	f.busy = true
	for f.pos < d.Count && f.live < limit {
		sc := f.scope.within(f.node, f.pos)
		sc.items = d.Value
		f.pos++
		m.enter(f, sc.index, f.node.Children[0], sc)
	}
	f.busy = false
	m.mapEnd(f, d)
}

func (m *Machine) itemDone(f, child *frame, r result) {
	f.hard = f.hard || r.hard
	switch r.kind {
	case resOK:
		f.vals[child.slot] = r.val
	case resFailed:
		f.fails = append(f.fails, &failure{Failure: r.fail.Failure, slot: child.slot, seq: r.fail.seq})
	}
	m.openItems(f, m.st.Decisions[f.key()])
}

func (m *Machine) mapEnd(f *frame, d run.Decision) {
	switch {
	case f.done || f.live > 0 || f.pos < d.Count:
	case len(f.fails) > f.tolerated():
		m.finish(f, failedResult(itemFailures(f.fails), f.hard))
	default:
		for _, fl := range f.fails {
			f.vals[fl.slot] = Val{Kind: FailureValue, Failure: fl.Failure}
		}
		m.finish(f, f.joined())
	}
}

// tolerated is how many items of a map may fail.
func (f *frame) tolerated() int {
	if n := f.node.Def.Tolerate; n != nil {
		return *n
	}
	return 0
}

// itemFailures joins the failures of a map's items to one.
func itemFailures(fails []*failure) *failure {
	slices.SortFunc(fails, func(a, b *failure) int { return a.slot - b.slot })
	all := make([]string, len(fails))
	seq := fails[0].seq
	for i, fl := range fails {
		all[i] = fmt.Sprintf("item[%d]: %s: %s", fl.slot, fl.Code, fl.Message)
		seq = min(seq, fl.seq)
	}
	return &failure{Failure: &run.Failure{Code: fails[0].Code, Message: strings.Join(all, "; ")}, seq: seq}
}

// nextRound enters a repeat's current round.
func (m *Machine) nextRound(f *frame) {
	if f.busy {
		return
	}
	f.busy = true
	for !f.done && f.live == 0 && f.want == wantNothing {
		sc := f.scope.within(f.node, f.pos)
		if prev := f.rounds; prev != nil {
			prev.prev = nil // only the preceding round can be read
			sc.prev = prev
		}
		f.rounds = sc
		m.enter(f, 0, f.node.Children[0], sc)
	}
	f.busy = false
}

func (m *Machine) roundDone(f *frame, r result) {
	f.hard = f.hard || r.hard
	if r.kind != resOK {
		m.finish(f, result{kind: r.kind, fail: r.fail, hard: f.hard})
		return
	}
	f.last = r.val
	m.roundDecided(f)
}

func (m *Machine) roundDecided(f *frame) {
	d, ok := m.decision(f, f.rounds)
	switch {
	case !ok:
	case d.Failure != nil:
		m.undecidable(f, d, d.Failure)
	case d.Truth:
		m.finish(f, result{val: f.last, hard: f.hard})
	case f.pos+1 >= f.node.Def.Max:
		m.undecidable(f, d, &run.Failure{
			Code:    run.RepeatExhausted,
			Message: fmt.Sprintf("until was not true after %d rounds", f.node.Def.Max),
		})
	default:
		f.pos++
		m.nextRound(f)
	}
}
