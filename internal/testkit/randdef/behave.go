package randdef

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/testkit/reference"
	"github.com/culm-dev/culm/tool"
)

// ToolName is the tool that random definitions call. Its arguments:
//
//	tag        string   copied to the output
//	v          any      copied to the output, or its digest if it is large
//	fail       integer  how often the step fails before it succeeds
//	retryable  boolean  whether those failures are retryable
//
// and its output is {tag, v, n, yes, list} with n in 0..9 and list of up to three
// numbers, both computed from v.
const ToolName = "work"

const outputSchema = `{"type":"object","properties":{"list":{"type":"array"},"n":{"type":"integer"},"tag":{"type":"string"},"v":{},"yes":{"type":"boolean"}},"required":["list","n","tag","v","yes"]}`

// largest is the size in bytes up to which v is copied.
const largest = 120

// Behave is what the tool does; it is a [reference.Options] Tool.
func Behave(c reference.Call) (any, *reference.Failure) {
	args, _ := c.Args.(map[string]any)
	tag, _ := args["tag"].(string)
	retryable, _ := args["retryable"].(bool)
	fail, _ := args["fail"].(json.Number)
	if times, err := strconv.Atoi(fail.String()); err == nil && c.Failures < times {
		return nil, &reference.Failure{Code: "execution_failed", Message: tag + " was told to fail", Retryable: retryable}
	}
	v := silence(args["v"])
	raw, err := canon.Encode(v)
	if err != nil {
		return nil, &reference.Failure{Code: "execution_failed", Message: err.Error()}
	}
	sum := fnv.New32a()
	_, _ = sum.Write(raw) // a hash's Write never fails
	digest := sum.Sum32()
	if len(raw) > largest {
		v = fmt.Sprintf("digest %08x", digest)
	}
	list := []any{}
	for i := range digest / 10 % 4 {
		list = append(list, json.Number(strconv.Itoa(int(i))))
	}
	n := digest % 10
	return map[string]any{
		"tag": tag, "v": v, "list": list, "yes": n%2 == 0, "n": json.Number(strconv.Itoa(int(n))),
	}, nil
}

// silence empties the messages of failures in a value: they are for people, and
// nothing may depend on them.
func silence(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, part := range v {
			list[i] = silence(part)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, part := range v {
			object[name] = silence(part)
		}
		if _, failure := v["retryable"].(bool); failure {
			delete(object, "message")
		}
		return object
	}
	return v
}

// Tool makes the tool. failures tells how often a step instance of a run has
// failed as far as is durably known, for which [Failures] reads a journal: so a
// call that a kill made unknown does not count, and the outcome is the same however
// often a run was killed.
func Tool(failures func(ctx context.Context, run, step string) (int, error)) tool.Tool {
	return &worker{failures}
}

type worker struct {
	failures func(ctx context.Context, run, step string) (int, error)
}

// Spec implements tool.Tool.
func (w *worker) Spec() tool.Spec {
	return tool.Spec{
		Name:        ToolName,
		Description: "Does as its arguments say.",
		Input:       json.RawMessage(`{"type":"object"}`),
		Output:      json.RawMessage(outputSchema),
		Effect:      tool.Read,
	}
}

// Call implements tool.Tool.
func (w *worker) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := canon.Decode(c.Args)
	if err != nil {
		return tool.Result{}, err
	}
	n, err := w.failures(ctx, c.RunID, c.StepID)
	if err != nil {
		return tool.Result{}, err
	}
	out, failure := Behave(reference.Call{Step: c.StepID, Tool: ToolName, Args: args, Failures: n})
	if failure != nil {
		return tool.Result{}, tool.Failed(failure.Code, failure.Retryable, failure.Message)
	}
	raw, err := canon.Encode(out)
	return tool.Result{Output: raw}, err
}

// Failures counts in a journal how often the tool failed for a step instance.
func Failures(lines [][]byte, step string) int {
	n := 0
	for _, text := range lines {
		var l struct {
			Type    string `json:"type"`
			StepID  string `json:"step_id"`
			Failure struct {
				Code string `json:"code"`
			} `json:"failure"`
		}
		if json.Unmarshal(text, &l) == nil && l.Type == "step_failed" && l.StepID == step && l.Failure.Code == "execution_failed" {
			n++
		}
	}
	return n
}
