package expr

import (
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/culm-dev/culm/internal/schema"
)

// resultOf is what a CEL type says about the JSON that it becomes.
func (c *checker) resultOf(t *cel.Type) *schema.Schema {
	switch t.Kind() {
	case types.BoolKind:
		return schema.Boolean()
	case types.IntKind, types.UintKind:
		return schema.OfTypes(schema.IntegerType)
	case types.DoubleKind:
		return schema.OfTypes(schema.NumberType)
	case types.StringKind:
		return schema.String()
	case types.NullTypeKind:
		return schema.Null()
	case types.ListKind:
		return schema.ArrayOf(c.resultOf(t.Parameters()[0]))
	case types.MapKind:
		return schema.OfTypes(schema.ObjectType)
	case types.StructKind:
		if s, ok := c.provider.objects[t.TypeName()]; ok {
			return s.schema
		}
	}
	return schema.Any()
}

// ResultSchema is what is known of a CEL expression's result once CheckCEL has
// run: [schema.Boolean] for a condition, [schema.Any] when nothing is known. For
// other kinds of references it says what their form alone tells: a text is a string.
func (r *Ref) ResultSchema() *schema.Schema {
	switch {
	case r.Kind == Text:
		return schema.String()
	case r.Kind == Literal:
		return schema.OfTypes(schema.TypesOf(r.value))
	case r.Kind == Run:
		return factSchema(r.Pointer)
	case r.program != nil:
		return r.program.result
	}
	return schema.Any()
}

func factSchema(pointer string) *schema.Schema {
	if pointer == "" {
		return schema.OfTypes(schema.ObjectType)
	}
	return factTypes()[strings.TrimPrefix(pointer, "/")]
}
