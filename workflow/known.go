package workflow

import (
	"encoding/json"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/expr"
	"github.com/culm-dev/culm/internal/schema"
)

// known is what can be said of a template's value; nil if nothing.
func (k *checker) known(t *expr.Template, s site) *schema.Schema {
	if ref := t.Root(); ref != nil {
		return k.value(ref, s)
	}
	if items := t.Array(); items != nil {
		parts := make([]*schema.Schema, len(items))
		for i, item := range items {
			parts[i] = k.known(item, s)
		}
		return schema.Tuple(parts...)
	}
	if t.Object() != nil {
		return schema.OfTypes(schema.ObjectType)
	}
	return schema.OfTypes(schema.TypesOf(t.Literal()))
}

// value is what is known of the value of a reference, its default included.
func (k *checker) value(ref *expr.Ref, s site) *schema.Schema {
	switch ref.Kind {
	case expr.Literal:
		return typeOf(ref.Value)
	case expr.Run:
		return runFactSchema(ref.Pointer)
	case expr.Text, expr.CEL:
		return ref.ResultSchema()
	case expr.Secret:
		return nil
	}
	at, _ := k.whole(ref, s).At(ref.Pointer)
	if ref.Default != nil {
		return schema.AnyOf(at, typeOf(ref.Default))
	}
	return at
}

// whole is what is known of what a reference points into; nil if nothing, or if
// it cannot be referred to.
func (k *checker) whole(ref *expr.Ref, s site) *schema.Schema {
	switch ref.Kind {
	case expr.Args:
		return k.wf.Input
	case expr.Outcome:
		return schema.Outcome()
	case expr.Item:
		if m := k.mapOf(ref.Name, s); m != nil {
			return k.items[m]
		}
	case expr.Previous:
		if n := k.wf.Named[ref.Name]; n != nil {
			return k.out(n, false)
		}
	case expr.Step:
		n := k.wf.Named[ref.Name]
		if n == nil {
			return nil
		}
		v := visible(s, n)
		if v.code == CycleReference {
			return nil
		}
		return k.out(n, v.inner)
	}
	return nil
}

func typeOf(raw json.RawMessage) *schema.Schema {
	v, err := canon.Decode(raw)
	if err != nil {
		return nil
	}
	return schema.OfTypes(schema.TypesOf(v))
}

func runFactSchema(pointer string) *schema.Schema {
	switch pointer {
	case "":
		return schema.OfTypes(schema.ObjectType)
	case "/attempt":
		return schema.OfTypes(schema.IntegerType)
	}
	return schema.String()
}
