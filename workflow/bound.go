package workflow

import "slices"

// Bound is one limit of a run, and where it comes from.
type Bound struct {
	Field string `json:"field"` // such as "max_steps"
	// Value is nil where nothing bounds it.
	Value *int64      `json:"value"`
	From  BoundOrigin `json:"from"`
	// Ceiling is the operator's; nil if there is none.
	Ceiling *int64 `json:"ceiling"`
}

// BoundOrigin says who set a limit.
type BoundOrigin string

// The origins of limits.
const (
	BoundDefinition BoundOrigin = "definition"
	BoundCaller     BoundOrigin = "caller"
	BoundDefault    BoundOrigin = "default"
	BoundCeiling    BoundOrigin = "ceiling"   // the default is above it, or there is none
	BoundSteps      BoundOrigin = "max_steps" // of max_agents: every agent attempt is a step
	BoundNobody     BoundOrigin = "nobody"    // it is not bounded
)

// Bounds tells the limits that [Effective] decides, one by one, in the order of the
// documentation. Where that refuses a field, it is what was asked for.
func Bounds(def, ceilings, caller *Budgets) []Bound {
	var bounds []Bound
	for _, f := range budgetFields() {
		b := Bound{Field: f.name, Ceiling: f.value(ceilings)}
		if b.Ceiling == nil {
			b.Ceiling = f.value(DefaultCeilings())
		}
		b.Value, b.From = f.origin(def, b.Ceiling, caller)
		bounds = append(bounds, b)
	}
	find := func(field string) *Bound {
		return &bounds[slices.IndexFunc(bounds, func(b Bound) bool { return b.Field == field })]
	}
	if agents, steps := find("max_agents"), find("max_steps"); over(agents.Value, steps.Value) {
		agents.Value, agents.From = steps.Value, BoundSteps
	}
	return bounds
}

func (f budgetField) origin(def *Budgets, ceiling *int64, caller *Budgets) (*int64, BoundOrigin) {
	if asked := f.value(caller); asked != nil {
		return asked, BoundCaller
	}
	if asked := f.value(def); asked != nil {
		return asked, BoundDefinition
	}
	usual := f.value(DefaultBudgets())
	switch limit := clamp(usual, ceiling); {
	case limit == nil:
		return nil, BoundNobody
	case usual == nil || *limit < *usual:
		return limit, BoundCeiling
	default:
		return limit, BoundDefault
	}
}
