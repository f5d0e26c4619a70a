package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
)

// states are runs in many states, by name.
func states() map[string]func(t *testing.T, w *world) *scene {
	all := map[string]func(t *testing.T, w *world) *scene{
		"stopped": func(t *testing.T, w *world) *scene { return set(t, w) },
	}
	for _, r := range reasons() {
		if r.code == engine.CodeNotFound {
			continue // actions are for those who may see the run
		}
		all[r.code] = func(t *testing.T, w *world) *scene {
			s := set(t, w, r)
			s.options.Rerun = nil
			return s
		}
	}
	for _, r := range reasons() {
		if r.code != engine.CodeToolMissing && r.code != engine.CodeCeilingExceeded && r.code != engine.CodeStillRunning {
			continue
		}
		doubt := reason{def: func(d *defn) { d.does, d.doubt = fails(errPlain), true }}
		all["in doubt, "+r.code] = func(t *testing.T, w *world) *scene {
			s := set(t, w, doubt, r)
			s.options.Rerun = nil
			return s
		}
	}
	for name, does := range map[string]behaviour{"succeeded": gives(`1`), "failed": definite(false)} {
		all[name] = func(t *testing.T, w *world) *scene { return ended(w, does) }
	}
	all["untrusted"] = func(t *testing.T, w *world) *scene {
		s := set(t, w)
		s.config = append(s.config, func(c *engine.Config) {
			for i, tl := range c.Tools {
				spec := tl.Spec()
				spec.Capability = "deploy"
				c.Tools[i] = scripted{newScript(), spec}
			}
		})
		return s
	}
	all["alive, in doubt"] = func(t *testing.T, w *world) *scene {
		s := newScript()
		s.on("pay", fails(errPlain)).on("other", deaf(s.gate(), gives(`1`)))
		return &scene{w: w, id: w.process(s).start(payAndOther), owned: true}
	}
	all["dead, in doubt"] = func(t *testing.T, w *world) *scene {
		s := newScript()
		s.on("pay", fails(errPlain)).on("other", untilCancelled(nil))
		p := w.process(s)
		id := p.start(payAndOther)
		p.kill()
		p.end()
		return &scene{w: w, id: id}
	}
	return all
}

func ended(w *world, does behaviour) *scene {
	s := newScript().on("done", gives(`1`)).on("s", does)
	return &scene{w: w, id: w.process(s).start(fmt.Sprintf(scenes, "max_steps: 100"))}
}

// What a view says of an action is what the call would say, in every state.
func TestActionsSayWhatTheCallsSay(t *testing.T) {
	t.Parallel()
	for name, state := range states() {
		for action, call := range calls() {
			t.Run(strings.ReplaceAll(name, " ", "_")+"/"+action, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					begin(t, memoryWorld, func(t *testing.T, w *world) {
						s := state(t, w)
						p := s.engine()
						v, err := p.Progress(t.Context(), s.id, engine.ProgressOptions{})
						if err != nil {
							t.Fatal(err)
						}
						said, known := v.Actions[action]
						if !known {
							t.Fatalf("actions are %v", v.Actions)
						}
						before := w.dump()
						err = call(t, p, s.id, v)
						if got := code(t, err); got != strings.TrimPrefix(deref(said), "possible") {
							t.Errorf("actions say %s, the call %q (%v)", deref(said), got, err)
						}
						if err != nil {
							w.unchanged(before)
						}
						pass(time.Second)
					})
				})
			})
		}
	}
}

// calls do each action in the plainest way.
func calls() map[string]func(t *testing.T, p *process, id string, v *run.View) error {
	return map[string]func(t *testing.T, p *process, id string, v *run.View) error{
		"continue": func(t *testing.T, p *process, id string, _ *run.View) error {
			_, err := p.Continue(t.Context(), id, engine.ContinueOptions{})
			return err
		},
		"cancel": func(t *testing.T, p *process, id string, _ *run.View) error {
			_, err := p.Cancel(t.Context(), id, engine.CancelOptions{})
			return err
		},
		"restart": func(t *testing.T, p *process, id string, _ *run.View) error {
			_, err := p.Restart(t.Context(), id, engine.RestartOptions{})
			return err
		},
		"resolve": func(t *testing.T, p *process, id string, v *run.View) error {
			step := "s"
			for name, st := range v.Steps {
				if st.InDoubt {
					step = name
				}
			}
			if v.Steps[step] == nil { // nothing was entered that could be meant
				for name := range v.Steps {
					step = name
				}
			}
			_, err := p.Resolve(t.Context(), id, step, engine.Resolution{Verdict: run.VerdictFailed})
			return err
		},
	}
}

// Recovering is possible exactly for what Recover finds.
func TestActionsSayWhatRecoverFinds(t *testing.T) {
	t.Parallel()
	for name, state := range states() {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin(t, memoryWorld, func(t *testing.T, w *world) {
					s := state(t, w)
					p := s.engine()
					v, err := p.Progress(t.Context(), s.id, engine.ProgressOptions{})
					if err != nil {
						t.Fatal(err)
					}
					got, err := p.RecoverRun(t.Context(), s.id)
					if possible := v.Actions["recover"] == nil; possible != (got != nil) {
						t.Errorf("actions say %s, recovering gives %v, %v", deref(v.Actions["recover"]), got, err)
					}
				})
			})
		})
	}
}

// A view made from a checkpoint is the view made from the whole journal.
func TestCheckpointsTellTheSame(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		p := w.process(s)
		id := p.start(fmt.Sprintf(strings.Replace(mapping, "max_steps: 8", "max_steps: 500", 1), "write",
			`[{map: {from: args, pointer: /items}, as: i, do: x}, last]`)+"", items("[0"+strings.Repeat(",0", 299)+"]"),
			func(st *engine.Start) {
				st.Workflow = []byte(strings.Replace(string(st.Workflow), "steps: [", "steps: [{id: last, type: tool, tool: write}, ", 1))
			})
		synctest.Wait()
		w.status(id, run.StatusSucceeded)
		short, err := p.Progress(t.Context(), id, engine.ProgressOptions{})
		if err != nil {
			t.Fatal(err)
		}
		full := w.view(id)
		if len(short.Steps) != len(full.Steps) || short.Usage.Steps != full.Usage.Steps || short.Status != full.Status ||
			short.LastSequence != full.LastSequence || !short.Deadline.Equal(full.Deadline) {
			t.Errorf("checkpoint: %s at %d, journal: %s at %d", short.Status, short.LastSequence, full.Status, full.LastSequence)
		}
		for name, st := range full.Steps {
			if got := short.Steps[name]; got == nil || got.Status != st.Status || got.Attempts != st.Attempts || got.InputHash != st.InputHash {
				t.Errorf("step %s: %+v, want %+v", name, got, st)
			}
		}
	})
}
