package schema

import (
	"encoding/json"
	"math/big"
	"strings"
)

// TypeSet is a set of JSON types.
type TypeSet uint8

// The types. A number that is whole is an integer, and a number too.
const (
	NullType TypeSet = 1 << iota
	BooleanType
	IntegerType
	fractionType // numbers that are not whole
	StringType
	ArrayType
	ObjectType

	NumberType = IntegerType | fractionType
	AllTypes   = NullType | BooleanType | NumberType | StringType | ArrayType | ObjectType
)

// TypesOf is the type of a decoded value, a set of one; it is empty for what is
// no decoded JSON.
func TypesOf(v any) TypeSet {
	switch v := v.(type) {
	case nil:
		return NullType
	case bool:
		return BooleanType
	case json.Number:
		if r, ok := new(big.Rat).SetString(string(v)); ok && r.IsInt() {
			return IntegerType
		}
		return fractionType
	case string:
		return StringType
	case []any:
		return ArrayType
	case map[string]any:
		return ObjectType
	}
	return 0
}

// Has reports whether the sets have a type in common.
func (t TypeSet) Has(u TypeSet) bool { return t&u != 0 }

// Names are the types' names as schemas write them.
func (t TypeSet) Names() []string {
	var names []string
	for _, n := range [...]struct {
		bit  TypeSet
		name string
	}{
		{NullType, "null"}, {BooleanType, "boolean"}, {fractionType, "number"}, {IntegerType, "integer"},
		{StringType, "string"}, {ArrayType, "array"}, {ObjectType, "object"},
	} {
		impliedByNumber := n.bit == IntegerType && t.Has(fractionType)
		if t.Has(n.bit) && !impliedByNumber {
			names = append(names, n.name)
		}
	}
	return names
}

// String is the types' names joined by "or", such as "null or integer".
func (t TypeSet) String() string {
	switch t {
	case 0:
		return "nothing"
	case AllTypes:
		return "anything"
	}
	return strings.Join(t.Names(), " or ")
}

func typeNamed(name any) TypeSet {
	switch name {
	case "null":
		return NullType
	case "boolean":
		return BooleanType
	case "integer":
		return IntegerType
	case "number":
		return NumberType
	case "string":
		return StringType
	case "array":
		return ArrayType
	case "object":
		return ObjectType
	}
	return 0
}
