package culmtest

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/culm-dev/culm/internal/rehearsal"
	"github.com/culm-dev/culm/tool"
)

// Script is a tool that does what a test says.
type Script struct {
	e *Env
	s *rehearsal.Script
}

// Script adds a tool that takes any arguments. The n-th call of a step instance
// gets the n-th reply, and all further ones the last; one that is made again because
// its process died before the outcome was recorded gets the same. A call that
// nothing is said about fails, and so does the test. Tools are added before the first run starts;
// one that is added again replaces the other.
func (e *Env) Script(name string, effect tool.Effect, replies ...Reply) *Script {
	e.t.Helper()
	return e.add(rehearsal.NewScript(tool.Spec{Name: name, Effect: effect}, e.replies(replies)...))
}

// Fake adds a scripted tool in place of a real one. Its schemas, effect and
// capability stay, so that arguments and replies which the real one would not take
// or give are found.
func (e *Env) Fake(t tool.Tool, replies ...Reply) *Script {
	e.t.Helper()
	return e.add(rehearsal.Like(t, e.replies(replies)...))
}

// Use adds real tools. They must return once their context is done, and are not
// called where the name is scripted too. A call counts as done when it returned
// without an error, even if its process died meanwhile.
func (e *Env) Use(tools ...tool.Tool) { e.w.Use(tools...) }

func (e *Env) add(s *rehearsal.Script) *Script {
	e.w.Add(s)
	return &Script{e, s}
}

// On says what the calls of one step get instead: of a step instance such as
// "charge@root[2]", or of all instances of the step with that id. What was said
// last counts.
func (s *Script) On(step string, replies ...Reply) *Script {
	s.e.t.Helper()
	s.s.On(step, s.e.replies(replies)...)
	return s
}

// Reply is what a call of a scripted tool comes to. Make one with [Returns],
// [Fails], [Unknown] or [Does].
type Reply struct {
	r   rehearsal.Reply
	err error
}

// Returns is a result: any value that marshals to JSON. A string is a text result,
// as [tool.Text] makes one.
func Returns(v any) Reply {
	raw, err := marshal(v)
	return Reply{r: rehearsal.Reply{Output: raw}, err: err}
}

// Fails is a definite failure, as [tool.Failed] makes one: nothing was done.
func Fails(code string, retryable bool, message string) Reply {
	var f *tool.Failure
	errors.As(tool.Failed(code, retryable, message), &f)
	return Reply{r: rehearsal.Reply{Failure: f}}
}

// Unknown is an error of which nothing is known, such as a lost connection: a
// write is then in doubt.
func Unknown(message string) Reply {
	return Reply{r: rehearsal.Reply{Err: errors.New(message)}}
}

// Does computes the result. f must return once ctx is done.
func Does(f func(ctx context.Context, c tool.Call) (tool.Result, error)) Reply {
	return Reply{r: rehearsal.Reply{Do: f}}
}

// Taking is the same reply, of a call that takes d before it does anything.
func (r Reply) Taking(d time.Duration) Reply {
	r.r.Takes = d
	return r
}

// Until is the same reply, of a call that waits for a gate before it does
// anything.
func (r Reply) Until(g *Gate) Reply {
	r.r.Until = g.g
	return r
}

// Gate holds calls back until it is opened. Make one with [NewGate].
type Gate struct{ g *rehearsal.Gate }

// NewGate makes a closed gate.
func NewGate() *Gate { return &Gate{rehearsal.NewGate()} }

// Open lets the calls go on that wait, and those that come later.
func (g *Gate) Open() { g.g.Open() }

func (e *Env) replies(list []Reply) []rehearsal.Reply {
	e.t.Helper()
	out := make([]rehearsal.Reply, len(list))
	for i, r := range list {
		e.must("marshal reply", r.err)
		out[i] = r.r
	}
	return out
}

// marshal takes JSON as it is.
func marshal(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); ok {
		return raw, nil
	}
	return json.Marshal(v)
}

func (e *Env) json(v any) json.RawMessage {
	e.t.Helper()
	raw, err := marshal(v)
	e.must("marshal value", err)
	return raw
}
