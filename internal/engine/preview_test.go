package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// previewed is what a preview says of each step, in a line.
func previewed(steps []engine.PreviewStep) map[string]string {
	lines := map[string]string{}
	for _, st := range steps {
		line := string(st.Effect)
		if st.EffectDepends {
			line += "?"
		}
		for _, in := range st.In {
			line += " in " + string(in)
		}
		if st.Refusal != nil {
			line += " " + st.Refusal.Code
		}
		if st.AtWorst != nil {
			line += " at worst " + st.AtWorst.Code
		}
		lines[st.ID] = line
	}
	return lines
}

const previewable = `
workflow_schema: 1
id: w
revision: 1
budgets: {max_steps: 9}
steps:
  - {id: look, type: tool, tool: read}
  - {id: pay, type: tool, tool: write}
  - {id: maybe, type: tool, tool: either}
  - {id: nap, type: sleep, duration_ms: 1}
  - {id: outer, type: workflow, workflow_id: inner, revision: 1}
plan: [look, {map: {from: args, pointer: /list}, as: x, do: {retry: pay, attempts: 2}}, {parallel: [maybe, nap]}, outer]
input_schema: {type: object, properties: {list: {type: array}}, required: [list]}
`

// TestPreview: it tells of every step what a start would, nested ones included,
// whatever the authority; it writes no byte and calls no tool.
func TestPreview(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		may  run.Authority
		code string
		want map[string]string
	}{
		{"nothing allowed", run.Authority{}, engine.CodePolicyDenied, map[string]string{
			"look": "read", "pay": "write in map in retry policy_denied", "maybe": "write? in parallel at worst untrusted_workspace",
			"nap": " in parallel", "outer": "", "outer/x": "write policy_denied", "outer/y": "write policy_denied", "outer/z": "write policy_denied",
		}},
		{"everything allowed", everything(), "", map[string]string{
			"look": "read", "pay": "write in map in retry", "maybe": "write? in parallel",
			"nap": " in parallel", "outer": "", "outer/x": "write", "outer/y": "write", "outer/z": "write",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				s := newScript()
				s.extra = append(s.extra, either{scripted{s, tool.Spec{Name: "either", Effect: tool.Write, Capability: tool.CapRead}}})
				p := w.process(s, nestedCatalog(t), func(c *engine.Config) { c.Authority = run.Authority{} })
				before := w.dump()
				pv, err := p.Preview(t.Context(), engine.Start{Workflow: []byte(previewable), Args: []byte(`{"list":[1]}`), Authority: c.may})
				if err != nil {
					t.Fatal(err)
				}
				w.unchanged(before)
				if diff := cmp.Diff(c.want, previewed(pv.Steps)); diff != "" {
					t.Errorf("steps (-want +got):\n%s", diff)
				}
				if got := code(t, pv.Err()); got != c.code {
					t.Errorf("refused with %q, want %q", got, c.code)
				}
				if (pv.Refusal == nil) != (c.code == "") || pv.Refusal != nil && (!pv.Refusal.NeedsTrust || len(pv.Refusal.NeedsAllow) != 1) {
					t.Errorf("refusal %+v", pv.Refusal)
				}
				if steps := pv.Budget[2]; *steps.Value != 9 || steps.From != workflow.BoundDefinition {
					t.Errorf("max_steps: %+v", steps)
				}
				if called := s.called(); len(called) > 0 {
					t.Errorf("it called %v", called)
				}
			})
		})
	}
}

// either computes its effect from its arguments.
type either struct{ scripted }

func (either) EffectOf(json.RawMessage) tool.Effect { return tool.Read }

