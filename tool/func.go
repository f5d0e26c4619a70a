package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// An Option changes what [Func] says about a tool.
type Option func(*funcTool)

// WithCapability sets [Spec.Capability].
func WithCapability(capability string) Option {
	return func(t *funcTool) { t.spec.Capability = capability }
}

// WithInput replaces the input schema that was derived from the Go type. The
// arguments must still decode into that type.
func WithInput(schema json.RawMessage) Option {
	return func(t *funcTool) { t.spec.Input = schema }
}

// WithOutput replaces the output schema that was derived from the Go type.
func WithOutput(schema json.RawMessage) Option {
	return func(t *funcTool) { t.spec.Output = schema }
}

// WithEffectOf makes the effect depend on the arguments, as [EffectOf] says. The
// effect given to [Func] is then the worst case.
func WithEffectOf(effectOf func(args json.RawMessage) Effect) Option {
	return func(t *funcTool) { t.effectOf = effectOf }
}

// Func makes a tool of a Go function.
//
// The input schema is derived from In, which must be a struct or a map with
// string keys: fields are required unless marked omitempty or omitzero, a
// `jsonschema:"..."` tag describes one, and unknown members are refused.
// Arguments are decoded as [DecodeArgs] says.
//
// What is returned depends on Out:
//   - string: a text result ([Text]), with the schema {"type":"string"};
//   - [Result]: that result as it is, without an output schema;
//   - json.RawMessage: that JSON value, without an output schema;
//   - anything else: its JSON, with the schema derived from the type.
//
// An error of fn is passed on unchanged, so fn decides between [Failed] and "it
// is not known". Func itself fails if a schema cannot be derived.
func Func[In, Out any](
	name, description string, effect Effect,
	fn func(ctx context.Context, call Call, in In) (Out, error),
	opts ...Option,
) (Tool, error) {
	t := &funcTool{spec: Spec{Name: name, Description: description, Effect: effect}}
	for _, opt := range opts {
		opt(t)
	}
	if err := t.deriveSchemas(reflect.TypeFor[In](), reflect.TypeFor[Out]()); err != nil {
		return nil, fmt.Errorf("make tool %q: %w", name, err)
	}
	t.call = func(ctx context.Context, c Call) (Result, error) {
		var in In
		if err := DecodeArgs(c.Args, &in); err != nil {
			return Result{}, err
		}
		out, err := fn(ctx, c, in)
		if err != nil {
			return Result{}, err
		}
		return resultOf(out)
	}
	if t.effectOf == nil {
		return t, nil
	}
	return computedFuncTool{t}, nil
}

// MustFunc is [Func] for programs that would end on its error anyway: it panics.
func MustFunc[In, Out any](
	name, description string, effect Effect,
	fn func(ctx context.Context, call Call, in In) (Out, error),
	opts ...Option,
) Tool {
	t, err := Func(name, description, effect, fn, opts...)
	if err != nil {
		panic(err)
	}
	return t
}

type funcTool struct {
	spec     Spec
	effectOf func(json.RawMessage) Effect
	call     func(context.Context, Call) (Result, error)
}

func (t *funcTool) Spec() Spec { return t.spec }

func (t *funcTool) Call(ctx context.Context, c Call) (Result, error) { return t.call(ctx, c) }

// computedFuncTool is a funcTool that implements [EffectOf].
type computedFuncTool struct{ *funcTool }

func (t computedFuncTool) EffectOf(args json.RawMessage) Effect { return t.effectOf(args) }

// deriveSchemas fills in the schemas that no option set.
func (t *funcTool) deriveSchemas(in, out reflect.Type) error {
	if k := in.Kind(); k != reflect.Struct && k != reflect.Map {
		return fmt.Errorf("arguments are an object, so they decode into a struct or a map, not into %s", in)
	}
	var err error
	if t.spec.Input == nil {
		if t.spec.Input, err = schemaOf(in); err != nil {
			return fmt.Errorf("derive input schema: %w", err)
		}
	}
	if t.spec.Output == nil && out != reflect.TypeFor[Result]() && out != reflect.TypeFor[json.RawMessage]() {
		if t.spec.Output, err = schemaOf(out); err != nil {
			return fmt.Errorf("derive output schema: %w", err)
		}
	}
	return nil
}

// schemaOf derives a schema. Two types that encoding/json treats specially are
// told to the library, which would call them arrays of integers.
func schemaOf(t reflect.Type) (json.RawMessage, error) {
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{
		TypeSchemas: map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[json.RawMessage](): {},
			reflect.TypeFor[[]byte]():          {Types: []string{"null", "string"}, ContentEncoding: "base64"},
		},
	})
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("marshal schema: %w", err)
	}
	return b, nil
}

func resultOf(out any) (Result, error) {
	switch v := out.(type) {
	case string:
		return Text(v), nil
	case Result:
		return v, nil
	case json.RawMessage:
		return Result{Output: v}, nil
	default:
		return JSON(out)
	}
}

// CodeOf returns the code of the definite failure in err's chain, "" if there is
// none.
func CodeOf(err error) string {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.Code
	}
	return ""
}
