package expr

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/culm-dev/culm/internal/canon"
)

// fromCEL turns a result into decoded JSON. at is its place in the whole result.
func fromCEL(v ref.Val, at string) (any, error) {
	switch v := v.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return json.Number(strconv.FormatInt(int64(v), 10)), nil
	case types.Uint:
		return json.Number(strconv.FormatUint(uint64(v), 10)), nil
	case types.Double:
		n, err := canon.Float(float64(v))
		if err != nil {
			return nil, fmt.Errorf("%s is %v, which is no JSON number", placed(at), float64(v))
		}
		return n, nil
	case types.String:
		if !utf8.ValidString(string(v)) {
			return nil, fmt.Errorf("%s is a string that is not valid UTF-8", placed(at))
		}
		return string(v), nil
	case object:
		return v.members, nil
	case traits.Mapper:
		return mapFromCEL(v, at)
	case traits.Lister:
		return listFromCEL(v, at)
	case *types.Err:
		return nil, v
	}
	return nil, fmt.Errorf("%s has the type %s, which JSON has not: convert it, with string() for example",
		placed(at), v.Type().TypeName())
}

func placed(at string) string {
	if at == "" {
		return "the result"
	}
	return "the result at " + at
}

func mapFromCEL(m traits.Mapper, at string) (any, error) {
	out := map[string]any{}
	for _, key := range sortedKeys(m) {
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("%s is a map with a key of type %s, in JSON all are strings",
				placed(at), key.Type().TypeName())
		}
		value, err := fromCEL(m.Get(key), canon.AppendPointer(at, string(name)))
		if err != nil {
			return nil, err
		}
		out[string(name)] = value
	}
	return out, nil
}

func listFromCEL(l traits.Lister, at string) (any, error) {
	out := []any{}
	for it := l.Iterator(); it.HasNext() == types.True; {
		value, err := fromCEL(it.Next(), canon.AppendPointer(at, len(out)))
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	return out, nil
}
