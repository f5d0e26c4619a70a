package culmtest

import (
	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/rehearsal"
	"github.com/culm-dev/culm/run"
)

// Recover is [culm.Engine.Recover]: it suspends what a dead process left running.
func (e *Env) Recover() []culm.Recovered {
	e.t.Helper()
	found, err := e.Engine().Recover(e.t.Context())
	e.must("recover", err)
	return found
}

// Continue is [culm.Engine.Continue]; [Env.Wait] lets the run go on. Without a
// session in opts, it is any.
func (e *Env) Continue(runID string, opts culm.ContinueOptions) *run.View {
	e.t.Helper()
	if opts.Session == "" {
		opts.Session = culm.AnySession
	}
	v, err := e.Engine().Continue(e.t.Context(), runID, opts)
	e.must("continue run", err)
	return v
}

// Operate sees a run to its end as an operator would who knows what the scripted
// tools did: it recovers the run, decides on writes in doubt by what was done,
// enters calls again that may be repeated, and waits. Where only somebody else
// could decide, the run stays suspended.
func (e *Env) Operate(runID string) *run.View {
	e.t.Helper()
	v, err := e.w.Operate(e.t.Context(), runID, &rehearsal.Operator{Knows: true})
	e.must("operate run", err)
	return v
}

// Cancel is [culm.Engine.Cancel]; [Env.Wait] gives a living owner the time to act.
func (e *Env) Cancel(runID string) {
	e.t.Helper()
	_, err := e.Engine().Cancel(e.t.Context(), runID, culm.CancelOptions{Session: culm.AnySession})
	e.must("cancel run", err)
}

// ResolveDone decides that a step in doubt was done, and returned output: any
// value that marshals to JSON.
func (e *Env) ResolveDone(runID, step string, output any) {
	e.t.Helper()
	e.resolve(runID, step, culm.Resolution{Verdict: run.VerdictSucceeded, Output: e.json(output)})
}

// ResolveFailed decides that a step in doubt was not done, and has failed.
func (e *Env) ResolveFailed(runID, step, message string) {
	e.t.Helper()
	e.resolve(runID, step, culm.Resolution{Verdict: run.VerdictFailed, Message: message})
}

// ResolveRerun decides that a step in doubt is to be entered again.
func (e *Env) ResolveRerun(runID, step string) {
	e.t.Helper()
	e.resolve(runID, step, culm.Resolution{Verdict: run.VerdictRerun})
}

func (e *Env) resolve(runID, step string, r culm.Resolution) {
	e.t.Helper()
	r.Session = culm.AnySession
	_, err := e.Engine().Resolve(e.t.Context(), runID, step, r)
	e.must("resolve step "+step, err)
}
