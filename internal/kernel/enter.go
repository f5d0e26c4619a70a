package kernel

import (
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// enter makes the frame of a node and goes as far into it as the journal and the
// plan allow. The frame may be done when enter returns.
func (m *Machine) enter(parent *frame, slot int, node *workflow.PlanNode, sc *scope) *frame {
	f := &frame{node: node, scope: sc, parent: parent, slot: slot}
	if parent != nil {
		f.reopen, f.due, f.dying, f.cleans = parent.reopen, parent.due, parent.dying, parent.cleans
		parent.adopt(f)
		if parent.node.Cleans() && slot == cleanupSlot {
			m.beginCleanup(f)
		}
	}
	switch node.Type {
	case workflow.StepNode:
		f.id = sc.instance(node.Step.Def.ID)
		m.leaves[f.id] = f
		m.syncLeaf(f)
	case workflow.SequenceNode:
		m.advance(f)
	case workflow.ParallelNode:
		m.enterParallel(f)
	case workflow.ChoiceNode, workflow.MapNode:
		m.decide(f)
	case workflow.RetryNode:
		m.enterRetry(f)
	case workflow.RepeatNode:
		m.nextRound(f)
	case workflow.FinallyNode, workflow.OnFailureNode:
		m.enterCleans(f)
	}
	return f
}

func (p *frame) adopt(f *frame) {
	for len(p.kids) <= f.slot {
		p.kids = append(p.kids, nil)
	}
	p.kids[f.slot] = f
	p.live++
}

// finish ends a frame and tells its parent.
func (m *Machine) finish(f *frame, r result) {
	if f.done {
		return
	}
	f.done = true
	m.unwant(f)
	delete(m.aborts, f)
	delete(m.cleaning, f)
	m.take(f, f.node.Leaves-f.took)
	m.kept -= f.kept
	if m.nodes[f.awaits] == f {
		delete(m.nodes, f.awaits)
	}
	switch {
	case f.isLeaf():
		delete(m.leaves, f.id)
	case f.node.ID != "" && r.kind == resOK:
		f.scope.set(f.node.ID, r.val)
	}
	r.touched = max(r.touched, f.touched)
	r.also = ""
	if r.kind != resOK && !f.isLeaf() {
		r.also = f.also(nobody)
	}
	if m.ended != nil {
		m.ended[f.key()] = r
	}
	p := f.parent
	if p == nil {
		m.result = &r
		return
	}
	p.kids[f.slot] = nil
	p.live--
	p.touched = max(p.touched, r.touched)
	if r.also != "" {
		p.tellAside(f.slot, r.also)
	}
	m.childDone(p, f, r)
}

func (s *scope) set(name string, v Val) {
	if s.named == nil {
		s.named = make(map[string]Val)
	}
	s.named[name] = v
}

// forget drops the outputs of nodes that are to be made anew.
func (s *scope) forget(node *workflow.PlanNode) {
	delete(s.named, node.ID)
	if node.Type == workflow.MapNode || node.Type == workflow.RepeatNode {
		return // what is below has scopes of its own
	}
	for _, child := range node.Children {
		s.forget(child)
	}
}

// childDone moves the parent on.
func (m *Machine) childDone(p, child *frame, r result) {
	if p.done {
		return
	}
	switch p.node.Type {
	case workflow.StepNode:
		p.inner = &r
		m.syncLeaf(p)
	case workflow.SequenceNode:
		m.sequenceDone(p, r)
	case workflow.ParallelNode:
		m.parallelDone(p, child, r)
	case workflow.ChoiceNode:
		m.finish(p, r)
	case workflow.MapNode:
		m.itemDone(p, child, r)
	case workflow.RetryNode:
		m.retryDone(p, r)
	case workflow.RepeatNode:
		m.roundDone(p, r)
	case workflow.FinallyNode, workflow.OnFailureNode:
		if child.slot == nodeSlot {
			m.clean(p, r)
		} else {
			m.cleaned(p, r)
		}
	}
}

// wake looks again at a node for which an event of its own was recorded.
func (m *Machine) wake(f *frame) {
	switch f.node.Type {
	case workflow.StepNode:
		m.syncLeaf(f)
	case workflow.ChoiceNode, workflow.MapNode:
		m.decide(f)
	case workflow.RepeatNode:
		m.roundDecided(f)
	case workflow.RetryNode:
		if !m.noRound(f) {
			m.enterRetry(f)
		}
	}
}

// decision looks a node's decision up; if there is none, the node waits for it,
// or ends if its scope was cancelled.
func (m *Machine) decision(f *frame, sc *scope) (run.Decision, bool) {
	key := run.NodeKey(sc.name(), f.node.Path)
	d, ok := m.st.Decisions[key]
	if ok && !f.stale(d.Seq) {
		f.touched = max(f.touched, d.Seq)
		return d, true
	}
	if f.dying {
		m.finish(f, result{kind: resCancelled, hard: f.hard})
		return run.Decision{}, false
	}
	m.await(f, key)
	m.request(f, wantDecide)
	return run.Decision{}, false
}

// await routes the next event of that node to the frame.
func (m *Machine) await(f *frame, key string) {
	f.awaits = key
	m.nodes[key] = f
}

// undecidable ends a node that a decision made fail.
func (m *Machine) undecidable(f *frame, d run.Decision, fl *run.Failure) {
	m.finish(f, result{kind: resFailed, fail: &failure{Failure: fl, seq: d.Seq}, hard: true})
}
