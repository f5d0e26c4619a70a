package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/culm-dev/culm/tool"
)

// Script says what a tool does when it is called. It may be added to while runs
// run.
type Script struct {
	spec tool.Spec
	like tool.EffectOf // nil if the effect does not depend on the arguments

	mu      sync.Mutex
	replies []Reply
	on      []onStep
}

type onStep struct {
	step    string
	replies []Reply
}

// NewScript makes a script for a tool of that description. The n-th call of a step
// gets the n-th reply, and all further ones the last. A call that is made again
// because its process died before the outcome was recorded gets the same.
func NewScript(spec tool.Spec, replies ...Reply) *Script {
	return &Script{spec: spec, replies: replies}
}

// Like makes a script for a tool that looks like another one: its schemas,
// capability and effect are the same.
func Like(t tool.Tool, replies ...Reply) *Script {
	s := NewScript(t.Spec(), replies...)
	s.like, _ = t.(tool.EffectOf)
	return s
}

// On says what the calls of one step get instead: of a step instance, or of all
// instances of the step with that id. What was said last counts.
func (s *Script) On(step string, replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = append(s.on, onStep{step, replies})
}

// reply is what the n-th call of a step gets, from 1; false if nothing says that.
func (s *Script) reply(step string, n int) (Reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	replies := s.replies
	for _, on := range s.on {
		if Instance(on.step, step) {
			replies = on.replies
		}
	}
	if len(replies) == 0 {
		return Reply{}, false
	}
	return replies[min(n, len(replies))-1], true
}

// tool is the scripted tool as one process has it.
func (s *Script) tool(p *process) tool.Tool {
	t := scripted{s, p}
	if s.like != nil {
		return computed{t, s.like}
	}
	return t
}

type scripted struct {
	s *Script
	p *process
}

type computed struct {
	tool.Tool
	of tool.EffectOf
}

func (t computed) EffectOf(args json.RawMessage) tool.Effect { return t.of.EffectOf(args) }

func (t scripted) Spec() tool.Spec { return t.s.spec }

// errDied is what calls of a dead process come to: nobody hears of it.
var errDied = errors.New("the process died")

func (t scripted) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	effect := t.s.spec.Effect
	if t.s.like != nil {
		effect = t.s.like.EffectOf(c.Args)
	}
	call, n := t.p.begin(t.s.spec.Name, effect, c)
	if call == nil {
		return tool.Result{}, errDied
	}
	reply, ok := t.s.reply(c.StepID, n)
	if !ok {
		reply = t.p.world.unscripted(call)
	}
	clock := t.p.world.clock
	clock.sleep(ctx, c.StepID, reply.Takes, t.p.dead.Load)
	if reply.Until != nil && ctx.Err() == nil && !t.p.dead.Load() {
		clock.await(ctx, reply.Until, c.StepID, t.p.dead.Load)
	}
	if t.p.dead.Load() {
		t.p.world.end(call, Lost, tool.Result{}, errDied)
		return tool.Result{}, errDied
	}
	if ctx.Err() != nil {
		err := context.Cause(ctx)
		t.p.world.end(call, Cancelled, tool.Result{}, err)
		return tool.Result{}, err
	}
	return t.p.world.ended(call)(reply.give(ctx, c))
}

// unscripted notes a call that no script foresaw.
func (w *World) unscripted(call *Call) Reply {
	w.mu.Lock()
	defer w.mu.Unlock()
	what := fmt.Sprintf("step %s called tool %s, and nothing says what that gives", call.Step, call.Tool)
	w.calls.unscripted = append(w.calls.unscripted, what)
	return Reply{Failure: &tool.Failure{Code: "execution_failed", Message: "no reply is scripted for this call"}}
}

// observed is a real tool whose calls are noted.
type observed struct {
	tool.Tool
	p *process
}

func observe(t tool.Tool, p *process) tool.Tool {
	o := observed{t, p}
	if of, ok := t.(tool.EffectOf); ok {
		return computed{o, of}
	}
	return o
}

func (t observed) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	call, _ := t.p.begin(t.Spec().Name, tool.EffectOfCall(t.Tool, c.Args), c)
	if call == nil {
		return tool.Result{}, errDied
	}
	return t.p.world.ended(call)(t.Tool.Call(ctx, c))
}
