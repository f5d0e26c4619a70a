package workflow

import "fmt"

// DefaultBudgets are the budgets of a run whose definition sets none. Tokens and
// cost have no default: unset, they are bounded by the operator's ceilings only.
func DefaultBudgets() *Budgets {
	return &Budgets{
		MaxConcurrency:  ptr(4),
		MaxAgents:       ptr(8),
		MaxSteps:        ptr(256),
		MaxRetries:      ptr(8),
		MaxNestingDepth: ptr(4),
		WallTimeMS:      ptr(900_000),
		CleanupMS:       ptr(60_000),
	}
}

// DefaultCeilings are the operator's ceilings where the operator sets none.
func DefaultCeilings() *Budgets {
	return &Budgets{
		MaxConcurrency:  ptr(8),
		MaxAgents:       ptr(16),
		MaxSteps:        ptr(512),
		MaxRetries:      ptr(16),
		MaxNestingDepth: ptr(8),
		WallTimeMS:      ptr(3_600_000),
		CleanupMS:       ptr(600_000),
	}
}

// Limits are the budgets that hold for a run, every one decided.
type Limits struct {
	MaxConcurrency  int64 `json:"max_concurrency"`
	MaxAgents       int64 `json:"max_agents"`
	MaxSteps        int64 `json:"max_steps"`
	MaxRetries      int64 `json:"max_retries"`
	MaxNestingDepth int64 `json:"max_nesting_depth"`
	WallTimeMS      int64 `json:"wall_time_ms"`
	// CleanupMS bounds the cleanup of a run that can only end, in milliseconds. It
	// is 0 in runs that were started before there was any.
	CleanupMS int64 `json:"cleanup_ms,omitzero"`
	// MaxTokens and MaxCostMicros (millionths of a US dollar) are nil where
	// nothing bounds them; 0 means none at all.
	MaxTokens     *int64 `json:"max_tokens,omitempty"`
	MaxCostMicros *int64 `json:"max_cost_micros,omitempty"`
}

// BudgetError is a budget that cannot be had.
type BudgetError struct {
	Code  Code   // CeilingExceeded, BudgetWidened or InvalidBudget
	Field string // such as "max_steps"
	Asked int64
	Limit int64  // of the ceiling, or of the definition; not for InvalidBudget
	Whose string // who asks: "definition" or "caller"; for InvalidBudget also "ceilings"
	// Expected is the range of values, for InvalidBudget.
	Expected string
}

func (e *BudgetError) Error() string {
	switch e.Code {
	case CeilingExceeded:
		return fmt.Sprintf("the %s asks for %s %d, and the operator's ceiling is %d", e.Whose, e.Field, e.Asked, e.Limit)
	case BudgetWidened:
		return fmt.Sprintf("the caller asks for %s %d, and the definition allows %d: a caller may only tighten a budget", e.Field, e.Asked, e.Limit)
	}
	return fmt.Sprintf("%s %d of the %s is out of range: expected %s", e.Field, e.Asked, e.Whose, e.Expected)
}

// Effective decides the limits of a run from the definition's budgets, the
// operator's ceilings and what the caller asks for; each may be nil, and nil
// ceilings are [DefaultCeilings]. A field that ceilings leave unset has its
// default ceiling; without one (tokens, cost) there is none.
//
// What the definition leaves unset is the default, clamped to the ceiling; for
// tokens and cost it is the ceiling itself. A definition or caller that asks for
// more than a ceiling is refused with [CeilingExceeded], a caller that asks for
// more than the definition's budget with [BudgetWidened]. MaxAgents, when nobody
// set it, is clamped to MaxSteps. The error is a [*BudgetError].
func Effective(def, ceilings, caller *Budgets) (Limits, error) {
	for _, asked := range []struct {
		whose string
		b     *Budgets
	}{{"definition", def}, {"ceilings", ceilings}, {"caller", caller}} {
		if err := asked.b.check(asked.whose); err != nil {
			return Limits{}, err
		}
	}
	var out Budgets
	for _, f := range budgetFields() {
		limit, err := f.effective(def, ceilings, caller)
		if err != nil {
			return Limits{}, err
		}
		*f.of(&out) = limit
	}
	limits := out.limits()
	limits.MaxAgents = min(limits.MaxAgents, limits.MaxSteps)
	return limits, nil
}

