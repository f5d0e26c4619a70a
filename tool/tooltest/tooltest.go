// Package tooltest helps to test tools as an engine uses them.
package tooltest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/culm-dev/culm/tool"
)

// Call calls t once with args, any value that marshals to a JSON object, in
// workspace ("" for none). The arguments must satisfy the tool's input schema,
// and a result its output schema, or the test fails. It returns the result's
// JSON, or the call's error.
func Call(t testing.TB, of tool.Tool, workspace string, args any) (json.RawMessage, error) {
	t.Helper()
	return CallContext(t.Context(), t, of, workspace, args)
}

// CallContext is [Call] with a context of one's own.
func CallContext(ctx context.Context, t testing.TB, of tool.Tool, workspace string, args any) (json.RawMessage, error) {
	t.Helper()
	registry, err := tool.NewRegistry(of)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatalf("marshal arguments: %v", err)
	}
	name := of.Spec().Name
	if err := registry.CheckInput(name, raw); err != nil {
		t.Fatalf("%s does not accept %s: %v", name, raw, err)
	}
	res, err := of.Call(ctx, tool.Call{
		RunID: "run-1", StepID: "step", Attempt: 1, IdempotencyKey: "run-1/step", Workspace: workspace, Args: raw,
	})
	if err != nil {
		return nil, err
	}
	if err := registry.CheckOutput(name, res.Output); err != nil {
		t.Errorf("%s breaks its output schema with %s: %v", name, res.Output, err)
	}
	return res.Output, nil
}
