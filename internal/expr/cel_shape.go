package expr

import (
	"cel.dev/cel-go/cel"

	"github.com/culm-dev/culm/internal/schema"
)

// shape is what expressions know of a value: its CEL type, and what its numbers
// are. Shapes are made from schemas once, so that neither checking nor running
// an expression reasons about a schema twice.
type shape struct {
	schema  *schema.Schema
	numbers numbers
	celType *cel.Type

	fields map[string]*shape // declared properties
	rest   *shape            // undeclared properties; nil if there can be none
	items  *shape            // elements, whatever their position
}

// numbers says what a JSON number is to an expression.
type numbers int

const (
	asWritten numbers = iota // int without fraction and exponent, else double
	asInt                    // the schema says integer
	asDouble                 // the schema says number
)

// shapeLimit bounds how many shapes are made of one schema. What lies beyond is
// dynamic, as if nothing were declared.
const shapeLimit = 500

// shapes makes shapes and the object types that belong to them.
type shapes struct {
	known   map[*schema.Schema]*shape // recursive schemas end in themselves
	objects map[string]*shape         // by the name of their type
	left    int
}

func newShapes() *shapes {
	return &shapes{known: map[*schema.Schema]*shape{}, objects: map[string]*shape{}}
}

// dynamic is the shape of a value of which nothing is known.
func dynamic() *shape {
	s := &shape{schema: schema.Any(), celType: cel.DynType}
	s.rest, s.items = s, s
	return s
}

// of makes the shape of a schema; name is where its values stand, such as
// "args.files[]".
func (b *shapes) of(s *schema.Schema, name string) *shape {
	b.left = shapeLimit
	return b.make(s, name)
}

func (b *shapes) make(s *schema.Schema, name string) *shape {
	if known, ok := b.known[s]; ok && s != nil {
		return known
	}
	b.left--
	types := s.Types()
	if s == nil || b.left < 0 || types == schema.AllTypes || types == 0 {
		return dynamic()
	}
	out := &shape{schema: s, numbers: numbersOf(types), celType: cel.DynType}
	b.known[s] = out
	if types.Has(schema.ObjectType) {
		b.object(out, name)
	}
	if types.Has(schema.ArrayType) {
		out.items = b.make(s.Items(), name+"[]")
	}
	b.setType(out, types, name)
	return out
}

func numbersOf(types schema.TypeSet) numbers {
	switch numeric := types & schema.NumberType; numeric {
	case 0:
		return asWritten
	case schema.IntegerType:
		return asInt
	}
	return asDouble
}

func (b *shapes) object(out *shape, name string) {
	out.fields = map[string]*shape{}
	for _, property := range out.schema.Names() {
		switch child, verdict := out.schema.Child(property); verdict {
		case schema.Known:
			out.fields[property] = b.make(child, name+"."+property)
		case schema.Unknown:
			out.fields[property] = dynamic()
		}
	}
	switch rest, verdict := out.schema.Additional(); verdict {
	case schema.Known:
		out.rest = b.make(rest, name+".*")
	case schema.Unknown:
		out.rest = dynamic()
	}
}

// setType finds the CEL type. A value that may have several types is dynamic,
// so is a number past 64 bits. Objects with declared properties are types of
// their own, so that a misspelt property is a compile-time error; others are maps.
func (b *shapes) setType(out *shape, types schema.TypeSet, name string) {
	switch types {
	case schema.NullType:
		out.celType = cel.NullType
	case schema.BooleanType:
		out.celType = cel.BoolType
	case schema.IntegerType:
		out.celType = cel.IntType
	case schema.NumberType:
		out.celType = cel.DoubleType
	case schema.StringType:
		out.celType = cel.StringType
	case schema.ArrayType:
		out.celType = cel.ListType(out.items.celType)
	case schema.ObjectType:
		b.setObjectType(out, name)
	}
}

func (b *shapes) setObjectType(out *shape, name string) {
	if len(out.fields) == 0 && out.rest != nil {
		out.celType = cel.MapType(cel.StringType, out.rest.celType)
		return
	}
	b.declare(out, name)
}

// declare makes an object type. Its name has a space, so that no expression can
// name the type itself: "args.files" must not be found to be one.
func (b *shapes) declare(out *shape, name string) {
	name = typePrefix + name
	out.celType = cel.ObjectType(name)
	b.objects[name] = out
}

const typePrefix = "object "

// namespace is the shape of steps or item: an object with exactly these members.
// Those that are not used are not looked into.
func (b *shapes) namespace(name string, members map[string]*schema.Schema, used func(string) bool) *shape {
	out := &shape{schema: schema.OfTypes(schema.ObjectType), fields: map[string]*shape{}}
	for _, member := range sortedNames(members) {
		out.fields[member] = dynamic()
		if used(member) {
			out.fields[member] = b.of(members[member], name+"."+member)
		}
	}
	b.declare(out, name)
	return out
}

// field is the shape of a property, or nil if there can be none of that name.
func (s *shape) field(name string) *shape {
	if field, ok := s.fields[name]; ok {
		return field
	}
	return s.rest
}

// element is the shape of an array's elements.
func (s *shape) element() *shape {
	if s.items != nil {
		return s.items
	}
	return dynamic()
}
