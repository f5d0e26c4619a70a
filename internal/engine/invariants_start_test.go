package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/workflow"
)

func keyed(def string) engine.Start { return engine.Start{Workflow: []byte(def), Key: "k"} }

func TestInvariant20_AStartWhoseClientVanished(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript())
		ctx, vanish := context.WithCancel(t.Context())
		p.st.hook(nil, func(*store.Batch) { vanish() })
		def := fmt.Sprintf(oneCall, "write", "")
		first, err := p.Start(ctx, keyed(def))
		if err != nil {
			t.Fatal(err)
		}
		again, err := p.Start(t.Context(), keyed(def))
		if err != nil || again.RunID != first.RunID {
			t.Errorf("again: %v, %v; want run %s", again, err, first.RunID)
		}
		if first.Repeated || !again.Repeated {
			t.Errorf("repeated: the first %v, the second %v", first.Repeated, again.Repeated)
		}
		synctest.Wait()
		w.status(first.RunID, run.StatusSucceeded)
		if w.onlyRun() != first.RunID || len(p.script.called()) != 1 {
			t.Errorf("called %v", p.script.called())
		}
		before := w.dump()
		_, err = p.Start(t.Context(), keyed(fmt.Sprintf(oneCall, "read", "")))
		refused(t, err, "key_conflict")
		w.unchanged(before)
		other := keyed(fmt.Sprintf(oneCall, "read", ""))
		other.SessionID = "another" // keys are a session's own
		v, err := p.Start(t.Context(), other)
		if err != nil || v.RunID == first.RunID || v.Repeated {
			t.Fatalf("another session's key: %v", err)
		}
		if r, err := p.Start(t.Context(), other); err != nil || r.RunID != v.RunID || !r.Repeated {
			t.Errorf("another session's key, again: %v", err)
		}
	})
}

func TestInvariant20_TheProcessDiedBeforeItCouldReply(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript())
		p.dieAfter("run_started")
		def := fmt.Sprintf(oneCall, "write", "")
		if _, err := p.Start(t.Context(), keyed(def)); err == nil {
			t.Fatal("the start was answered")
		}
		q := w.process(newScript())
		v, err := q.Start(t.Context(), keyed(def))
		if err != nil || v.RunID != w.onlyRun() || v.Status != run.StatusRunning || v.Owner.Alive {
			t.Fatalf("%+v, %v", v, err)
		}
		q.recover()
		if v := q.resume(v.RunID, engine.ContinueOptions{}); v.Status != run.StatusSucceeded {
			t.Errorf("continued: %s", v.Status)
		}
	})
}

func TestInvariant20_ManyStartsUnderOneKey(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		procs := []*process{w.process(newScript()), w.process(newScript())}
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				if _, err := procs[i%2].Start(context.Background(), keyed(fmt.Sprintf(oneCall, "write", ""))); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		w.status(w.onlyRun(), run.StatusSucceeded)
	})
}

// A start that is refused writes nothing.
func TestRefusedStartsWriteNothing(t *testing.T) {
	t.Parallel()
	one := func(n int64) *int64 { return &n }
	typed := func(fields string) string {
		return "workflow_schema: 1\nid: r\nrevision: 1\nsteps: [{id: s, " + fields + "}]\n"
	}
	cases := []struct {
		name  string
		start engine.Start
		code  string
		hint  string
		off   bool // without authority
	}{
		{name: "agent", start: engine.Start{Workflow: []byte(typed("type: agent, agent: x, prompt: hi"))}, code: engine.CodeUnsupportedStep},
		{name: "approval", start: engine.Start{Workflow: []byte(typed("type: approval, prompt: ok"))}, code: engine.CodeUnsupportedStep},
		{name: "input", start: engine.Start{Workflow: []byte(typed("type: input, prompt: which, output_schema: {type: string}"))}, code: engine.CodeUnsupportedStep},
		{name: "event", start: engine.Start{Workflow: []byte(typed("type: event, name: paid"))}, code: engine.CodeUnsupportedStep},
		{name: "secret", start: engine.Start{Workflow: []byte(typed("type: tool, tool: read, args: {key: {$secret: token}}"))}, code: engine.CodeSecretUnavailable},
		{name: "tool", start: engine.Start{Workflow: []byte(typed("type: tool, tool: wriet"))}, code: engine.CodeToolMissing, hint: `did you mean "write"?`},
		{name: "policy", start: engine.Start{Workflow: []byte(typed("type: tool, tool: write"))}, code: engine.CodePolicyDenied, off: true},
		{name: "capability", start: engine.Start{Workflow: []byte(typed("type: tool, tool: read, capabilities: [mail]"))}, code: engine.CodePolicyDenied},
		{name: "definition", start: engine.Start{Workflow: []byte(typed("type: tool"))}, code: engine.CodeInvalidDefinition},
		{name: "arguments", start: engine.Start{Workflow: []byte(typed("type: tool, tool: read") + "input_schema: {type: object, required: [n]}\n")}, code: engine.CodeInvalidInput},
		{name: "no JSON", start: engine.Start{Workflow: []byte(typed("type: tool, tool: read")), Args: []byte(`{`)}, code: engine.CodeInvalidInput},
		{name: "ceiling", start: engine.Start{Workflow: []byte(typed("type: tool, tool: read") + "budgets: {max_steps: 100000}\n")}, code: engine.CodeCeilingExceeded},
		{name: "widened", start: engine.Start{Workflow: []byte(typed("type: tool, tool: read") + "budgets: {max_steps: 10, max_agents: 1}\n"), Budget: &workflow.Budgets{MaxSteps: one(11)}}, code: engine.CodeCeilingExceeded},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				p := w.process(newScript(), func(cfg *engine.Config) {
					if c.off {
						cfg.Authority = run.Authority{}
					}
				})
				before := w.dump()
				_, err := p.Start(t.Context(), c.start)
				refused(t, err, c.code)
				if e, ok := err.(*engine.Error); ok && c.hint != "" && e.Hint != c.hint {
					t.Errorf("hint %q", e.Hint)
				}
				w.unchanged(before)
				if n := p.st.count(); n != 0 {
					t.Errorf("%d commits", n)
				}
			})
		})
	}
}

// A closed engine writes nothing either.
func TestClosedEngineRefuses(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript().on("s", fails(errPlain)))
		id := p.start(fmt.Sprintf(oneCall, "write", ""))
		if _, err := p.Resolve(t.Context(), id, "s", engine.Resolution{Verdict: run.VerdictSucceeded}); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := w.dump()
		_, err := p.Start(t.Context(), keyed(fmt.Sprintf(oneCall, "write", "")))
		refused(t, err, engine.CodeClosed)
		_, err = p.Continue(t.Context(), id, engine.ContinueOptions{})
		refused(t, err, engine.CodeClosed)
		_, err = p.Restart(t.Context(), id, engine.RestartOptions{})
		refused(t, err, engine.CodeClosed)
		w.unchanged(before)
	})
}
