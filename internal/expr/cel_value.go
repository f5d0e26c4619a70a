package expr

import (
	"encoding/json"
	"slices"
	"strconv"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// value turns decoded JSON into a CEL value. Objects and arrays convert their
// members when they are read.
func (s *shape) value(v any) ref.Val {
	switch v := v.(type) {
	case nil:
		return types.NullValue
	case bool:
		return types.Bool(v)
	case string:
		return types.String(v)
	case json.Number:
		return s.number(string(v))
	case []any:
		return types.NewList[any](jsonAdapter{s.element()}, v)
	case map[string]any:
		return object{types.NewStringInterfaceMap(jsonAdapter{dynamic()}, v), v, s}
	}
	return types.NewErr("a %T is no decoded JSON", v)
}

// number gives a JSON number the type that its schema gives it, or, where no
// schema does, the one that it is written in. Integers past 64 bits are doubles.
func (s *shape) number(text string) ref.Val {
	if s.numbers != asDouble {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return types.Int(i)
		}
		if u, err := strconv.ParseUint(text, 10, 64); err == nil {
			return types.Uint(u)
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return types.NewErr("%q is no number", text)
	}
	return types.Double(f)
}

// jsonAdapter converts the elements of an array when they are read.
type jsonAdapter struct{ shape *shape }

// NativeToValue implements the evaluator's interface.
func (a jsonAdapter) NativeToValue(v any) ref.Val {
	if v, ok := v.(ref.Val); ok {
		return v
	}
	return a.shape.value(v)
}

// object is a JSON object as a CEL map. The embedded map, which knows nothing of
// the schema, answers what does not depend on it: numbers are equal whatever
// their types.
type object struct {
	traits.Mapper
	members map[string]any
	shape   *shape
}

// Find implements traits.Mapper.
func (o object) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	value, ok := o.members[string(name)]
	if !ok {
		return nil, false
	}
	field := o.shape.field(string(name))
	if field == nil {
		field = dynamic()
	}
	return field.value(value), true
}

// Get implements traits.Indexer.
func (o object) Get(key ref.Val) ref.Val {
	if value, ok := o.Find(key); ok {
		return value
	}
	return noSuchKey(key)
}

// Iterator implements traits.Iterable: the keys, sorted.
func (o object) Iterator() traits.Iterator {
	names := sortedNames(o.members)
	return types.NewStringList(types.DefaultTypeAdapter, names).Iterator()
}

// sortedMap is a CEL map that is iterated in the order of its keys.
type sortedMap struct{ traits.Mapper }

// Iterator implements traits.Iterable.
func (m sortedMap) Iterator() traits.Iterator {
	return types.NewRefValList(types.DefaultTypeAdapter, sortedKeys(m.Mapper)).Iterator()
}

func sortedKeys(m traits.Mapper) []ref.Val {
	var keys []ref.Val
	for it := m.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortStableFunc(keys, compareKeys)
	return keys
}

// compareKeys orders by value, and keys of different kinds by their kinds' names.
func compareKeys(a, b ref.Val) int {
	if comparer, ok := a.(traits.Comparer); ok {
		if order, ok := comparer.Compare(b).(types.Int); ok {
			return int(order)
		}
	}
	x, y := a.Type().TypeName(), b.Type().TypeName()
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func noSuchKey(key ref.Val) ref.Val { return types.NewErr("no such key: %v", key.Value()) }

// members is a variable whose members are looked up one by one: steps and item.
// Expressions can do nothing else with them.
type members struct {
	traits.Mapper // empty
	find          func(name string) (ref.Val, bool)
}

func newMembers(find func(string) (ref.Val, bool)) members {
	return members{types.NewStringInterfaceMap(types.DefaultTypeAdapter, nil), find}
}

// Find implements traits.Mapper.
func (m members) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	return m.find(string(name))
}

// Get implements traits.Indexer.
func (m members) Get(key ref.Val) ref.Val {
	if value, ok := m.Find(key); ok {
		return value
	}
	return noSuchKey(key)
}

// Contains implements traits.Container.
func (m members) Contains(key ref.Val) ref.Val {
	_, ok := m.Find(key)
	return types.Bool(ok)
}
