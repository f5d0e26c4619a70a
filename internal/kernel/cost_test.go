package kernel_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// These tests hold the cost of an event against the length of the journal: what it
// allocates at event 10,000 is within 1.5 of what it allocates at event 100, both in
// number and in bytes. They count, and measure no time; they do not run in parallel
// with others because allocations are counted for the whole process.

func TestCostOfAnEventInASequence(t *testing.T) {
	def := definition(5_400)
	def.Plan = sequence(def.Steps)
	constant(t, newBench(t, def), (*bench).work)
}

func TestCostOfAnEventInAMap(t *testing.T) {
	def := definition(2)
	width := 8
	def.Plan = mapped(sequence(def.Steps))
	def.Plan.Concurrency = &width
	b := newBench(t, def)
	b.decide(3_000)
	constant(t, b, (*bench).work)
}

func TestCostOfAnEventInAWideMap(t *testing.T) {
	def := definition(1)
	def.Plan = mapped(sequence(def.Steps))
	b := newBench(t, def)
	b.decide(6_000)
	constant(t, b, (*bench).work)
}

func TestCostOfAnEventInARepeat(t *testing.T) {
	def := definition(8)
	def.Plan = &workflow.Node{Type: workflow.RepeatNode, Max: 1000, Until: literal("true"), Body: sequence(def.Steps)}
	constant(t, newBench(t, def), (*bench).work)
}

func TestCostOfADecision(t *testing.T) {
	def := definition(1)
	choice := &workflow.Node{Type: workflow.ChoiceNode, Condition: literal("true"), Then: step(def.Steps[0])}
	def.Plan = mapped(choice)
	b := newBench(t, def)
	b.decide(11_000)
	constant(t, b, (*bench).work)
}

// TestCostOfGoingToSleep: entering and leaving sleeps costs the same however many sleep.
func TestCostOfGoingToSleep(t *testing.T) {
	def := definition(0)
	def.Steps = []*workflow.Step{{ID: "nap", Type: workflow.SleepStep, DurationMS: []byte("1")}}
	def.Plan = mapped(step(def.Steps[0]))
	b := newBench(t, def)
	b.decide(6_000)
	info, entered := &workflow.StepInfo{Def: def.Steps[0]}, 0
	constant(t, b, func(b *bench) {
		b.must(b.start(fmt.Sprintf("nap@root[%d]", entered), info, "", time.Hour))
		entered++
		b.now = b.now.Add(time.Millisecond)
		if b.m.Wake().IsZero() || b.state().WakeAt().IsZero() || b.state().Expiry(b.now).IsZero() {
			b.t.Fatal("nothing falls due")
		}
	})
}

// TestCostOfWakingUp: ends that fall due all at once are recorded one by one, each
// at the same cost.
func TestCostOfWakingUp(t *testing.T) {
	def := definition(0)
	def.Steps = []*workflow.Step{{ID: "nap", Type: workflow.SleepStep, DurationMS: []byte("1")}}
	def.Plan = mapped(step(def.Steps[0]))
	b := newBench(t, def)
	const items = 11_000
	b.decide(items)
	for i := range items {
		b.must(b.start(fmt.Sprintf("nap@root[%d]", i), &workflow.StepInfo{Def: def.Steps[0]}, "", time.Second))
	}
	b.now = b.now.Add(time.Second)
	b.m.Due(b.now)
	b.zero = b.state().Last
	constant(t, b, func(b *bench) { b.doFirst(b.m.Due(b.now)) })
}

// TestCostBesideSuspendedSteps: a step costs the same beside ten thousand doubts.
func TestCostBesideSuspendedSteps(t *testing.T) {
	few, many := besideDoubts(t, 10), besideDoubts(t, 10_000)
	few.compare(t, many)
}

func besideDoubts(t *testing.T, doubts int) cost {
	def := definition(1_101)
	def.Plan = &workflow.Node{Type: workflow.ParallelNode, Nodes: []*workflow.Node{
		mapped(step(def.Steps[0])), sequence(def.Steps[1:]),
	}}
	b := newBench(t, def)
	b.decide(doubts)
	for i := range doubts {
		id := fmt.Sprintf("s0@root[%d]", i)
		b.must(b.start(id, &workflow.StepInfo{Def: def.Steps[0]}, "write", 0))
		b.must(b.emit(id, &run.StepSuspended{Reason: string(run.OutcomeUnknown), InDoubt: true}))
	}
	return b.measure((*bench).work)
}

