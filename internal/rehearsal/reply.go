package rehearsal

import (
	"context"
	"encoding/json"
	"time"

	"github.com/culm-dev/culm/tool"
)

// Reply is what a scripted tool does when it is called. What comes first of Do,
// Failure, Err and Output counts.
type Reply struct {
	// Do computes it.
	Do func(ctx context.Context, c tool.Call) (tool.Result, error)
	// Failure is a definite failure.
	Failure *tool.Failure
	// Err is an error of which nothing is known: a write is then in doubt.
	Err error
	// Output is a JSON value; nil is null.
	Output json.RawMessage
	// Takes is how long the call takes.
	Takes time.Duration
	// Until, when not nil, is what the call waits for after that.
	Until *Gate
}

// give is what the call comes to when it has waited.
func (r Reply) give(ctx context.Context, c tool.Call) (tool.Result, error) {
	switch {
	case r.Do != nil:
		return r.Do(ctx, c)
	case r.Failure != nil:
		return tool.Result{}, r.Failure
	case r.Err != nil:
		return tool.Result{}, r.Err
	}
	var text string
	isText := json.Unmarshal(r.Output, &text) == nil && len(r.Output) > 0 && r.Output[0] == '"'
	return tool.Result{Output: r.Output, Text: isText}, nil
}
