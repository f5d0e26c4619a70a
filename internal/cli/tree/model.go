package tree

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/culm-dev/culm/run"
)

// Model is what the rows show: a run's plan and where each of its steps stands.
// It is not safe for concurrent use.
type Model struct {
	root  *Item
	items map[string]*Item
	state *run.State

	instances map[string]*instance
	tallies   map[string]*tally
	nodes     map[string]*node
}

// instance is a step instance as it is shown.
type instance struct {
	id       string
	status   run.StepStatus
	attempts int
	started  time.Time
	ended    time.Time
	deadline time.Time
	failure  *run.Failure
	reason   string
	doubt    bool
	adopted  bool   // taken over from another run
	line     string // the latest line of what its tool prints or says
}

// tally is what is known of a step over all of its instances.
type tally struct {
	count  map[run.StepStatus]int
	doubts int
	open   []string // instances that are running or suspended, as they were entered
	failed []string // the first few that failed
	last   *instance
	total  int
}

// node is what is known of a plan node over all of its instances.
type node struct {
	known bool // a decision was made
	items int  // of a map
	truth bool // of a choice, the latest
	round int  // of a repeat or retry, the latest
	due   time.Time
}

// NewModel shows a run of the outlined plan. Without an outline the steps are
// shown in the order in which they are entered.
func NewModel(outline *Item) *Model {
	m := &Model{
		root: outline, items: map[string]*Item{}, state: run.NewState(),
		instances: map[string]*instance{}, tallies: map[string]*tally{}, nodes: map[string]*node{},
	}
	if m.root == nil {
		m.root = &Item{Group: true}
	}
	m.index(m.root)
	return m
}

func (m *Model) index(it *Item) {
	if it.Key != "" {
		m.items[it.Key] = it
	}
	for _, child := range it.Children {
		m.index(child)
	}
}

// State is the fold of the events that were applied.
func (m *Model) State() *run.State { return m.state }

// Apply takes the next event of the run's journal.
func (m *Model) Apply(ev run.Event) error {
	if err := m.state.Apply(ev); err != nil {
		return fmt.Errorf("show run: %w", err)
	}
	switch b := ev.Body.(type) {
	case *run.Decided:
		m.decided(b)
	case *run.NodeAdopted:
		if b.Round == 0 {
			m.decided(&run.Decided{Node: b.Node, Scope: b.Scope, Value: b.Value, Count: b.Count})
		}
	case *run.RetryReserved:
		n := m.node(nodeKey(staticID(b.Scope), b.Node))
		n.round, n.due = max(n.round, b.Round), b.Due
	}
	if st := m.state.Steps[ev.StepID]; st != nil {
		m.update(instance{
			id: st.ID, status: st.Status, attempts: st.Attempts, started: st.StartedAt, ended: st.EndedAt,
			deadline: st.Deadline, failure: st.Failure, reason: st.Reason, doubt: st.InDoubt, adopted: st.AdoptedFrom != "",
		})
	}
	return nil
}

// Load takes a snapshot instead of events. What it does not say, such as the
// number of a map's items, is not shown.
func (m *Model) Load(s *run.Snapshot) {
	steps := make([]*run.SnapshotStep, 0, len(s.Steps))
	for _, st := range s.Steps {
		steps = append(steps, st)
	}
	slices.SortFunc(steps, func(a, b *run.SnapshotStep) int {
		if a.StartedAt != nil && b.StartedAt != nil {
			if c := a.StartedAt.Compare(*b.StartedAt); c != 0 {
				return c
			}
		}
		return strings.Compare(a.ID, b.ID)
	})
	for _, st := range steps {
		m.update(instance{
			id: st.ID, status: st.Status, attempts: st.Attempts, started: orZero(st.StartedAt), ended: orZero(st.EndedAt),
			failure: st.Failure, reason: st.Reason, doubt: st.InDoubt, adopted: st.AdoptedFrom != "",
		})
	}
	for _, w := range s.Waits {
		if in := m.instances[w.Step]; in != nil {
			in.deadline = orZero(w.Deadline)
		}
	}
}

// Say shows what a step's tool prints or says about itself while it runs.
func (m *Model) Say(stepID, line string) {
	if in := m.instances[stepID]; in != nil && in.status == run.StatusStepRunning {
		in.line = line
	}
}

func (m *Model) decided(b *run.Decided) {
	n := m.node(nodeKey(staticID(b.Scope), b.Node))
	n.known = true
	n.items += b.Count
	n.truth = string(b.Value) == "true"
	n.round++
}

func (m *Model) node(key string) *node {
	n := m.nodes[key]
	if n == nil {
		n = &node{}
		m.nodes[key] = n
	}
	return n
}

const keptFailures = 3

func (m *Model) update(now instance) {
	key := staticID(now.id)
	m.adopt(key, now.id)
	t := m.tallies[key]
	if t == nil {
		t = &tally{count: map[run.StepStatus]int{}}
		m.tallies[key] = t
	}
	was := m.instances[now.id]
	if was == nil {
		was = &instance{id: now.id}
		m.instances[now.id] = was
		t.total++
	} else {
		t.count[was.status]--
		if was.doubt {
			t.doubts--
		}
		now.line = was.line
	}
	if now.status != run.StatusStepRunning {
		now.line = ""
	}
	t.move(was.id, was.status, now.status)
	*was = now
	t.last = was
	t.count[now.status]++
	if now.doubt {
		t.doubts++
	}
}

// move keeps the lists of instances that get lines of their own.
func (t *tally) move(id string, from, to run.StepStatus) {
	if from == to {
		return
	}
	if !isOpen(from) && isOpen(to) {
		t.open = append(t.open, id)
	}
	if isOpen(from) && !isOpen(to) {
		t.open = slices.DeleteFunc(t.open, func(o string) bool { return o == id })
	}
	if from == run.StatusStepFailed {
		t.failed = slices.DeleteFunc(t.failed, func(o string) bool { return o == id })
	}
	if to == run.StatusStepFailed && len(t.failed) < keptFailures {
		t.failed = append(t.failed, id)
	}
}

func isOpen(s run.StepStatus) bool {
	return s == run.StatusStepRunning || s == run.StatusStepSuspended
}

// adopt gives a step that the outline does not have a place below the step that
// nests it.
func (m *Model) adopt(key, id string) {
	if m.items[key] != nil {
		return
	}
	parent, name := m.root, key
	if i := strings.LastIndexByte(key, '/'); i >= 0 {
		outer := key[:i]
		m.adopt(outer, outer)
		parent, name = m.items[outer], key[i+1:]
	}
	it := &Item{Key: key, Name: name, Counted: strings.Contains(id, "[")}
	parent.Children = append(parent.Children, it)
	m.items[key] = it
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