// bench is a sim that keeps no journal, so that what is counted is the kernel's.
type bench struct {
	*sim
	t    *testing.T
	zero uint64 // the events before are not counted
}

func newBench(t *testing.T, def *workflow.Definition) *bench {
	t.Helper()
	text, err := json.MarshalIndent(def, "", " ") // JSON is YAML, too
	if err != nil {
		t.Fatal(err)
	}
	src, err := workflow.Load("d.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	prog, err := workflow.Compile(src, workflow.NewSnapshot(src), nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{sim: newSim(prog), t: t}
	b.must(b.begin())
	return b
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	b.events = b.events[:0]
}

// decide decides the map that waits for it.
func (b *bench) decide(items int) {
	b.t.Helper()
	a := b.m.Next(b.now, 0)[0]
	b.must(b.emit("", &run.Decided{Node: a.Node, Scope: a.Scope, Value: run.Raw("[]"), Count: items}))
	b.zero = b.state().Last
}

// work does what the machine proposes first, and lets calls succeed at once.
func (b *bench) work() {
	acts := b.m.Next(b.now, 4)
	b.doFirst(acts)
	if a := acts[0]; a.Do == kernel.Start {
		b.must(b.emit(a.StepID, &run.StepCompleted{Output: run.Raw("1")}))
	}
	if len(b.m.Due(b.now)) > 0 {
		b.t.Fatal("something is due")
	}
}

func (b *bench) doFirst(acts []kernel.Action) {
	switch a := acts[0]; a.Do {
	case kernel.Start:
		b.must(b.start(a.StepID, a.Step, "write", time.Hour))
	case kernel.Decide:
		b.must(b.emit("", &run.Decided{Node: a.Node, Scope: a.Scope, Value: run.Raw("false")}))
	default:
		b.must(b.do(a))
	}
}

// constant compares the cost of work near event 100 with that near event 10,000.
func constant(t *testing.T, b *bench, work func(*bench)) {
	t.Helper()
	b.runTo(100, work)
	early := b.measure(work)
	b.runTo(10_000, work)
	late := b.measure(work)
	early.compare(t, late)
}

func (b *bench) runTo(event uint64, work func(*bench)) {
	for b.state().Last-b.zero < event {
		work(b)
	}
}

type cost struct{ allocs, bytes float64 }

// measure counts over so much work that maps which grow now and then do not matter.
func (b *bench) measure(work func(*bench)) cost {
	const times = 400
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	allocs := testing.AllocsPerRun(times, func() { work(b) })
	runtime.ReadMemStats(&after)
	return cost{allocs, float64(after.TotalAlloc-before.TotalAlloc) / times}
}

func (early cost) compare(t *testing.T, late cost) {
	t.Helper()
	t.Logf("early %+v, late %+v", early, late)
	if late.allocs > 1.5*early.allocs {
		t.Errorf("%.1f allocations early, %.1f late", early.allocs, late.allocs)
	}
	if late.bytes > 1.5*early.bytes {
		t.Errorf("%.0f bytes early, %.0f late", early.bytes, late.bytes)
	}
}

func definition(tools int) *workflow.Definition {
	def := &workflow.Definition{Schema: workflow.Schema, ID: "d", Revision: 1}
	for i := range tools {
		def.Steps = append(def.Steps, &workflow.Step{ID: fmt.Sprintf("s%d", i), Type: workflow.ToolStep, Tool: "t"})
	}
	return def
}

func step(s *workflow.Step) *workflow.Node {
	return &workflow.Node{Type: workflow.StepNode, Step: s.ID}
}

func sequence(steps []*workflow.Step) *workflow.Node {
	n := &workflow.Node{Type: workflow.SequenceNode}
	for _, s := range steps {
		n.Nodes = append(n.Nodes, step(s))
	}
	return n
}

func mapped(body *workflow.Node) *workflow.Node {
	return &workflow.Node{Type: workflow.MapNode, Source: literal("[]"), Item: "i", Body: body}
}

func literal(value string) []byte {
	return fmt.Appendf(nil, `{"from":"literal","value":%s}`, value)
}
