package schema

import "slices"

// Any is the schema that every value satisfies.
func Any() *Schema { return OfTypes(AllTypes) }

// Never is the schema that no value satisfies.
func Never() *Schema {
	return &Schema{made: true, rules: rules{types: AllTypes, never: true}}
}

// Null is the schema of null.
func Null() *Schema { return OfTypes(NullType) }

// String is the schema of all strings.
func String() *Schema { return OfTypes(StringType) }

// Boolean is the schema of true and false.
func Boolean() *Schema { return OfTypes(BooleanType) }

// OfTypes is the schema of all values of the given types.
func OfTypes(t TypeSet) *Schema {
	if t == 0 {
		return Never()
	}
	return &Schema{made: true, rules: rules{types: t}}
}

// AnyOf is satisfied by what satisfies one of the schemas; a nil among them
// stands for [Any]. Of no schemas it is [Never].
func AnyOf(schemas ...*Schema) *Schema {
	distinct := distinct(schemas)
	switch len(distinct) {
	case 0:
		return Never()
	case 1:
		return distinct[0]
	}
	return &Schema{made: true, rules: rules{types: AllTypes, choices: [][]*Schema{distinct}}}
}

// allOf is satisfied by what satisfies all of the schemas.
func allOf(schemas ...*Schema) *Schema {
	distinct := distinct(schemas)
	switch len(distinct) {
	case 0:
		return Any()
	case 1:
		return distinct[0]
	}
	return &Schema{made: true, rules: rules{types: AllTypes, all: distinct}}
}

// distinct drops repetitions, and puts Any where nil is.
func distinct(schemas []*Schema) []*Schema {
	var list []*Schema
	for _, s := range schemas {
		if s == nil {
			s = Any()
		}
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

func ofValues(values []any) *Schema {
	return &Schema{made: true, rules: rules{types: AllTypes, values: values}}
}

// ErrorUnion describes the output of a step that may fail and go on: what s
// describes, or an object whose member "error" is the failure.
func ErrorUnion(s *Schema) *Schema {
	return AnyOf(s, &Schema{made: true, rules: rules{
		types:      ObjectType,
		required:   []string{"error"},
		properties: map[string]*Schema{"error": failure()},
		additional: Never(),
	}})
}

// failure describes why something failed.
func failure() *Schema {
	return &Schema{made: true, rules: rules{
		types:    ObjectType,
		required: []string{"code", "message"},
		properties: map[string]*Schema{
			"code":      String(),
			"message":   String(),
			"retryable": Boolean(),
		},
	}}
}

// Outcome describes how a node ended, as its cleanup sees it: status, and failure
// if it failed.
func Outcome() *Schema {
	return &Schema{made: true, rules: rules{
		types:      ObjectType,
		required:   []string{"status"},
		properties: map[string]*Schema{"status": ofValues([]any{"succeeded", "failed", "cancelled"}), "failure": failure()},
		additional: Never(),
	}}
}

// ArrayOf is the schema of arrays whose elements all satisfy s.
func ArrayOf(s *Schema) *Schema {
	return &Schema{made: true, rules: rules{types: ArrayType, items: AnyOf(s)}}
}

// Tuple is the schema of arrays with exactly these elements, in order.
func Tuple(schemas ...*Schema) *Schema {
	prefix := make([]*Schema, len(schemas))
	for i, s := range schemas {
		prefix[i] = AnyOf(s)
	}
	return &Schema{made: true, rules: rules{
		types: ArrayType, prefix: prefix, items: Never(), minItems: len(prefix),
	}}
}

// describeMade writes out what a constructor made.
func (s *Schema) describeMade() any {
	if s.never {
		return false
	}
	out := map[string]any{}
	if s.types != AllTypes {
		out["type"] = describeTypes(s.types)
	}
	if s.values != nil {
		out["enum"] = s.values
	}
	if len(s.all) > 0 {
		out["allOf"] = describeList(s.all)
	}
	if len(s.choices) > 0 { // constructors make one at most
		out["anyOf"] = describeList(s.choices[0])
	}
	if s.properties != nil {
		properties := map[string]any{}
		for name, property := range s.properties {
			properties[name] = property.describe()
		}
		out["properties"] = properties
	}
	if s.required != nil {
		names := make([]any, len(s.required))
		for i, name := range s.required {
			names[i] = name
		}
		out["required"] = names
	}
	if s.additional != nil {
		out["additionalProperties"] = s.additional.describe()
	}
	if s.prefix != nil {
		out["prefixItems"] = describeList(s.prefix)
		out["minItems"] = s.minItems
	}
	if s.items != nil {
		out["items"] = s.items.describe()
	}
	if len(out) == 0 {
		return true
	}
	return out
}

func describeTypes(t TypeSet) any {
	names := t.Names()
	if len(names) == 1 {
		return names[0]
	}
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = name
	}
	return list
}

func describeList(schemas []*Schema) []any {
	list := make([]any, len(schemas))
	for i, s := range schemas {
		list[i] = s.describe()
	}
	return list
}
