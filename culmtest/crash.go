package culmtest

import (
	"testing"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/rehearsal"
	"github.com/culm-dev/culm/run"
)

// Event names an event of a journal.
type Event struct {
	Type run.Type
	// Step is a step instance, or the id of a step, which stands for all its
	// instances; "" for any.
	Step string
	// Nth is which of the events that fit is meant, from 1; 0 is the first.
	Nth int
}

// Crash lets the process die now, as a kill would: its handle on the store is
// dead, what it owned has a dead owner, and calls that have not returned did
// nothing. The next use of the Env starts another process.
func (e *Env) Crash() {
	e.t.Helper()
	e.must("crash", e.w.Crash())
}

// CrashAfter lets the process die once an event is durable, before it hears of it:
// after step_started, the tool is not called. The test fails if the event never
// comes. Start, Run and Wait return when the process has died.
func (e *Env) CrashAfter(ev Event) { e.w.CrashAt(rehearsal.Crash{Event: rehearsal.Event(ev)}) }

// CrashBefore lets the process die when an event is about to become durable, which
// it never does: before step_completed, the tool was called, and nobody knows.
func (e *Env) CrashBefore(ev Event) {
	e.w.CrashAt(rehearsal.Crash{Before: true, Event: rehearsal.Event(ev)})
}

// CrashOptions say what [CrashEverywhere] does. The zero value is usable.
type CrashOptions struct {
	// Options are those of each Env.
	Options Options
	// MayRepeat lists tools whose writes may be done twice: their author says so
	// with on_unknown: rerun.
	MayRepeat []string
	// AnyOutput lets outputs differ from that of the undisturbed run, as they do
	// where they hold a time or a random number.
	AnyOutput bool
	// Check, when not nil, is called with every run that came to its end.
	Check func(env *Env, v *run.View)
}

// CrashEverywhere makes a run undisturbed, and then once for each place at which
// its process can die: before and after every commit of its journal, in a subtest
// each. Every time the run is seen to its end by another process, as
// [Env.Operate] does, and must then
//
//   - have done no write twice: each was done once, or was in doubt until
//     somebody said what became of it;
//   - have the same status, failure code and output as the undisturbed run.
//
// setup scripts the tools of a fresh Env. nil options are the zero value.
func CrashEverywhere(t *testing.T, s culm.Start, setup func(env *Env), opts *CrashOptions) {
	t.Helper()
	if opts == nil {
		opts = &CrashOptions{}
	}
	whole, env := opts.prepare(t, s, setup)
	if err := whole.Begin(t.Context(), env.w); err != nil {
		t.Fatalf("undisturbed: %v", err)
	}
	for _, place := range whole.Places() {
		t.Run(whole.Name(place), func(t *testing.T) {
			again, env := opts.prepare(t, s, setup)
			again.Compare(whole)
			if err := again.Try(t.Context(), env.w, place); err != nil {
				t.Error(err)
			}
		})
	}
}

// prepare makes a fresh Env, and the run that is to be made in it.
func (o *CrashOptions) prepare(t *testing.T, s culm.Start, setup func(env *Env)) (*rehearsal.Everywhere, *Env) {
	t.Helper()
	env := New(t, &o.Options)
	setup(env)
	e := &rehearsal.Everywhere{Start: s, Operator: &rehearsal.Operator{Knows: true}, MayRepeat: o.MayRepeat, AnyOutput: o.AnyOutput}
	if o.Check != nil {
		e.Check = func(_ *rehearsal.World, v *run.View) error {
			o.Check(env, v)
			return nil
		}
	}
	return e, env
}
