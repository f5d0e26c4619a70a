// Package echo is the simplest tool: it gives back what it was given. It serves
// examples, tests, and workflows that want to show a value as a step.
package echo

import (
	"context"
	"encoding/json"

	"github.com/culm-dev/culm/tool"
)

type args struct {
	Value json.RawMessage `json:"value"`
}

// New returns the tool "echo": it reads nothing, changes nothing, and returns its
// argument value unchanged, be it an object, a number of any size or null.
func New() tool.Tool {
	return tool.MustFunc("echo", "Returns its argument `value` unchanged.", tool.Read,
		func(_ context.Context, _ tool.Call, in args) (json.RawMessage, error) {
			return in.Value, nil
		},
		tool.WithInput(json.RawMessage(`{
			"type": "object",
			"properties": {"value": {"description": "what to return: any JSON value"}},
			"required": ["value"],
			"additionalProperties": false
		}`)))
}