// effective decides one field.
func (f budgetField) effective(def, ceilings, caller *Budgets) (*int64, error) {
	ceiling := f.value(ceilings)
	if ceiling == nil {
		ceiling = f.value(DefaultCeilings())
	}
	limit, whose := f.value(def), "definition"
	if limit == nil {
		limit, whose = clamp(f.value(DefaultBudgets()), ceiling), ""
	}
	if over(limit, ceiling) {
		return nil, &BudgetError{Code: CeilingExceeded, Field: f.name, Asked: *limit, Limit: *ceiling, Whose: whose}
	}
	asked := f.value(caller)
	switch {
	case asked == nil:
		return limit, nil
	case over(asked, ceiling):
		return nil, &BudgetError{Code: CeilingExceeded, Field: f.name, Asked: *asked, Limit: *ceiling, Whose: "caller"}
	case over(asked, limit):
		return nil, &BudgetError{Code: BudgetWidened, Field: f.name, Asked: *asked, Limit: *limit, Whose: "caller"}
	}
	return asked, nil
}

// clamp is the lower of two limits, of which nil is none.
func clamp(a, b *int64) *int64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// over reports whether a limit is above another one.
func over(asked, limit *int64) bool { return asked != nil && limit != nil && *asked > *limit }

func (b *Budgets) limits() Limits {
	return Limits{
		MaxConcurrency: *b.MaxConcurrency, MaxAgents: *b.MaxAgents, MaxSteps: *b.MaxSteps, MaxRetries: *b.MaxRetries,
		MaxNestingDepth: *b.MaxNestingDepth, WallTimeMS: *b.WallTimeMS, CleanupMS: *b.CleanupMS,
		MaxTokens: b.MaxTokens, MaxCostMicros: b.MaxCostMicros,
	}
}

// check checks the ranges of budgets; b may be nil.
func (b *Budgets) check(whose string) error {
	for _, f := range budgetFields() {
		n := f.value(b)
		if n != nil && (*n < f.low || *n > f.high) {
			return &BudgetError{Code: InvalidBudget, Field: f.name, Asked: *n, Whose: whose, Expected: bounds(f.low, f.high)}
		}
	}
	if b != nil && over(b.MaxAgents, b.MaxSteps) {
		return &BudgetError{
			Code: InvalidBudget, Field: "max_agents", Asked: *b.MaxAgents, Whose: whose,
			Expected: fmt.Sprintf("at most max_steps, which is %d", *b.MaxSteps),
		}
	}
	return nil
}

// budgetField is one field of [Budgets] and its range.
type budgetField struct {
	name      string
	low, high int64
	of        func(*Budgets) **int64
}

// value is the field's value; nil if it is unset or there are no budgets.
func (f budgetField) value(b *Budgets) *int64 {
	if b == nil {
		return nil
	}
	return *f.of(b)
}

func budgetFields() []budgetField {
	return []budgetField{
		{"max_concurrency", 1, 64, func(b *Budgets) **int64 { return &b.MaxConcurrency }},
		{"max_agents", 0, maxInteger, func(b *Budgets) **int64 { return &b.MaxAgents }},
		{"max_steps", 0, maxInteger, func(b *Budgets) **int64 { return &b.MaxSteps }},
		{"max_retries", 0, maxInteger, func(b *Budgets) **int64 { return &b.MaxRetries }},
		{"max_nesting_depth", 1, maxInteger, func(b *Budgets) **int64 { return &b.MaxNestingDepth }},
		{"wall_time_ms", 1, maxMillis, func(b *Budgets) **int64 { return &b.WallTimeMS }},
		{"cleanup_ms", 1, maxMillis, func(b *Budgets) **int64 { return &b.CleanupMS }},
		{"max_tokens", 0, maxInteger, func(b *Budgets) **int64 { return &b.MaxTokens }},
		{"max_cost_micros", 0, maxInteger, func(b *Budgets) **int64 { return &b.MaxCostMicros }},
	}
}

// budgets reads a definition's budgets; nil if there are none.
func (d *decoder) budgets(v *value) *Budgets {
	if v == nil || !d.is(v, objectKind) {
		return nil
	}
	fields := budgetFields()
	names := make([]string, len(fields))
	b := &Budgets{}
	for i, f := range fields {
		names[i] = f.name
		if n, ok := d.integer(d.get(v, f.name), InvalidBudget, f.low, f.high); ok {
			*f.of(b) = &n
		}
	}
	d.fields(v, "budgets", optional(names...), nil)
	if over(b.MaxAgents, b.MaxSteps) {
		d.report.at(v.get("max_agents"), InvalidBudget, "max_agents is %d, more than max_steps", *b.MaxAgents).
			Expected = fmt.Sprintf("at most %d, for every agent attempt is a step", *b.MaxSteps)
	}
	return b
}

func ptr(n int64) *int64 { return &n }
