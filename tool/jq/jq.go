// Package jq is the tool "json": it transforms a JSON value by a jq program.
//
// Programs are pure: they see their input and arguments, an empty environment,
// no further inputs, no files and no modules. Only `now` and the local time zone
// reach outside. The dialect is that of gojq, which differs from jq 1.7 in that
// integers have any size and object keys are always sorted.
package jq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/itchyny/gojq"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/tool"
)

// maxOutput is how many bytes of JSON a program may give.
const maxOutput = 16 << 20

type args struct {
	Program string                     `json:"program"`
	Input   json.RawMessage            `json:"input"`
	Args    map[string]json.RawMessage `json:"args"`
	All     bool                       `json:"all"`
}

// New returns the tool "json" (effect read). Its arguments are `program`,
// `input` (null if absent), `args` (each a variable, `{"x": 1}` is `$x`) and
// `all`. The result is the program's first result or, with `all`, the array of
// all of them, at most 16 MiB of JSON. It ends soon after its context does; what
// a program holds in memory meanwhile is not limited.
//
// Its definite failures: "invalid_input" (the program does not compile, a
// variable's name is none), "expression_failed" (it raised an error, halted with
// one, or gave no result), "too_large".
func New() tool.Tool {
	return tool.MustFunc("json", "Transforms a JSON value by a jq program.", tool.Read, run,
		tool.WithInput(json.RawMessage(inputSchema)))
}

const inputSchema = `{
	"type": "object",
	"properties": {
		"program": {"type": "string", "minLength": 1, "maxLength": 65536, "description": "the jq program"},
		"input": {"description": "what the program reads as its input (.); null if absent"},
		"args": {
			"type": "object",
			"propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
			"description": "variables: {\"x\": 1} is $x"
		},
		"all": {"type": "boolean", "default": false, "description": "give all results as an array, not only the first"}
	},
	"required": ["program"],
	"additionalProperties": false
}`

func run(ctx context.Context, _ tool.Call, in args) (json.RawMessage, error) {
	input, err := decode(in.Input)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(in.Args))
	values := make([]any, len(names))
	for i, name := range names {
		if values[i], err = decode(in.Args[name]); err != nil {
			return nil, err
		}
		names[i] = "$" + name
	}
	code, err := compile(in.Program, names)
	if err != nil {
		return nil, err
	}
	if in.All {
		return all(ctx, code.RunWithContext(ctx, input, values...))
	}
	return first(ctx, code.RunWithContext(ctx, input, values...))
}

func compile(program string, variables []string) (*gojq.Code, error) {
	query, err := gojq.Parse(program)
	if err != nil {
		return nil, invalidProgram(program, err)
	}
	code, err := gojq.Compile(query, gojq.WithVariables(variables))
	if err != nil {
		return nil, invalidProgram(program, err)
	}
	return code, nil
}

func invalidProgram(program string, err error) error {
	where := ""
	if p, ok := errors.AsType[*gojq.ParseError](err); ok {
		where = fmt.Sprintf(" at byte %d of %d", p.Offset, len(program))
	}
	return tool.Failed("invalid_input", false, fmt.Sprintf("compile jq program%s: %v", where, err))
}

func first(ctx context.Context, results gojq.Iter) (json.RawMessage, error) {
	v, ok := results.Next()
	if !ok || halted(v) {
		return nil, tool.Failed("expression_failed", false,
			"the program gave no result; use `all` to get an empty array, or `// null`")
	}
	return encode(ctx, v, maxOutput)
}

func all(ctx context.Context, results gojq.Iter) (json.RawMessage, error) {
	out := []byte("[")
	for {
		v, ok := results.Next()
		if !ok || halted(v) {
			return append(out, ']'), nil
		}
		b, err := encode(ctx, v, maxOutput-len(out))
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, b...)
	}
}

// halted reports whether v is the clean end that `halt` makes.
func halted(v any) bool {
	err, isError := v.(error)
	if !isError {
		return false
	}
	halt, ok := errors.AsType[*gojq.HaltError](err)
	return ok && halt.Value() == nil
}

// encode turns one thing that the program gave into JSON or its failure.
func encode(ctx context.Context, v any, limit int) (json.RawMessage, error) {
	if err, isError := v.(error); isError {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("run jq program: %w", context.Cause(ctx))
		}
		return nil, tool.Failed("expression_failed", false, "run jq program: "+err.Error())
	}
	b, err := gojq.Marshal(v)
	if err != nil {
		return nil, tool.Failed("expression_failed", false, "marshal jq result: "+err.Error())
	}
	if len(b) > limit {
		return nil, tool.Failed("too_large", false, fmt.Sprintf("the program gave more than %d MiB of JSON", maxOutput>>20))
	}
	return b, nil
}

// decode reads a JSON value as gojq wants it: numbers keep all their digits.
func decode(raw json.RawMessage) (any, error) {
	if raw == nil {
		return nil, nil
	}
	v, err := canon.Decode(raw)
	if err != nil {
		return nil, tool.Failed("invalid_input", false, "decode jq input: "+err.Error())
	}
	return v, nil
}