// TestPreviewAgreesWithStart: what a preview refuses, a start refuses with the same
// code, and what it does not refuse is started.
func TestPreviewAgreesWithStart(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript(), func(c *engine.Config) { c.Authority = run.Authority{} })
		many := int64(1 << 40)
		for name, s := range map[string]engine.Start{
			"fine":            {Workflow: []byte(toolSteps("a")), Authority: everything()},
			"policy":          {Workflow: []byte(toolSteps("a"))},
			"budget":          {Workflow: []byte(toolSteps("a")), Authority: everything(), Budget: &workflow.Budgets{MaxSteps: &many}},
			"definition":      {Workflow: []byte("id: a")},
			"arguments":       {Workflow: []byte(toolSteps("a")), Args: []byte(`[`)},
			"tool":            {Workflow: []byte("workflow_schema: 1\nid: w\nrevision: 1\nsteps: [{id: a, type: tool, tool: nope}]")},
			"unsupported":     {Workflow: []byte("workflow_schema: 1\nid: w\nrevision: 1\nsteps: [{id: a, type: approval, prompt: x}]")},
			"label's name":    {Workflow: []byte(toolSteps("a")), Labels: map[string]string{"Env": "x"}},
			"key, first time": {Workflow: []byte(toolSteps("a")), Authority: everything(), Key: "k"},
		} {
			var previewed error
			pv, err := p.Preview(t.Context(), s)
			if previewed = err; err == nil {
				previewed = pv.Err()
			}
			_, err = p.Start(t.Context(), s)
			if a, b := code(t, previewed), code(t, err); a != b {
				t.Errorf("%s: previewed %q, started %q", name, a, b)
			}
		}
		pass(0)
		again := engine.Start{Workflow: []byte(toolSteps("a")), Authority: everything(), Key: "k"}
		pv, err := p.Preview(t.Context(), again)
		if err != nil || pv.Repeats == "" || pv.Refusal != nil {
			t.Errorf("a key that was used by this request: %+v, %v", pv, err)
		}
		again.Args = []byte(`{"x": 1}`)
		if pv, err = p.Preview(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		refused(t, pv.Err(), engine.CodeKeyConflict)
	})
}

// TestLabels: they are kept, listed by, handed on to a restart, and checked.
func TestLabels(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript())
		labelled := func(labels map[string]string) string {
			return p.start(toolSteps("a"), func(s *engine.Start) { s.Labels = labels })
		}
		prod, test := labelled(map[string]string{"env": "prod", "team/x": "a b"}), labelled(map[string]string{"env": "test"})
		again, err := p.Restart(t.Context(), prod, engine.RestartOptions{Labels: map[string]string{"env": "next"}})
		if err != nil {
			t.Fatal(err)
		}
		pass(0)
		if diff := cmp.Diff(map[string]string{"env": "next", "team/x": "a b"}, w.view(again.RunID).Labels); diff != "" {
			t.Errorf("labels of a restart (-want +got):\n%s", diff)
		}
		for _, c := range []struct {
			labels map[string]string
			want   []string
		}{
			{map[string]string{"env": "prod"}, []string{prod}},
			{map[string]string{"env": "test"}, []string{test}},
			{map[string]string{"team/x": "a b"}, []string{again.RunID, prod}},
			{map[string]string{"team/x": "a b", "env": "test"}, nil},
		} {
			page, err := p.List(t.Context(), store.Query{Labels: c.labels})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range page.Runs {
				got = append(got, r.RunID)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("listed by %v (-want +got):\n%s", c.labels, diff)
			}
		}
	})
}

func TestLabelsThatCannotBe(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		p := w.process(newScript())
		many := map[string]string{}
		for i := range 33 {
			many[fmt.Sprint("l", i)] = ""
		}
		for name, labels := range map[string]map[string]string{
			"too many": many, "no name": {"": "x"}, "capital": {"Env": "x"}, "begins with a dot": {".env": "x"}, "space": {"e v": "x"},
			"long name": {strings.Repeat("n", 64): "x"}, "long value": {"n": strings.Repeat("v", 257)},
			"line feed": {"n": "a\nb"}, "escape": {"n": "\x1b[31m"}, "not UTF-8": {"n": "\xff"},
		} {
			_, err := p.Start(t.Context(), engine.Start{Workflow: []byte(toolSteps("a")), Labels: labels})
			if code(t, err) != engine.CodeInvalidLabel {
				t.Errorf("%s: %v", name, err)
			}
		}
		delete(many, "l0")
		many[strings.Repeat("n", 63)] = strings.Repeat("v", 256)
		delete(many, "l1")
		delete(many, "l2")
		many["a.b_c/d-9"] = ""
		p.start(toolSteps("a"), func(s *engine.Start) { s.Labels = many }) // 32, and as long as may be
	})
}
