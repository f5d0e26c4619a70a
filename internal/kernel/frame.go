package kernel

import (
	"strconv"
	"time"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// frame is one active plan node in its scope.
type frame struct {
	node   *workflow.PlanNode
	scope  *scope
	parent *frame // nil for the root run's plan; a workflow step's leaf for an inner plan
	slot   int    // position among the parent's children: branch, item, round

	// reopen: ends recorded before this sequence do not count, unless they are
	// successes, because a retry round came after them.
	reopen uint64
	// due: leaves are not entered before, because a retry round waits for it.
	due time.Time

	want   want
	queue  *queue // where it waits, if it does
	ticket int    // tells its entry there from older ones
	timer  *timer // what it waits for, if it does
	awaits string // run.NodeKey of the event that it waits for, if it does
	dying  bool   // its scope was cancelled
	done   bool

	// cleans is the finally or on_failure in whose cleanup the frame is: the nearest
	// one, also around the workflow step that it is nested in; nil outside of cleanups.
	cleans *frame
	// touched is the latest event that says what became of something in the frame; 0
	// if nothing in it was entered.
	touched uint64
	ended   *result // finally, on_failure: how its node ended, once it did
	kept    int     // finally, on_failure: steps kept free for its cleanup
	took    int     // in a cleanup: how many of them are no longer needed for the frame
	asides  []aside // what its children tell beside a failure

	id string // instance id, of a leaf

	kids []*frame // live children by slot; nil where there is none
	live int      // how many kids are live
	pos  int      // sequence: current child; map: next item; repeat: current round
	vals []Val    // outputs by slot (parallel, map)
	last Val      // latest output (sequence, repeat)
	hard bool     // a leaf in it failed in a way that must not be retried
	fail *failure // earliest failure (parallel)
	// fails are a map's failures by item.
	fails []*failure
	// busy: the frame's own loop is entering children; childDone leaves the
	// entering of the next one to it, so that long journals do not nest calls.
	busy  bool
	inner *result // of a workflow step's inner plan
	// timedOut is set once a workflow step's timeout was decided to have passed.
	timedOut *run.Failure
	plan     *scope // the root scope of a workflow step's inner plan
	rounds   *scope // of a repeat's current round
}

// failure is a failure on its way up.
type failure struct {
	*run.Failure
	slot int
	seq  uint64 // of the event that began it: the earliest is a parallel's first
}

type resultKind int

const (
	resOK resultKind = iota
	resFailed
	resCancelled // cancelled, or never entered because its scope was
)

// result is how a frame ended.
type result struct {
	kind resultKind
	val  Val
	fail *failure
	// skipRest: the nearest sequence skips what follows.
	skipRest bool
	hard     bool
	touched  uint64 // see frame
	// also tells failures of cleanups in what was cancelled, to be named beside the
	// failure for which it was.
	also string
}

// want is what a frame waits to have done by the engine.
type want int

const (
	wantNothing want = iota
	wantStart        // enter the leaf
	wantDecide       // evaluate the node's expression
	wantRetry        // reserve a round
	wantFinish       // record the leaf's end
	wantCancel       // record that the leaf was cancelled
	wantResume       // record that the leaf is worked on again
	wantExpire       // record that the step's timeout passed
	wantRerun        // record the standing permission to enter it again
)

// activation is one run of a definition: the root's, or a workflow step's.
type activation struct {
	wf    *workflow.Workflow
	path  string // "" or "<instance of the workflow step>/"
	args  Val
	runID string
}

func (a *activation) rootScope() *scope { return &scope{act: a} }

// scope is a plan's root, a map's item or a repeat's round.
type scope struct {
	act    *activation
	parent *scope
	node   *workflow.PlanNode // the map or repeat; nil at the root
	index  int
	depth  int
	suffix string // of instance ids: "" or "@root[2]#0"
	items  run.Value
	named  map[string]Val // outputs of finished nodes that have an id
	prev   *scope         // a repeat's preceding round
}

// within makes the scope of an item or round.
func (s *scope) within(node *workflow.PlanNode, index int) *scope {
	suffix := s.suffix
	if suffix == "" {
		suffix = "@root"
	}
	if node.Type == workflow.MapNode {
		suffix += "[" + strconv.Itoa(index) + "]"
	} else {
		suffix += "#" + strconv.Itoa(index)
	}
	return &scope{act: s.act, parent: s, node: node, index: index, depth: s.depth + 1, suffix: suffix}
}

// instance is the full instance id of a step in this scope.
func (s *scope) instance(step string) string { return s.act.path + step + s.suffix }

// name is the scope's own name in events.
func (s *scope) name() string { return s.act.path + s.suffix }

func (f *frame) key() string { return run.NodeKey(f.scope.name(), f.node.Path) }

// takesSlot reports whether entering the leaf takes one of the run's slots.
func (f *frame) takesSlot() bool {
	t := f.node.Step.Def.Type
	return t == workflow.ToolStep || t == workflow.AgentStep
}

func (f *frame) isLeaf() bool { return f.node.Type == workflow.StepNode }
