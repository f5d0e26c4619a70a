package engine_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/memory"
	"github.com/culm-dev/culm/store/sqlite"
	"github.com/culm-dev/culm/tool"
)

// onStores runs a test over every store there is.
func onStores(t *testing.T, f func(t *testing.T, st store.Store)) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		st := memory.New().Open()
		t.Cleanup(func() { st.Close() })
		f(t, st)
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "culm.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		f(t, st)
	})
}

func open(t *testing.T, st store.Store, cfg engine.Config) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), st, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

func echo(t *testing.T) tool.Tool {
	t.Helper()
	tl, err := tool.Func("echo", "returns its value", tool.Read,
		func(_ context.Context, _ tool.Call, in struct {
			Value any `json:"value"`
		}) (any, error) {
			return in.Value, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

const allNodes = `
workflow_schema: 1
id: all
revision: 1
input_schema: {type: object, properties: {n: {type: integer}}}
steps:
  - {id: a, type: tool, tool: echo, args: {value: {from: args, pointer: /n}}}
  - {id: b, type: tool, tool: echo, args: {value: {text: ["a is ", {from: step, step: a}]}}}
  - {id: p1, type: tool, tool: echo, args: {value: 1}}
  - {id: p2, type: tool, tool: echo, args: {value: 2}}
  - {id: list, type: tool, tool: echo, output_schema: {type: array}, args: {value: [10, 20, 30]}}
  - {id: item, type: tool, tool: echo, args: {value: {from: item, name: i}}}
  - {id: yes, type: tool, tool: echo, args: {value: yes}}
  - {id: no, type: tool, tool: echo, args: {value: no}}
  - {id: count, type: tool, tool: echo, output_schema: {type: integer}, args: {value: {cel: "args.n"}}}
  - {id: nap, type: sleep, duration_ms: 5}
plan:
  - a
  - b
  - {parallel: [p1, p2]}
  - list
  - {map: {from: step, step: list}, as: i, do: item, concurrency: 2, id: m}
  - {if: {cel: "args.n > 1"}, then: yes, else: no}
  - {repeat: count, until: {cel: "steps.count > 0"}, max: 3}
  - nap
output: {items: {from: step, step: m}, b: {from: step, step: b}}
`

func TestRunsEveryNode(t *testing.T) {
	onStores(t, func(t *testing.T, st store.Store) {
		e := open(t, st, engine.Config{Tools: []tool.Tool{echo(t)}})
		v, err := e.Run(t.Context(), engine.Start{Workflow: []byte(allNodes), Args: json.RawMessage(`{"n":7}`)})
		if err != nil {
			t.Fatal(err)
		}
		if v.Status != run.StatusSucceeded {
			t.Fatalf("status %s, failure %v", v.Status, v.Failure)
		}
		const want = `{"b":"a is 7","items":[10,20,30]}`
		if string(v.Output) != want {
			t.Errorf("output %s, want %s", v.Output, want)
		}
		raw, _ := json.Marshal(v)
		t.Logf("%s", raw)
		if st := v.Steps["no"]; st == nil || st.Status != run.StatusStepSkipped {
			t.Errorf("untaken branch: %+v", st)
		}
	})
}
