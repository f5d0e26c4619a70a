package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/internal/proc"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// scene is a run in some state, and an engine that looks at it.
type scene struct {
	w       *world
	id      string
	config  []func(*engine.Config) // of the engine that acts
	options engine.ContinueOptions
	owned   bool // by a living process
	edits   int
}

// reason is one reason for which a run cannot be continued: what makes it true.
// before changes the definition and the first process, after the rest.
type reason struct {
	code string
	// def changes the definition, or how it first ran.
	def   func(d *defn)
	after func(s *scene)
}

// defn says how the run came to be.
type defn struct {
	does   behaviour // of step s
	doubt  bool      // that leaves it in doubt
	budget string
	own    bool // the first process lives on, and owns the run
	dead   bool // ... or died, and nobody recovered it
	end    bool // the run was let end
}

const scenes = `
workflow_schema: 1
id: scene
revision: 1
budgets: {%s}
steps:
  - {id: done, type: tool, tool: read, output_schema: {type: integer}}
  - {id: s, type: tool, tool: write, args: {}}
  - {id: next, type: tool, tool: write}
`

// reasons are in the documented order.
func reasons() []reason {
	return []reason{
		{code: engine.CodeNotFound, after: func(s *scene) { s.options.Session = "another" }},
		{code: engine.CodeDamaged, after: func(s *scene) { s.w.forge(s.id, `{"not":"an event"}`) }},
		{code: engine.CodeNewerFormat, after: func(s *scene) { s.w.forge(s.id, `{"type":"of_the_future"}`) }},
		{code: engine.CodeOwnedElsewhere, def: func(d *defn) { d.own = true }},
		{code: engine.CodeTerminal, def: func(d *defn) { d.end = true }},
		{code: engine.CodeNotSuspended, def: func(d *defn) { d.dead = true }},
		{code: engine.CodeBundleMismatch, after: func(s *scene) {
			s.edit(func(line string) string {
				return strings.Replace(line, `"revision":1,"steps"`, `"revision":1,"description":"x","steps"`, 1)
			})
		}},
		{code: engine.CodeToolMissing, after: func(s *scene) {
			s.config = append(s.config, func(c *engine.Config) { c.Tools = c.Tools[:1] })
		}},
		{code: engine.CodeInputMismatch, def: func(d *defn) { d.does = fails(errPlain); d.doubt = true },
			after: func(s *scene) {
				s.edit(func(line string) string {
					if !strings.Contains(line, `"step_id":"s"`) {
						return line
					}
					return strings.Replace(line, `"input_hash":"44`, `"input_hash":"00`, 1)
				})
			}},
		{code: engine.CodeOutputInvalid, after: func(s *scene) {
			s.edit(func(line string) string {
				if !strings.Contains(line, `"step_id":"done"`) {
					return line
				}
				return strings.Replace(line, `"output":1`, `"output":"one"`, 1)
			})
		}},
		{code: engine.CodeStepInDoubt, def: func(d *defn) { d.does = fails(errPlain); d.doubt = true }},
		{code: engine.CodeStillRunning, def: func(d *defn) { d.does = fails(errPlain); d.doubt = true },
			after: func(s *scene) {
				s.options.Rerun = []tool.Effect{tool.Write}
				s.hold("s")
			}},
		{code: engine.CodeDeadlinePassed, after: func(s *scene) { pass(20 * time.Minute) }},
		{code: engine.CodeBudgetExhausted, def: func(d *defn) { d.budget = "max_steps: 2, max_agents: 1" }},
		{code: engine.CodeCeilingExceeded, after: func(s *scene) {
			one := int64(1)
			s.config = append(s.config, func(c *engine.Config) { c.Ceilings = &workflow.Budgets{MaxConcurrency: &one} })
		}},
	}
}

