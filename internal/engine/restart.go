package engine

import (
	"context"

	"github.com/culm-dev/culm/internal/policy"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// RestartOptions say how a run is started anew.
type RestartOptions struct {
	// Session must be the run's; "" is "local", AnySession matches every one.
	Session string
	// AcceptDoubt restarts although steps are in doubt: what they did may be
	// done again.
	AcceptDoubt bool
	// Authority is added to the old run's.
	Authority run.Authority
	// Labels are added to the old run's, and take the place of those of the same name.
	Labels map[string]string
	// From is a step instance, such as "x" or "x@root[2]": what finished before it
	// and beside it is taken over with its recorded outcome, and only the rest is
	// run. "" runs everything again.
	From string
}

// Restart starts a new run of the same pinned bundle and arguments, with a fresh
// budget. A suspended old run is cancelled in the same commit; if something that
// it began is still to be cleaned up, it stays suspended, and continuing it does
// only that. What the new run takes over is copied in that commit too, so that it
// never depends on the old one.
func (e *Engine) Restart(ctx context.Context, runID string, opts RestartOptions) (*run.View, error) {
	if r := e.closedRefusal(); r != nil {
		return nil, r
	}
	if r, err := e.notRoot(ctx, runID, opts.Session); r != nil || err != nil {
		return nil, orError(r, err)
	}
	l, err := e.load(ctx, runID, keeping(opts.From != ""))
	if err != nil {
		return nil, err
	}
	if r, err := l.restartRefusal(ctx, opts); r != nil || err != nil {
		return nil, orError(r, asError(err, runID))
	}
	p, err := e.prepareAgain(ctx, l, opts)
	if err != nil {
		return nil, err
	}
	o, err := e.create(p)
	if err != nil {
		return nil, err
	}
	if l.damaged == "" && !l.st.Status.Terminal() {
		if err := e.cancelOld(ctx, l, o); err != nil {
			return nil, err
		}
		defer closeClaims(&o.batch.extra)()
	}
	view, err := e.launchNew(ctx, o)
	return view, asError(err, runID)
}

// restartRefusal is the first reason for which the run cannot be started anew. It
// writes nothing.
func (l *loaded) restartRefusal(ctx context.Context, opts RestartOptions) (*Error, error) {
	if r := l.endRefusal(opts); r != nil {
		return r, nil
	}
	if err := l.compile(ctx); err != nil {
		return splitRefusal(err)
	}
	if err := l.e.preflight(&prepared{prog: l.prog, auth: l.authorityAgain(opts)}); err != nil {
		return splitRefusal(err)
	}
	return l.e.withinCeilings(l.st.Budget), nil
}

func (l *loaded) authorityAgain(opts RestartOptions) run.Authority {
	return policy.Merge(l.e.cfg.Authority, policy.Merge(l.st.Authority, opts.Authority))
}

// endRefusal refuses a restart while the old run neither has ended nor can be ended.
func (l *loaded) endRefusal(opts RestartOptions) *Error {
	if l.damaged != "" && l.st.RunID != "" && !l.hiddenFrom(opts.Session) {
		return nil // what it was started with is still there
	}
	if r := l.readable(opts.Session); r != nil {
		return r
	}
	switch {
	case l.head.Owner.Alive:
		return refuse(CodeOwnedElsewhere, "run %s is being worked on by a living process (pid %d)", l.st.RunID, l.head.Owner.PID).
			hint("cancel it first: culm cancel %s", l.st.RunID)
	case !l.st.Status.Terminal() && l.st.Status != run.StatusSuspended:
		return refuse(CodeNotSuspended, "run %s is %s: its owner is gone, and it was not recovered yet", l.st.RunID, l.st.Status).
			hint("recover it first: culm recover")
	case opts.AcceptDoubt:
		return nil
	}
	var open []string
	for _, st := range l.st.OpenSteps() {
		if st.InDoubt {
			open = append(open, st.ID)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return refuse(CodeStepInDoubt, "nobody knows whether %s happened; a new run would do it again", openSteps(open)).with("steps", open).
		hint("decide first (culm resolve), or restart all the same with --accept-doubt")
}

// prepareAgain makes a start of what the old run has pinned.
func (e *Engine) prepareAgain(ctx context.Context, l *loaded, opts RestartOptions) (*prepared, error) {
	args, err := newValues(e.store, l.st.RunID).raw(ctx, l.st.Args)
	if err != nil {
		return nil, asError(err, l.st.RunID)
	}
	p, err := e.prepare(ctx, Start{
		Program: l.prog, Args: args, SessionID: l.st.SessionID, Labels: l.labelsAgain(opts),
		Authority: l.authorityAgain(opts),
	})
	if err != nil {
		return nil, err
	}
	p.budget, p.restartedFrom, p.workspace = l.st.Budget, l.st.RunID, l.st.Workspace
	if opts.From != "" {
		p.takeover, err = l.takeOver(opts.From)
	}
	return p, err
}

// cancelOld puts the cancelling of the old run into the new run's first commit.
func (e *Engine) cancelOld(ctx context.Context, l *loaded, o *owner) error {
	claim, err := e.store.Claim(ctx, l.st.RunID)
	if err != nil {
		return asError(err, l.st.RunID)
	}
	old, err := l.cancelBatch(ctx, claim)
	if err != nil {
		claim.Close()
		return asError(err, l.st.RunID)
	}
	o.batch.extra.Appends = append(o.batch.extra.Appends, old.Appends...)
	return nil
}

func (l *loaded) cancelBatch(ctx context.Context, claim store.Claim) (*store.Batch, error) {
	if err := l.unmoved(ctx); err != nil {
		return nil, err
	}
	if err := l.walk(ctx); err != nil {
		return nil, err
	}
	old := l.newOwner(claim)
	if err := old.emit("", &run.CancelRequested{By: l.e.cfg.By, Reason: "restarted"}); err != nil {
		return nil, err
	}
	if err := old.settleRest(ctx); err != nil {
		return nil, err
	}
	if _, err := old.end(ctx); err != nil {
		return nil, err
	}
	old.batch.release = true
	return old.storeBatch(), nil
}

// closeClaims closes the claims that a batch carries, once it was tried.
func closeClaims(b *store.Batch) func() {
	appends := b.Appends
	return func() {
		for _, a := range appends {
			if a.Claim != nil {
				a.Claim.Close()
			}
		}
	}
}
