// Package reference is the naive interpreter of definitions that tests hold the
// engine against: straight recursion over the plan, nothing durable, no clock.
// It shares nothing with kernel, engine or run, so that what both agree on is
// what the definition means.
//
//	prog, err := workflow.CompileBundle(bundle, tools)
//	want, err := reference.Run(bundle, reference.Options{Args: args, Limits: limits, Tool: behave})
//	// ... run the engine on the same program, and see what it came to ...
//	for _, d := range want.Differences(got) { t.Error(d) }
//
// # Order
//
// Where branches stand side by side, the interpreter goes on as a run with one
// slot does. A branch goes as far as it can until it needs a turn: to decide, to
// enter a workflow step or sleep, to reserve a retry round, or to record the end of
// one of those (a turn), or to call a tool (a slot). Turns are taken first, first in
// first out, ends before others once something ended; then the call that is ready
// longest runs to its end. So of siblings that were ready before it, none is
// overtaken by what a call enables.
//
// [Options.Pick] replaces that order by any other, with calls that overlap. What
// does not depend on the order then is what [Result.Raced] says.
package reference

import (
	"encoding/json"
	"fmt"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/workflow"
)

// Options says what a run is given. Values are decoded JSON as package canon
// makes it.
type Options struct {
	Args   any
	Limits workflow.Limits
	// Tool is what tools do. It must depend on the call alone.
	Tool func(Call) (output any, failure *Failure)
	// Pick, when not nil, chooses what goes on next among n that could (0..n-1),
	// and makes calls overlap: that a call begins and that it ends are two choices.
	Pick func(n int) int
}

// Call is one tool call.
type Call struct {
	Step string // full instance id
	Tool string
	Args any
	// Failures is how often this step instance has definitely failed before.
	Failures int
}

// Failure is why something failed. Its JSON form is that in {"error": failure}.
type Failure struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	Retryable  bool   `json:"retryable"`
	EffectDone bool   `json:"effect_done,omitempty"`
}

// Status is how a step instance ended.
type Status string

// The ends of step instances. One that was never entered has none.
const (
	Succeeded Status = "succeeded"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
	Skipped   Status = "skipped"
)

// Result is what a run came to.
type Result struct {
	Output  any      // if Failure is nil
	Failure *Failure // nil if the run succeeded
	Steps   map[string]Status
	// Raced: the result depends on what happened first, because a parallel failed
	// while it had other branches, or because a budget ran out. Another order may
	// give other states, and another failure or output.
	Raced bool
	// Slept: a parallel that failed had a sleep in it, or a retry delay, so that
	// even with one slot the order depends on the clock.
	Slept bool

	certain map[string]Status // what holds in any order although it raced
}

// Run interprets the bundle's root definition. The error is about definitions that
// do not compile, which tests do not give it.
func Run(b *workflow.Bundle, o Options) (res *Result, err error) {
	x := &interp{opts: o, leaves: make(map[string]*leaf), decided: make(map[string]*decision), named: make(map[string]any)}
	if x.defs, err = readDefinitions(b); err != nil {
		return nil, fmt.Errorf("interpret %s: %w", workflow.Ref(b.RootID, b.RootRevision), err)
	}
	def := x.defs[workflow.Ref(b.RootID, b.RootRevision)]
	sc := &scope{act: &activation{def: def, args: o.Args}}
	out := x.run(func(t *task) outcome {
		return x.exec(t, def.plan, sc, &cancellation{})
	})
	x.raceBudget()
	res = &Result{Steps: make(map[string]Status, len(x.leaves)), Raced: x.raced, Slept: x.slept, certain: make(map[string]Status)}
	for id, l := range x.leaves {
		if l.status != "" {
			res.Steps[id] = l.status
		}
		if l.status == Succeeded && l.moment < x.racedFrom {
			res.certain[id] = l.status
		}
	}
	switch {
	case out.kind == failed:
		res.Failure = &out.fail.Failure
	default:
		res.Output, res.Failure = x.result(sc, out.val, def.output)
	}
	return res, nil
}

// errorValue is what a policy makes of a failure: {"error": failure}.
func errorValue(f *Failure) any {
	m := map[string]any{"code": f.Code, "message": f.Message, "retryable": f.Retryable}
	if f.EffectDone {
		m["effect_done"] = true
	}
	return map[string]any{"error": m}
}

// interp is one interpretation.
type interp struct {
	opts    Options
	defs    map[string]*definition // by workflow.Ref
	leaves  map[string]*leaf       // by instance id
	decided map[string]*decision   // by node instance
	named   map[string]any         // outputs of nodes with an id, by scope and id
	sched   scheduler

	steps, retries int64 // spent
	mostNeeded     int64 // by a map, of steps
	moment         int   // counts what happened, to tell what happened first

	raced, slept bool
	racedFrom    int // when the outermost parallel or map that raced was entered
	forks        int // parallels and maps that are entered
	forked       int // when the outermost of them was
}

// leaf is what is known of a step instance.
type leaf struct {
	status   Status
	output   any
	failure  *Failure
	failures int
	moment   int // of its end
}

// decision is what a node decided: for good.
type decision struct {
	truth   bool
	items   []any
	failure *failure
	moment  int
}

// failure is a failure on its way up, and the moment it began.
type failure struct {
	Failure
	moment int
}

type kind int

const (
	ok kind = iota
	failed
	cancelled
)

// outcome is how a node ended.
type outcome struct {
	kind kind
	val  any
	fail *failure
	// skips: the nearest sequence skips what follows.
	skips bool
	// hard: a leaf in it failed in a way that must not be retried.
	hard bool
	// touched is the latest moment that says what became of something in it; 0 if
	// nothing in it was ever entered.
	touched int
}

func (x *interp) now() int {
	x.moment++
	return x.moment
}

func (x *interp) failure(code, format string, args ...any) *failure {
	return &failure{Failure{Code: code, Message: fmt.Sprintf(format, args...)}, x.now()}
}

// text is a value's canonical JSON.
func text(v any) string {
	raw, err := canon.Encode(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func decode(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return canon.Decode(raw)
}

// fork notes that branches stand side by side until the returned function is called.
func (x *interp) fork() (joined func()) {
	if x.forks == 0 {
		x.forked = x.now()
	}
	x.forks++
	return func() { x.forks-- }
}

// race notes that the result depends on the order.
func (x *interp) race() {
	if !x.raced {
		x.raced, x.racedFrom = true, x.forked
	}
}

// raceBudget: whether a map's items fit may hang on what was spent before.
func (x *interp) raceBudget() {
	if !x.raced && x.steps+x.mostNeeded > x.opts.Limits.MaxSteps {
		x.raced = true
	}
}
