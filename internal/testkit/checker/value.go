package checker

import (
	"encoding/json"
	"reflect"
)

// value is a node's output as far as the journal tells it.
type value struct {
	json  any
	known bool
}

func known(v any) value { return value{v, true} }

// stored is a value that an event carries, or that is kept beside the journal.
func (v view) stored(raw json.RawMessage, b *blob) value {
	if b != nil {
		if v.blob == nil {
			return value{}
		}
		data, err := v.blob(b.SHA256)
		if err != nil {
			return value{}
		}
		raw = data
	}
	if isNull(raw) {
		return known(nil)
	}
	parsed, err := parse(raw)
	return value{parsed, err == nil}
}

// errorValue is {"error": failure}.
func errorValue(f *failed) value {
	if f == nil || isNull(f.raw) {
		return value{}
	}
	parsed, err := parse(f.raw)
	return value{map[string]any{"error": parsed}, err == nil}
}

// list is an array of values; it is known if all of them are.
func list(values []value) value {
	all := make([]any, len(values))
	for i, v := range values {
		if !v.known {
			return value{}
		}
		all[i] = v.json
	}
	return known(all)
}

// differs reports whether two values are both known and not the same.
func (v value) differs(w value) bool {
	return v.known && w.known && !reflect.DeepEqual(v.json, w.json)
}
