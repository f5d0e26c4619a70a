package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/expr"
	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/internal/policy"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// continueRefusal is the first reason, in the documented order, for which the
// run cannot be continued now; nil if it can. It writes nothing.
func (l *loaded) continueRefusal(ctx context.Context, o ContinueOptions) (*Error, error) {
	if r := l.readable(o.Session); r != nil {
		return r, nil
	}
	switch {
	case l.head.Owner.Alive:
		return refuse(CodeOwnedElsewhere, "run %s is being worked on by a living process (pid %d)", l.st.RunID, l.head.Owner.PID).
			with("owner", l.head.Owner.ID), nil
	case l.st.Status.Terminal():
		return refuse(CodeTerminal, "run %s has %s; it never changes again", l.st.RunID, l.st.Status), nil
	case l.st.Status != run.StatusSuspended:
		return refuse(CodeNotSuspended, "run %s is %s: its owner is gone, and it was not recovered yet", l.st.RunID, l.st.Status).
			hint("recover it first: culm recover"), nil
	}
	if r, err := l.copyRefusal(ctx, o); r != nil || err != nil {
		return r, err
	}
	if err := l.walk(ctx); err != nil {
		return splitRefusal(err)
	}
	ahead, err := l.withMail(ctx)
	if err != nil {
		return splitRefusal(err)
	}
	return ahead.goOnRefusal(ctx, o)
}

// withMail is the run as it will be when its next owner has read the mail that
// waits for it: without writing anything.
func (l *loaded) withMail(ctx context.Context) (*loaded, error) {
	mail, err := l.e.store.Mail(ctx, l.st.RunID, 0)
	if len(mail) == 0 || err != nil {
		return l, err
	}
	ahead, err := l.e.load(ctx, l.st.RunID, keepNothing)
	if err != nil {
		return nil, err
	}
	if err := ahead.walk(ctx); err != nil {
		return nil, err
	}
	o := ahead.newOwner(nil)
	ahead.vals = o.vals
	return ahead, o.readMail(ctx)
}

// goOnRefusal checks what a suspended run needs.
func (l *loaded) goOnRefusal(ctx context.Context, o ContinueOptions) (*Error, error) {
	if r := l.e.toolsPresent(l.prog); r != nil {
		return r, nil
	}
	if r, err := l.inputsMatch(ctx); r != nil || err != nil {
		return r, err
	}
	if r, err := l.outputsValid(ctx); r != nil || err != nil {
		return r, err
	}
	if l.st.CancelRequested != "" && !l.m.Cleaning() {
		return nil, nil // such a run can only be cancelled, and nothing more is asked of it
	}
	return l.workRefusal(o)
}

// splitRefusal parts refusals from errors of the store.
func splitRefusal(err error) (*Error, error) {
	var r *Error
	if errors.As(err, &r) && r.Code != CodeStorage {
		return r, nil
	}
	return nil, err
}

// hiddenFrom reports whether the run is another session's. If its journal does not
// say whose it is, its listing row does.
func (l *loaded) hiddenFrom(session string) bool {
	whose := l.st.SessionID
	if l.st.RunID == "" {
		whose = l.head.Row.Session
	}
	return whose != "" && !sessionMatches(session, whose)
}

// readable is the first part of every predicate.
func (l *loaded) readable(session string) *Error {
	switch {
	case l.hiddenFrom(session):
		return noRun(l.head.Stream)
	case l.damaged != "":
		r := refuse(CodeDamaged, "run %s is damaged: %s", l.head.Stream, l.damaged).with("reason", l.damaged)
		if l.st.RunID == "" {
			return r.hint("nothing of its journal reads; to keep what is stored of it: culm export %s", l.head.Stream)
		}
		return r.hint("it can still be shown and restarted")
	case l.newer != "":
		return refuse(CodeNewerFormat, "%s", l.newer).hint("use the version that wrote it, or a newer one")
	}
	return nil
}

// workRefusal checks what a continued run would need to go on.
func (l *loaded) workRefusal(o ContinueOptions) (*Error, error) {
	if r := l.doubtRefusal(o); r != nil {
		return r, nil
	}
	if r, err := l.runningRefusal(); r != nil || err != nil {
		return r, err
	}
	now := l.e.now()
	if !l.st.Doomed() && o.Extend <= 0 && !now.Before(l.st.Deadline(now)) {
		return refuse(CodeDeadlinePassed, "run %s had %s of wall time, which passed at %s", l.st.RunID,
			time.Duration(l.st.Budget.WallTimeMS)*time.Millisecond, l.st.Deadline(now).Format(time.RFC3339)).
			hint("grant time: culm continue %s --extend 10m", l.st.RunID), nil
	}
	if l.lacksSteps(now) {
		return refuse(CodeBudgetExhausted, "run %s has entered %d steps, and max_steps is %d", l.st.RunID, l.st.Usage.Steps, l.st.Budget.MaxSteps).
			hint("start it anew with a larger budget"), nil
	}
	if r := l.e.withinCeilings(l.st.Budget); r != nil {
		return r, nil
	}
	if r := secretsAvailable(l.prog); r != nil {
		return r, nil
	}
	return l.e.permitted(l.prog, l.authority(o)), nil
}

