package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/memory"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// cost is what one commit cost.
type cost struct{ bytes, rows, allocs int }

// meter measures each commit, from the end of the one before. It keeps blobs
// from the store below, so that what is in memory is the engine's.
type meter struct {
	*memory.Store
	costs   []cost
	mallocs uint64
}

func (m *meter) Commit(ctx context.Context, b *store.Batch) error {
	var c cost
	for _, a := range b.Appends {
		c.rows++
		for _, line := range a.Events {
			c.bytes += len(line)
		}
		if a.Row != nil {
			c.rows++
		}
		if a.Checkpoint != nil {
			c.rows++
		}
	}
	for _, blob := range b.Blobs {
		c.rows++
		c.bytes += len(blob.Data)
	}
	c.rows += len(b.Spends) + len(b.Keys) + len(b.Posts)
	without := *b
	without.Blobs = nil
	err := m.Store.Commit(ctx, &without)
	if n := len(m.costs); n < 1200 || n > 2*longSteps-1200 { // to ask is slow
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		c.allocs = int(now.Mallocs - m.mallocs)
		m.mallocs = now.Mallocs
	}
	m.costs = append(m.costs, c)
	return err
}

// median is the middle one of what commits cost.
func median(costs []cost, of func(cost) int) int {
	ns := make([]int, len(costs))
	for i, c := range costs {
		ns[i] = of(c)
	}
	slices.Sort(ns)
	return ns[len(ns)/2]
}

func longRun(t *testing.T, output func(i int) any) *meter {
	t.Helper()
	m := &meter{Store: memory.New().Open()}
	t.Cleanup(func() { m.Close() })
	n := 0
	step := tool.MustFunc("step", "does one", tool.Write, func(context.Context, tool.Call, struct{}) (any, error) {
		n++
		return output(n), nil
	})
	limit := int64(longSteps)
	hour := int64(3_600_000)
	e, err := engine.Open(t.Context(), m, engine.Config{Tools: []tool.Tool{step}, Authority: everything(),
		Ceilings: &workflow.Budgets{MaxSteps: &limit, WallTimeMS: &hour}})
	if err != nil {
		t.Fatal(err)
	}
	def := fmt.Sprintf(`
workflow_schema: 1
id: long
revision: 1
input_schema: {type: object, properties: {items: {type: array}}}
budgets: {max_steps: %d, wall_time_ms: %d}
steps: [{id: s, type: tool, tool: step}]
plan: {map: {from: args, pointer: /items}, as: i, do: s, concurrency: 1}
output: {from: literal, value: done}
`, longSteps, hour)
	items := "[0" + strings.Repeat(",0", longSteps-1) + "]"
	v, err := e.Start(t.Context(), engine.Start{Workflow: []byte(def), Args: json.RawMessage(`{"items":` + items + `}`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range e.Subscribe(t.Context(), v.RunID, 1<<40) { // until its end
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	head, err := m.Head(t.Context(), v.RunID)
	if err != nil || head.Row.Status != string(run.StatusSucceeded) {
		t.Fatalf("the long run %s, %v", head.Row.Status, err)
	}
	return m
}

// It is not parallel, so that it measures no other test.
func TestInvariant24_ACommitCostsTheSameAtTheEnd(t *testing.T) {
	m := longRun(t, func(int) any { return "done" })
	n := len(m.costs)
	if n < 2*longSteps {
		t.Fatalf("%d commits", n)
	}
	start, end := m.costs[100:1100], m.costs[n-1010:n-10]
	for name, of := range map[string]func(cost) int{
		"bytes":       func(c cost) int { return c.bytes },
		"rows":        func(c cost) int { return c.rows },
		"allocations": func(c cost) int { return c.allocs },
	} {
		first, last := median(start, of), median(end, of)
		t.Logf("%s: %d at the start, %d at the end", name, first, last)
		if 2*last > 3*first {
			t.Errorf("a commit costs %d %s at the end and %d at the start", last, name, first)
		}
	}
}

func TestInvariant24_MemoryDoesNotHoldOutputs(t *testing.T) {
	const size = 10 << 10
	var peak uint64
	longRun(t, func(i int) any {
		if i%(longSteps/10) == 0 {
			runtime.GC()
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc)
		}
		return fmt.Sprintf("%0*d", size, i)
	})
	// The outputs of ten thousand steps are 100 MB; the journal, which this store
	// keeps in memory, is a few, and so is the state of the steps.
	t.Logf("at most %d MB live", peak>>20)
	if peak > 5<<20+longSteps*size/2 {
		t.Errorf("%d bytes are live", peak)
	}
}
