package expr

import (
	"fmt"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/ext"
	"cel.dev/cel-go/interpreter"
)

// Limits of a CEL expression.
const (
	// CostLimit is how much work one evaluation may do, in CEL's units: about
	// one for each operator and each access, and a tenth for each character of
	// text that is read. A million is some tens of milliseconds.
	CostLimit = 1_000_000
	// MaxListRange is the longest list that lists.range makes.
	MaxListRange = 10_000
	// MaxPrecision is how many decimals format writes at most.
	MaxPrecision = 100
	// MaxTextBytes is the longest text that replace and join make.
	MaxTextBytes = 16 << 20
)

// baseEnv is the environment that all expressions share: the language, without
// variables. It is made on first use and immutable. There is:
//
//   - the standard library, whose functions on timestamps and durations are
//     pure: nothing reads a clock;
//   - from cel-go's extensions, the pure ones: strings (split, join, replace,
//     trim, format, ...), lists (range, slice, flatten, distinct, sort,
//     sortBy, reverse), math (math.greatest, math.least, rounding, bits), sets
//     and cel.bind;
//   - comparison of numbers of different types: 1 < 1.5, 3 == 3.0.
var baseEnv = sync.OnceValues(func() (*cel.Env, error) {
	env, err := cel.NewEnv(
		cel.CrossTypeNumericComparisons(true),
		ext.Strings(ext.StringsVersion(4), ext.StringsMaxPrecision(MaxPrecision)),
		ext.Lists(ext.ListsVersion(2), ext.ListsMaxRangeSize(MaxListRange)),
		ext.Math(),
		ext.Sets(),
		ext.Bindings(),
	)
	if err != nil {
		return nil, fmt.Errorf("make CEL environment: %w", err)
	}
	return env, nil
})

// sortMaps is a decorator of programs: the maps that an expression writes are
// iterated in the order of their keys, like all others.
func sortMaps(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	if c, ok := node.(interpreter.InterpretableConstructor); ok && c.Type() == types.MapType {
		return sortedConstructor{c}, nil
	}
	return node, nil
}

type sortedConstructor struct {
	interpreter.InterpretableConstructor
}

// Exec implements interpreter.InterpretableV2.
func (c sortedConstructor) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return sorted(c.InterpretableConstructor.Exec(frame))
}

// Eval implements interpreter.Interpretable.
func (c sortedConstructor) Eval(vars interpreter.Activation) ref.Val {
	return sorted(c.InterpretableConstructor.Eval(vars))
}

func sorted(v ref.Val) ref.Val {
	if m, ok := v.(traits.Mapper); ok {
		return sortedMap{m}
	}
	return v
}
