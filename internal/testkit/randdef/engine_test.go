package randdef_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/internal/testkit/checker"
	"github.com/culm-dev/culm/internal/testkit/randdef"
	"github.com/culm-dev/culm/internal/testkit/reference"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/memory"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
	"pgregory.net/rapid"
)

// TestEngineAgrees: the engine gives what the reference interpreter gives, and
// its journal keeps every promise.
func TestEngineAgrees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := randdef.Cases(randdef.Config{}).Draw(t, "case")
		h := newHarness(t, c)
		h.start()
		h.check(func(want *reference.Result, got reference.Observed) []string {
			if want.Slept {
				return want.Contradictions(got)
			}
			return want.Differences(got)
		})
	})
}

// TestEngineAgreesWithManySlots: what does not race is the same with many slots.
func TestEngineAgreesWithManySlots(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		calm := rapid.Bool().Draw(t, "calm")
		c := randdef.Cases(randdef.Config{Calm: calm, Concurrency: 4}).Draw(t, "case")
		h := newHarness(t, c)
		h.start()
		h.check((*reference.Result).Contradictions)
	})
}

// TestEngineAgreesWhenKilled: a run that is killed after random commits, recovered
// and continued comes to what it would have come to.
func TestEngineAgreesWhenKilled(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		calm := rapid.Bool().Draw(t, "calm")
		c := randdef.Cases(randdef.Config{Calm: calm, Concurrency: 1 + 3*int64(rapid.IntRange(0, 1).Draw(t, "slots"))}).Draw(t, "case")
		h := newHarness(t, c)
		h.kills = rapid.SliceOfN(rapid.IntRange(1, 12), 1, 4).Draw(t, "commits between kills")
		h.start()
		h.check((*reference.Result).Contradictions)
	})
}

// harness runs one case on engines over one disk.
type harness struct {
	t     *rapid.T
	c     *randdef.Case
	disk  *memory.Disk
	run   string
	kills []int
	dead  atomic.Bool // the process under way was killed
	ended run.Status
}

func newHarness(t *rapid.T, c *randdef.Case) *harness {
	return &harness{t: t, c: c, disk: memory.New()}
}

// start runs the case to its end, over as many processes as it takes.
func (h *harness) start() {
	for h.ended == "" {
		h.life()
	}
}

// life is one process: until the run ends, or the process is killed.
func (h *harness) life() {
	st := h.disk.Open()
	defer st.Close()
	h.scheduleKill(st)
	defer h.disk.After(nil)
	work := randdef.Tool(func(ctx context.Context, run, step string) (int, error) { return failures(ctx, st, run, step) })
	e, err := engine.Open(h.t.Context(), st, engine.Config{Tools: []tool.Tool{work}, Rerun: []tool.Effect{tool.Read}})
	if err != nil {
		h.t.Fatal(err)
	}
	defer e.Close(context.Background())
	if h.run == "" {
		h.run = h.found(st)
	}
	if !h.enter(e) {
		return
	}
	v, err := e.Wait(h.t.Context(), h.run)
	switch {
	case errors.Is(err, store.ErrClosed):
	case err != nil:
		return
	case v.Status.Terminal():
		h.ended = v.Status
	}
}

// scheduleKill makes the process die after so many commits.
func (h *harness) scheduleKill(st *memory.Store) {
	h.dead.Store(false)
	if len(h.kills) == 0 {
		return
	}
	var left atomic.Int64
	left.Store(int64(h.kills[0]))
	h.kills = h.kills[1:]
	h.disk.After(func(*store.Batch) {
		if left.Add(-1) == 0 {
			h.dead.Store(true)
			st.Abandon()
		}
	})
}

// found is the run that a process began which was killed before it could tell.
func (h *harness) found(st store.Store) string {
	page, err := st.List(h.t.Context(), store.Query{})
	if err != nil {
		h.t.Fatal(err)
	}
	if len(page.Rows) == 0 {
		return ""
	}
	return page.Rows[0].ID
}

// enter starts the run, or recovers and continues it. It reports whether this
// process owns it now.
func (h *harness) enter(e *engine.Engine) bool {
	ctx := h.t.Context()
	if h.run == "" {
		prog, err := workflow.CompileBundle(h.c.Bundle, nil)
		if err != nil {
			h.t.Fatal(err)
		}
		args, err := canon.Encode(h.c.Args)
		if err != nil {
			h.t.Fatal(err)
		}
		v, err := e.Start(ctx, engine.Start{Program: prog, Args: args})
		if err == nil {
			h.run = v.RunID
		}
		return err == nil
	}
	if v, err := e.Progress(ctx, h.run, engine.ProgressOptions{}); err == nil && v.Status.Terminal() {
		h.ended = v.Status
		return false
	}
	if _, err := e.Recover(ctx); err != nil {
		return false
	}
	_, err := e.Continue(ctx, h.run, engine.ContinueOptions{})
	var refused *engine.Error
	if errors.As(err, &refused) && !h.dead.Load() {
		h.t.Fatalf("continue: %v\n%s", err, h.c)
	}
	return err == nil
}

func failures(ctx context.Context, st store.Store, runID, step string) (int, error) {
	groups, err := st.Read(ctx, runID, 0, 64<<20)
	n := 0
	for _, g := range groups {
		n += randdef.Failures(g.Events, step)
	}
	return n, err
}

// check compares what the run came to, and examines its journal.
func (h *harness) check(compare func(*reference.Result, reference.Observed) []string) {
	want, err := reference.Run(h.c.Bundle, h.c.Options())
	if err != nil {
		h.t.Fatal(err)
	}
	st := h.disk.Open()
	defer st.Close()
	groups, err := st.Read(h.t.Context(), h.run, 0, 64<<20)
	if err != nil {
		h.t.Fatal(err)
	}
	j := checker.Journal{Run: h.run, Blob: func(id string) ([]byte, error) { return st.Blob(h.t.Context(), h.run, id) }}
	var lines [][]byte
	for _, g := range groups {
		j.Commits = append(j.Commits, g.Events)
		lines = append(lines, g.Events...)
	}
	bad := 0
	for _, f := range checker.Check([]checker.Journal{j}, nil) {
		h.t.Error(f)
		bad++
	}
	for _, d := range compare(want, h.observed(st)) {
		h.t.Error(d)
		bad++
	}
	if bad > 0 {
		for _, l := range lines[1:] {
			h.t.Logf("%s", l)
		}
		h.t.Fatalf("raced %v\n%s", want.Raced, h.c)
	}
}

func (h *harness) observed(st store.Store) reference.Observed {
	e, err := engine.Open(h.t.Context(), st, engine.Config{})
	if err != nil {
		h.t.Fatal(err)
	}
	defer e.Close(context.Background())
	v, err := e.Progress(h.t.Context(), h.run, engine.ProgressOptions{Values: true})
	if err != nil {
		h.t.Fatal(err)
	}
	if v.Damaged != "" {
		h.t.Fatalf("damaged: %s", v.Damaged)
	}
	o := reference.Observed{Steps: make(map[string]reference.Status)}
	if v.Output != nil {
		if o.Output, err = canon.Decode(v.Output); err != nil {
			h.t.Fatal(err)
		}
	}
	if v.Failure != nil {
		o.Failure = &reference.Failure{}
		raw, err := json.Marshal(v.Failure)
		if err == nil {
			err = json.Unmarshal(raw, o.Failure)
		}
		if err != nil {
			h.t.Fatal(err)
		}
	}
	for id, s := range v.Steps {
		o.Steps[id] = reference.Status(s.Status)
	}
	return o
}
