package workflow_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/culm-dev/culm/workflow"
)

func TestBoundsSayWhereLimitsComeFrom(t *testing.T) {
	t.Parallel()
	n := func(n int64) *int64 { return &n }
	def := &workflow.Budgets{MaxSteps: n(5), MaxRetries: n(3)}
	ceilings := &workflow.Budgets{MaxConcurrency: n(2), MaxTokens: n(1000)}
	caller := &workflow.Budgets{MaxRetries: n(1)}
	got := map[string]workflow.BoundOrigin{}
	for _, b := range workflow.Bounds(def, ceilings, caller) {
		got[b.Field] = b.From
	}
	want := map[string]workflow.BoundOrigin{
		"max_concurrency": workflow.BoundCeiling, "max_agents": workflow.BoundSteps, "max_steps": workflow.BoundDefinition,
		"max_retries": workflow.BoundCaller, "max_nesting_depth": workflow.BoundDefault, "wall_time_ms": workflow.BoundDefault, "cleanup_ms": workflow.BoundDefault,
		"max_tokens": workflow.BoundCeiling, "max_cost_micros": workflow.BoundNobody,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBoundsAreTheLimits: they are what Effective decides.
func TestBoundsAreTheLimits(t *testing.T) {
	t.Parallel()
	budgets := func(low, high int64) *rapid.Generator[*workflow.Budgets] {
		return rapid.Custom(func(t *rapid.T) *workflow.Budgets {
			field := func(name string, low int64) *int64 {
				return rapid.Ptr(rapid.Int64Range(low, high), true).Draw(t, name)
			}
			return &workflow.Budgets{
				MaxConcurrency: field("concurrency", low), MaxAgents: field("agents", low), MaxSteps: field("steps", high), MaxRetries: field("retries", low),
				MaxNestingDepth: field("depth", low), WallTimeMS: field("time", low), CleanupMS: field("cleanup", low), MaxTokens: field("tokens", low), MaxCostMicros: field("cost", low),
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		caller, def, ceilings := budgets(1, 2).Draw(t, "caller"), budgets(3, 5).Draw(t, "definition"), budgets(6, 12).Draw(t, "ceilings")
		limits, err := workflow.Effective(def, ceilings, caller)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]*int64{}
		for _, b := range workflow.Bounds(def, ceilings, caller) {
			if b.Value != nil {
				values[b.Field] = b.Value
			}
		}
		told, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		var got workflow.Limits
		if err := json.Unmarshal(told, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(limits, got); diff != "" {
			t.Fatalf("(-effective +bounds):\n%s", diff)
		}
	})
}