// set makes the scene of some reasons at once.
func set(t *testing.T, w *world, rs ...reason) *scene {
	t.Helper()
	d := &defn{budget: "max_steps: 100", does: gives(`1`)}
	for _, r := range rs {
		if r.def != nil {
			r.def(d)
		}
	}
	s := newScript().on("done", gives(`1`))
	g := s.gate()
	s.on("s", func(ctx context.Context, c tool.Call) (tool.Result, error) {
		if !d.doubt || d.own || d.dead || d.end {
			<-g.ch
		}
		return d.does(ctx, c)
	})
	p := w.process(s)
	id := p.start(fmt.Sprintf(scenes, d.budget))
	sc := &scene{w: w, id: id, owned: d.own}
	switch {
	case d.end:
		if _, err := p.Cancel(t.Context(), id, engine.CancelOptions{}); err != nil {
			t.Fatal(err)
		}
		g.open()
		pass(time.Second)
	case d.own:
	case d.dead:
		p.kill()
		p.end()
	default:
		stopped := make(chan error)
		go func() { stopped <- p.Stop(context.Background()) }()
		synctest.Wait()
		g.open()
		if err := <-stopped; err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range rs {
		if r.after != nil {
			r.after(sc)
		}
	}
	return sc
}

func (s *scene) engine() *process {
	return s.w.process(newScript().on("done", gives(`1`)), s.config...)
}

// hold holds the lock of a step, as a process that the step started would.
func (s *scene) hold(step string) {
	dir := filepath.Join(s.w.t.TempDir(), "locks")
	s.config = append(s.config, func(c *engine.Config) { c.LockDir = dir })
	s.w.lockStep(dir, s.id, step)
}

func (w *world) lockStep(dir, id, step string) *proc.FileLock {
	w.t.Helper()
	path := proc.StepLockPath(dir, id, step)
	if err := mkdir(dir); err != nil {
		w.t.Fatal(err)
	}
	lock, err := proc.OpenFileLock(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if ok, err := lock.TryLock(); !ok || err != nil {
		w.t.Fatal(ok, err)
	}
	w.t.Cleanup(func() { lock.Close() })
	return lock
}

// forge appends a line to a run's journal that no engine of this version writes.
func (w *world) forge(id, line string) {
	w.t.Helper()
	w.forged = true
	st := w.open()
	defer st.Close()
	head, err := st.Head(context.Background(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	if head.Owner.Alive { // nobody else may write then
		return
	}
	claim, err := st.Claim(context.Background(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	defer claim.Close()
	err = st.Commit(context.Background(), &store.Batch{Appends: []store.Append{{
		Stream: id, Expect: head.Last, Claim: claim, Release: true, Events: [][]byte{[]byte(line)},
	}}})
	if err != nil {
		w.t.Fatal(err)
	}
}

// edit copies the run's journal, changed, to a new run, which the scene is of then.
func (s *scene) edit(change func(line string) string) {
	w := s.w
	w.t.Helper()
	w.forged = true
	st := w.open()
	defer st.Close()
	head, err1 := st.Head(context.Background(), s.id)
	groups, err2 := st.Read(context.Background(), s.id, 0, 1<<30)
	if err := errors.Join(err1, err2); err != nil {
		w.t.Fatal(err)
	}
	s.edits++
	id := fmt.Sprintf("%s%04d", s.id[:len(s.id)-4], s.edits)
	var lines [][]byte
	for _, g := range groups {
		for _, line := range g.Events {
			lines = append(lines, []byte(change(strings.ReplaceAll(string(line), s.id, id))))
		}
	}
	head.Row.ID = id
	err := st.Commit(context.Background(), &store.Batch{
		Appends: []store.Append{{Stream: id, Create: true, Row: &head.Row, Events: lines, Release: true}},
		Spends:  []store.Spend{{Account: id, Limits: map[string]int64{"steps": 100}}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	s.id = id
}

// Every refusal of Continue changes nothing and leaves no lock, and actions says
// the same.
func TestContinueRefusals(t *testing.T) {
	t.Parallel()
	for _, r := range reasons() {
		t.Run(r.code, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				s := set(t, w, r)
				s.check(r.code)
			})
		})
	}
}

// Of two reasons at once the first in the documented order is told.
func TestContinueRefusesInTheDocumentedOrder(t *testing.T) {
	t.Parallel()
	all := reasons()
	for i, first := range all {
		for _, second := range all[i+1:] {
			if excluded(first.code, second.code) {
				continue
			}
			t.Run(first.code+" before "+second.code, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					begin(t, memoryWorld, func(t *testing.T, w *world) { set(t, w, second, first).check(first.code) })
				})
			})
		}
	}
}

// excluded are pairs that cannot both be true.
func excluded(a, b string) bool {
	states := []string{engine.CodeOwnedElsewhere, engine.CodeTerminal, engine.CodeNotSuspended}
	broken := []string{engine.CodeDamaged, engine.CodeNewerFormat}
	edited := []string{engine.CodeBundleMismatch, engine.CodeInputMismatch, engine.CodeOutputInvalid}
	ended := []string{engine.CodeTerminal, engine.CodeNotSuspended}
	both := func(set []string) bool { return slices.Contains(set, a) && slices.Contains(set, b) }
	return both(states) || both(broken) ||
		slices.Contains(broken, a) && b == engine.CodeOwnedElsewhere || // its owner alone could write it
		a == engine.CodeOwnedElsewhere && (b == engine.CodeDeadlinePassed || slices.Contains(edited, b)) || // then its owner suspends it
		slices.Contains(ended, a) && b == engine.CodeInputMismatch || // nothing is open then
		a == engine.CodeInputMismatch && b == engine.CodeDeadlinePassed ||
		slices.Contains([]string{engine.CodeStepInDoubt, engine.CodeStillRunning}, a) &&
			slices.Contains([]string{engine.CodeStillRunning, engine.CodeDeadlinePassed}, b)
}

func (s *scene) check(want string) {
	t := s.w.t
	t.Helper()
	p := s.engine()
	before, commits := s.w.dump(), p.st.count()
	_, err := p.Continue(t.Context(), s.id, s.options)
	refused(t, err, want)
	s.w.unchanged(before)
	if n := p.st.count(); n != commits {
		t.Errorf("a refusal asked for %d commits", n-commits)
	}
	if len(p.script.called()) != 0 {
		t.Errorf("a refusal called %v", p.script.called())
	}
	s.unlocked()
	s.saysSo(p, want)
}

// unlocked checks that another process could take the run over.
func (s *scene) unlocked() {
	s.w.t.Helper()
	if s.owned {
		return
	}
	st := s.w.open()
	defer st.Close()
	claim, err := st.Claim(context.Background(), s.id)
	if err != nil {
		s.w.t.Errorf("a refusal left a lock: %v", err)
		return
	}
	claim.Close()
}

// saysSo checks what actions says of continue, where it can know the options.
func (s *scene) saysSo(p *process, want string) {
	s.w.t.Helper()
	if s.options.Session != "" || s.options.Rerun != nil {
		return
	}
	v, err := p.Progress(s.w.t.Context(), s.id, engine.ProgressOptions{})
	if err != nil {
		s.w.t.Fatal(err)
	}
	if got := v.Actions["continue"]; got == nil || *got != want {
		s.w.t.Errorf("actions say %v, the call %s", deref(got), want)
	}
}

func deref(s *string) string {
	if s == nil {
		return "possible"
	}
	return *s
}

// The refusals that need more than a state: a policy, a pin, an input.
func TestContinueIsRefusedWhatTheOperatorTookAway(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := set(t, w)
		// A capability that the tool did not need when the run began.
		s.config = append(s.config, func(c *engine.Config) {
			for i, tl := range c.Tools {
				if spec := tl.Spec(); spec.Name == "write" {
					spec.Capability = "deploy"
					c.Tools[i] = scripted{newScript(), spec}
				}
			}
		})
		s.check(engine.CodePolicyDenied)
		s.options.Authority = run.Authority{Allow: []string{"deploy"}}
		p := s.engine()
		if v := p.resume(s.id, s.options); v.Status != run.StatusSucceeded || !slices.Contains(v.Authority.Allow, "deploy") {
			t.Errorf("%s with authority %+v", v.Status, v.Authority)
		}
	})
}

func TestContinueIsRefusedForAMissingRun(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		_, err := w.process(newScript()).Continue(t.Context(), "01900000-0000-7000-8000-000000000000", engine.ContinueOptions{})
		refused(t, err, engine.CodeNotFound)
	})
}

// step_in_doubt lists the steps.
func TestStepInDoubtListsTheSteps(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		s := newScript().on("pay", fails(errPlain)).on("ship", fails(errPlain))
		p := w.process(s)
		id := p.start(strings.ReplaceAll(strings.ReplaceAll(payAndOther, "other", "ship"), "tool: read", "tool: write"))
		_, err := p.Continue(t.Context(), id, engine.ContinueOptions{})
		refused(t, err, engine.CodeStepInDoubt)
		if steps := err.(*engine.Error).Details["steps"]; fmt.Sprint(steps) != "[pay ship]" {
			t.Errorf("steps %v", steps)
		}
	})
}