func (l *loaded) authority(o ContinueOptions) run.Authority {
	return policy.Merge(policy.Merge(l.st.Authority, l.e.cfg.Authority), o.Authority)
}

// lacksSteps reports whether a step is next for which the budget has none left.
func (l *loaded) lacksSteps(now time.Time) bool {
	return slices.ContainsFunc(l.m.Next(now, 1), func(a kernel.Action) bool {
		return a.Do == kernel.Start && l.st.Usage.Steps+a.Keep >= l.st.Budget.MaxSteps
	})
}

// doubtRefusal lists the steps in doubt that nobody let be entered again.
func (l *loaded) doubtRefusal(o ContinueOptions) *Error {
	var open []string
	for _, st := range l.st.OpenSteps() {
		if st.InDoubt && !l.m.GivesUp(st.ID) && !l.mayRerun(st, o) {
			open = append(open, st.ID)
		}
	}
	if len(open) == 0 {
		return nil
	}
	r := refuse(CodeStepInDoubt, "nobody knows whether %s happened", openSteps(open)).with("steps", open)
	return r.hint("look at what it did, then decide: culm resolve %s %s --output JSON | --fail MESSAGE | --rerun", l.st.RunID, open[0])
}

func openSteps(ids []string) string {
	if len(ids) == 1 {
		return "step " + ids[0]
	}
	text := "steps "
	for i, id := range ids {
		if i > 0 {
			text += ", "
		}
		text += id
	}
	return text
}

// mayRerun needs the author's word, or the operator's for both the recorded and
// the present effect.
func (l *loaded) mayRerun(st *run.Step, o ContinueOptions) bool {
	info := l.step(st.ID)
	if info == nil {
		return false
	}
	if info.Def.OnUnknown == workflow.OnUnknownRerun {
		return true
	}
	may := l.e.reruns(o)
	if !slices.Contains(may, st.Effect) {
		return false
	}
	spec, ok := l.e.tools.Spec(info.Def.Tool)
	if !ok {
		return false
	}
	effect := string(spec.Effect)
	if t, _ := l.e.tools.Lookup(info.Def.Tool); st.Effect != effect {
		if _, depends := t.(tool.EffectOf); depends {
			effect = st.Effect // looked at again when it is entered
		}
	}
	return slices.Contains(may, effect)
}

// reruns are the effects that this engine's operator and this call let be repeated.
func (e *Engine) reruns(o ContinueOptions) []string {
	var may []string
	for _, effect := range slices.Concat(e.cfg.Rerun, o.Rerun) {
		may = append(may, string(effect))
	}
	slices.Sort(may)
	return slices.Compact(may)
}

// step finds a step instance's definition.
func (l *loaded) step(instance string) *workflow.StepInfo {
	if l.m == nil {
		return nil
	}
	return l.m.Step(instance)
}

// runningRefusal: what is entered again must not still be at work.
func (l *loaded) runningRefusal() (*Error, error) {
	for _, st := range l.st.OpenSteps() {
		if !st.InDoubt || l.m.GivesUp(st.ID) {
			continue
		}
		running, err := l.e.stillRunning(l.st.RunID, st.ID)
		if err != nil {
			return nil, err
		}
		if running {
			return refuse(CodeStillRunning, "processes of step %s are still running", st.ID).with("steps", []string{st.ID}).
				hint("wait until they are gone"), nil
		}
	}
	return nil, nil
}

// inputsMatch makes the inputs of open steps again, with the recorded attempt, and
// compares them with what was recorded.
func (l *loaded) inputsMatch(ctx context.Context) (*Error, error) {
	for _, st := range l.st.OpenSteps() {
		info := l.step(st.ID)
		if info == nil {
			return refuse(CodeBundleMismatch, "the plan does not have step %s open", st.ID).with("steps", []string{st.ID}), nil
		}
		if info.Args == nil || st.InputHash == "" {
			continue
		}
		view, _ := l.m.ViewOf(st.ID)
		v, err := info.Args.Eval(&env{ctx: ctx, vals: l.vals, view: view, root: l.st.RootRunID, made: l.st.CreatedAt, step: st.ID, attempt: st.Attempts})
		var bad *expr.Error
		if err != nil && !errors.As(err, &bad) {
			return nil, err
		}
		if err == nil {
			raw, err := canon.Encode(v)
			if err != nil {
				return nil, err
			}
			if canon.Hash(raw) == st.InputHash {
				continue
			}
		}
		return refuse(CodeInputMismatch, "the input of step %s is no longer what it was entered with", st.ID).with("steps", []string{st.ID}), nil
	}
	return nil, nil
}

// outputsValid checks recorded outputs against the schemas that their steps declare.
func (l *loaded) outputsValid(ctx context.Context) (*Error, error) {
	for id, st := range l.st.Steps {
		info := l.m.Declared(id)
		if st.Status != run.StatusStepSucceeded || info == nil || info.Output == nil {
			continue
		}
		v, err := l.vals.stored(ctx, st.Output)
		if err != nil {
			return nil, err
		}
		if err := info.Output.Validate(v); err != nil {
			return refuse(CodeOutputInvalid, "the recorded output of step %s does not satisfy its output_schema: %v", id, err).with("steps", []string{id}), nil
		}
	}
	return nil, nil
}
