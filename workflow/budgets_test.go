package workflow_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/culm-dev/culm/workflow"
)

func n(v int64) *int64 { return &v }

func TestLimitsAreDefinitionClampedAndTightened(t *testing.T) {
	t.Parallel()
	base := workflow.Limits{MaxConcurrency: 4, MaxAgents: 8, MaxSteps: 256, MaxRetries: 8, MaxNestingDepth: 4, WallTimeMS: 900_000, CleanupMS: 60_000}
	with := func(change func(*workflow.Limits)) workflow.Limits {
		l := base
		change(&l)
		return l
	}
	for name, c := range map[string]struct {
		def, ceilings, caller *workflow.Budgets
		want                  workflow.Limits
	}{
		"nothing set":          {nil, nil, nil, base},
		"the definition":       {&workflow.Budgets{MaxSteps: n(500)}, nil, nil, with(func(l *workflow.Limits) { l.MaxSteps = 500 })},
		"a lower ceiling":      {nil, &workflow.Budgets{MaxSteps: n(10)}, nil, with(func(l *workflow.Limits) { l.MaxSteps = 10 })},
		"few steps":            {&workflow.Budgets{MaxSteps: n(3)}, nil, nil, with(func(l *workflow.Limits) { l.MaxSteps, l.MaxAgents = 3, 3 })},
		"a ceiling for tokens": {nil, &workflow.Budgets{MaxTokens: n(7)}, nil, with(func(l *workflow.Limits) { l.MaxTokens = n(7) })},
		"no tokens at all":     {&workflow.Budgets{MaxTokens: n(0)}, nil, nil, with(func(l *workflow.Limits) { l.MaxTokens = n(0) })},
		"a caller who tightens": {&workflow.Budgets{MaxSteps: n(100)}, nil, &workflow.Budgets{MaxSteps: n(9), MaxTokens: n(5)},
			with(func(l *workflow.Limits) { l.MaxSteps = 9; l.MaxTokens = n(5) })},
	} {
		got, err := workflow.Effective(c.def, c.ceilings, c.caller)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWhatAsksForMoreIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		def, ceilings, caller *workflow.Budgets
		code                  workflow.Code
		field                 string
	}{
		"a definition above the ceiling": {&workflow.Budgets{MaxSteps: n(513)}, nil, nil, workflow.CeilingExceeded, "max_steps"},
		"tokens above the ceiling":       {&workflow.Budgets{MaxTokens: n(8)}, &workflow.Budgets{MaxTokens: n(7)}, nil, workflow.CeilingExceeded, "max_tokens"},
		"a caller above the ceiling":     {nil, nil, &workflow.Budgets{MaxRetries: n(17)}, workflow.CeilingExceeded, "max_retries"},
		"a caller above the definition":  {&workflow.Budgets{MaxSteps: n(5)}, nil, &workflow.Budgets{MaxSteps: n(6)}, workflow.BudgetWidened, "max_steps"},
		"a caller above the default":     {nil, nil, &workflow.Budgets{MaxSteps: n(257)}, workflow.BudgetWidened, "max_steps"},
		"a caller out of range":          {nil, nil, &workflow.Budgets{MaxConcurrency: n(0)}, workflow.InvalidBudget, "max_concurrency"},
		"ceilings out of range":          {nil, &workflow.Budgets{WallTimeMS: n(-1)}, nil, workflow.InvalidBudget, "wall_time_ms"},
		"more agents than steps":         {nil, nil, &workflow.Budgets{MaxAgents: n(3), MaxSteps: n(2)}, workflow.InvalidBudget, "max_agents"},
	} {
		_, err := workflow.Effective(c.def, c.ceilings, c.caller)
		var refused *workflow.BudgetError
		if !errors.As(err, &refused) || refused.Code != c.code || refused.Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever is asked for, nobody gets more than a ceiling, the definition or the
// caller allows.
func TestLimitsAreNeverAboveWhatAnyoneAllows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		budgets := func(name string) *workflow.Budgets {
			some := rapid.Ptr(rapid.Int64Range(1, 64), true)
			return &workflow.Budgets{
				MaxConcurrency: some.Draw(t, name+" concurrency"), MaxSteps: some.Draw(t, name+" steps"),
				MaxTokens: some.Draw(t, name+" tokens"),
			}
		}
		def, ceilings, caller := budgets("def"), budgets("ceilings"), budgets("caller")
		got, err := workflow.Effective(def, ceilings, caller)
		if err != nil {
			return
		}
		for _, b := range []*workflow.Budgets{def, ceilings, caller} {
			above := b.MaxConcurrency != nil && got.MaxConcurrency > *b.MaxConcurrency ||
				b.MaxSteps != nil && (got.MaxSteps > *b.MaxSteps || got.MaxAgents > *b.MaxSteps) ||
				b.MaxTokens != nil && (got.MaxTokens == nil || *got.MaxTokens > *b.MaxTokens)
			if above {
				t.Fatalf("%+v is above %+v", got, b)
			}
		}
	})
}
