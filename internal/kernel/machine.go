package kernel

import (
	"fmt"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// Machine is the state of one root run and everything that it nests. It is not
// safe for concurrent use. After Apply returned an error it must be thrown away.
type Machine struct {
	prog *workflow.Program
	st   *run.State
	root *frame

	leaves map[string]*frame // entered leaves that are not done, by instance id
	nodes  map[string]*frame // nodes that wait for an event of their own, by run.NodeKey
	skips  skipList          // leaves to be recorded as skipped

	ends   queue // leaves whose end is to be recorded
	calls  queue // leaves that want a slot
	others queue // frames that want something that takes no slot
	timers timers
	aborts map[*frame]struct{} // calls in flight whose scope was cancelled

	cleaning map[*frame]int // cleanups that go on, by the order in which they began
	cleanups int            // how many began
	kept     int            // steps kept free for cleanups

	result *result // of the whole plan, once it is done

	// ends of nodes by frame.key, if they are to be remembered: see takeOver.
	ended map[string]result
}

// New makes the machine of a run that has no events yet.
func New(prog *workflow.Program) *Machine {
	return &Machine{
		prog:   prog,
		st:     run.NewState(),
		leaves: make(map[string]*frame),
		nodes:  make(map[string]*frame),
		skips:  newSkipList(),
		aborts: make(map[*frame]struct{}),

		cleaning: make(map[*frame]int),
	}
}

// Walk makes the machine of a run from its folded state: the plan is walked
// over what is already recorded. It gives what applying the journal's events one
// by one would give.
func Walk(prog *workflow.Program, st *run.State) *Machine {
	m := New(prog)
	m.st = st
	if st.StartedSeq > 0 {
		m.begin()
	}
	return m
}

// State is the folded state. The caller must not change it.
func (m *Machine) State() *run.State { return m.st }

// Apply moves the machine on by one event. An event that the plan does not allow
// here is an error: the journal contradicts itself.
func (m *Machine) Apply(ev run.Event) error {
	if err := m.allows(ev); err != nil {
		return err
	}
	if err := m.st.Apply(ev); err != nil {
		return err
	}
	if ev.StepID != "" {
		return m.applyStep(ev)
	}
	switch b := ev.Body.(type) {
	case *run.Started:
		if m.root == nil {
			m.begin()
			return nil
		}
		m.resync()
	case *run.CancelRequested:
		m.cancelRun()
	case *run.Decided:
		switch b.Node {
		case run.WallTimeNode:
			m.cancelRun()
			return nil
		case run.CleanupTimeNode:
			m.cutCleanups()
			return nil
		}
		return m.applyNode(ev, b.Scope, b.Node)
	case *run.RetryReserved:
		return m.applyNode(ev, b.Scope, b.Node)
	}
	return nil
}

// begin enters the plan. A run that takes something over from another one finds
// that recorded by then.
func (m *Machine) begin() {
	act := &activation{
		wf:    m.prog.Root,
		args:  Val{Kind: Stored, Value: m.st.Args},
		runID: m.st.RunID,
	}
	m.root = m.enter(nil, 0, act.wf.Plan, act.rootScope())
	if m.st.Doomed() {
		m.cancelRun()
	}
}

func (m *Machine) applyStep(ev run.Event) error {
	if _, adopted := ev.Body.(*run.StepAdopted); adopted {
		return nil // found when the plan is entered
	}
	f := m.leaves[ev.StepID]
	if f != nil {
		m.syncLeaf(f)
		return nil
	}
	if _, skipped := ev.Body.(*run.StepSkipped); skipped && m.skips.remove(ev.StepID) {
		return nil
	}
	return fmt.Errorf("apply %s event %d: the plan does not have step %s entered here", ev.Body.EventType(), ev.Sequence, ev.StepID)
}

func (m *Machine) applyNode(ev run.Event, scope, node string) error {
	f := m.nodes[run.NodeKey(scope, node)]
	if f == nil {
		return fmt.Errorf("apply %s event %d: the plan does not wait for it at %s%s", ev.Body.EventType(), ev.Sequence, scope, node)
	}
	delete(m.nodes, f.awaits)
	f.awaits = ""
	m.unwant(f)
	m.wake(f)
	return nil
}

// resync looks again at every open leaf: a new start may permit what was not
// permitted before.
func (m *Machine) resync() {
	for _, st := range m.st.OpenSteps() {
		if f := m.leaves[st.ID]; f != nil {
			m.syncLeaf(f)
		}
	}
}

func (m *Machine) cancelRun() {
	if m.root == nil {
		return // done once the plan is entered
	}
	m.cancel(m.root)
	m.resync()
}

// EndKind is how a run ends.
type EndKind int

// The ends of a run.
const (
	Succeeded EndKind = iota
	Failed
	Cancelled
)

// End is how the run ends, once every leaf has ended.
type End struct {
	Kind    EndKind
	Output  Val  // of the plan, if it succeeded
	View    View // what an output template may refer to
	Failure *run.Failure
}

// End reports how the run ends; ok is false while something is still open or
// still to be recorded.
func (m *Machine) End() (end End, ok bool) {
	if m.result == nil || !m.skips.empty() || m.st.Status.Terminal() {
		return End{}, false
	}
	view := View{m: m, scope: m.root.scope}
	switch {
	case m.st.CancelRequested != "":
		return End{Kind: Cancelled}, true
	case m.st.Expired != nil:
		return End{Kind: Failed, Failure: beside(m.st.Expired, m.result.also)}, true
	case m.result.kind == resOK:
		return End{Kind: Succeeded, Output: m.result.val, View: view}, true
	default:
		return End{Kind: Failed, Failure: m.result.fail.Failure}, true
	}
}

// Stuck reports whether nothing in the run can move by itself: everything open
// waits for someone's decision.
func (m *Machine) Stuck() bool {
	return m.result == nil && m.calls.live == 0 && m.others.live == 0 && m.ends.live == 0 && m.timers.none() &&
		m.st.Clock.Calls == 0 && m.skips.empty()
}
