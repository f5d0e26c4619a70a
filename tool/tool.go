// Package tool is the port for everything a workflow can do to the world.
//
// A tool declares honestly what repeating one of its calls would do (its
// [Effect]); Culm never calls a write tool twice for one step unless somebody
// said so. Tools that ship with Culm live in the folders below.
package tool

import (
	"context"
	"encoding/json"
	"io"
)

// Effect is what repeating a call would do.
type Effect string

const (
	// Read changes nothing.
	Read Effect = "read"
	// Idempotent changes something, but calling again with the same arguments
	// and the same idempotency key has no further effect.
	Idempotent Effect = "idempotent"
	// Write changes something each time. A write call that returned neither a
	// result nor a [Failure] is in doubt: it is never repeated by itself.
	Write Effect = "write"
)

// Valid reports whether e is one of the three effects.
func (e Effect) Valid() bool { return e == Read || e == Idempotent || e == Write }

// Capabilities that built-in tools ask for. A capability is an operator's word
// for what a run may do; any string without spaces or commas will do.
const (
	CapRead  = "read"
	CapWrite = "write"
	CapExec  = "exec"
	CapNet   = "net"
)

// Tool does one kind of thing. Implementations are safe for concurrent use.
type Tool interface {
	Spec() Spec
	// Call does it, once. It returns a result; or [Failed] when it knows that
	// the call definitely failed; or any other error when it does not know (a
	// write call is then in doubt). It should return soon after ctx is done; one
	// that does not is abandoned after a grace period and counted. A panic is
	// recovered and treated as "does not know".
	Call(ctx context.Context, c Call) (Result, error)
}

// EffectOf is implemented by tools whose effect depends on the arguments (an
// HTTP GET reads, a POST writes). Spec().Effect is then the worst case.
// args is canonical JSON that satisfies the input schema. It must be pure.
type EffectOf interface {
	EffectOf(args json.RawMessage) Effect
}

// Spec describes a tool. It must not change while the tool is registered.
type Spec struct {
	// Name is how a step names it: [A-Za-z0-9_][A-Za-z0-9_./-]{0,127}.
	Name        string
	Description string
	// Input is the JSON Schema of the arguments; nil accepts any object.
	Input json.RawMessage
	// Output is the JSON Schema of the result; nil means unknown. Text results
	// are strings: {"type":"string"}.
	Output json.RawMessage
	Effect Effect
	// Capability must be allowed for a run to call this tool; "" stands for
	// "read" when Effect is Read, else "write".
	Capability string
}

// Call is one dispatch of a step.
type Call struct {
	RunID   string
	StepID  string // the full step instance, e.g. "review@root[2]"
	Attempt int    // from 1
	// IdempotencyKey is the same for every attempt of this step instance of this
	// run, and different for any other.
	IdempotencyKey string
	// Workspace is the absolute path of the folder the run may touch; "" if none.
	Workspace string
	// ReadPaths are absolute paths of folders outside the workspace that the run's
	// arguments name (where the input schema says "x-path": true). Only calls of
	// effect Read have them, and only to read.
	ReadPaths []string
	// LockPath, when not empty, is a file that the processes started by this call
	// should hold locked (flock) for as long as any of them lives.
	LockPath string
	// Args is canonical JSON, validated against Spec.Input.
	Args json.RawMessage
	// Progress, when not nil, shows people a line about what is going on. It is
	// not durable, never blocks, and may be called from any goroutine.
	Progress func(line string)
	// Live, when not nil, gives the writer of a stream: see [Call.Output], by which
	// tools write. It may be called from any goroutine.
	Live func(s Stream) io.Writer
}

// Result is what a completed call returned.
type Result struct {
	// Output is a JSON value. A nil Output is null.
	Output json.RawMessage
	// Text marks Output as a JSON string that holds a text result: a step with
	// an output schema reads it as JSON if it is one JSON document.
	Text bool
}

// JSON makes a result of any value that marshals to JSON.
func JSON(v any) (Result, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return Result{}, Failed("invalid_output", false, "marshal result: "+err.Error())
	}
	return Result{Output: b}, nil
}

// Text makes a text result.
func Text(s string) Result {
	b, _ := json.Marshal(s)
	return Result{Output: b, Text: true}
}

// Failure is a definite failure: the tool knows that the call did not do what
// was asked, and that nothing is unknown about it.
type Failure struct {
	Code      string // e.g. "execution_failed"
	Message   string
	Retryable bool
}

func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// Failed makes a definite failure. An empty code is "execution_failed".
func Failed(code string, retryable bool, message string) error {
	if code == "" {
		code = "execution_failed"
	}
	return &Failure{Code: code, Message: message, Retryable: retryable}
}
