package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// ProgressOptions say how much of a run is shown.
type ProgressOptions struct {
	// Values includes the bundle, arguments and outputs.
	Values bool
	// Session must be the run's; "" is "local", AnySession matches every one.
	Session string
}

// Progress is one consistent look at a run: of this process, of another, or of
// nobody. A nested run's id gives that part of its root.
func (e *Engine) Progress(ctx context.Context, runID string, opts ProgressOptions) (*run.View, error) {
	root, err := e.rootOf(ctx, runID)
	if err != nil {
		return nil, err
	}
	return e.progress(ctx, root, runID, opts)
}

// progress is Progress of a run whose root is known.
func (e *Engine) progress(ctx context.Context, root, runID string, opts ProgressOptions) (*run.View, error) {
	var l *loaded
	var err error
	if opts.Values {
		l, err = e.load(ctx, root, keepValues)
	} else {
		l, err = e.peek(ctx, root)
	}
	if err != nil {
		return nil, err
	}
	if l.hiddenFrom(opts.Session) {
		return nil, noRun(runID)
	}
	v, err := l.view(ctx)
	if err != nil || root == runID {
		return v, err
	}
	return nestedView(v, runID), nil
}

func sessionMatches(asked, has string) bool {
	return asked == AnySession || asked == has || asked == "" && has == DefaultSession
}

// rootOf is the id of the root run that a run id belongs to.
func (e *Engine) rootOf(ctx context.Context, runID string) (string, error) {
	rec, err := e.store.Key(ctx, nestedScope, runID)
	switch {
	case err == nil:
		return rec.Stream, nil
	case errors.Is(err, store.ErrNotFound):
		return runID, nil
	}
	return "", asError(err, runID)
}

func (l *loaded) view(ctx context.Context) (*run.View, error) {
	v := &run.View{Snapshot: *l.st.Snapshot(), Damaged: l.damaged}
	if v.RunID == "" { // not even its first event can be read
		v.RunID, v.RootRunID, v.Status = l.head.Stream, l.head.Stream, run.Status(l.head.Row.Status)
	}
	if o := l.head.Owner; o.ID != "" {
		v.Owner = &run.Owner{ID: o.ID, Alive: o.Alive}
	}
	var err error
	if l.readable(AnySession) == nil {
		if v.Copy, err = l.copied(ctx); err != nil {
			return nil, asError(err, l.head.Stream)
		}
	}
	v.Actions, err = l.actions(ctx)
	return v, err
}

// finalView is what Progress with values would say of a run that this owner has
// ended; nil if the journal must be read for it.
func (o *owner) finalView(ctx context.Context) *run.View {
	st := o.state()
	if !st.Status.Terminal() || !o.fillValues(st) {
		return nil
	}
	l := &loaded{e: o.e, head: store.Head{Stream: o.id, Last: st.Last, Row: o.row}, st: st, prog: o.prog}
	v, err := l.view(ctx)
	if err != nil {
		return nil
	}
	return v
}

func (o *owner) fillValues(st *run.State) bool {
	bundle, err := o.prog.Bundle.Canonical()
	if err != nil || !o.vals.fill(&st.Args) || !o.vals.fill(&st.Output) {
		return false
	}
	st.Bundle.Raw = bundle
	for _, step := range st.Steps {
		if !o.vals.fill(&step.Output) || !o.vals.fill(&step.Args) {
			return false
		}
	}
	return true
}

// ownView is what the owner itself shows before it begins.
func (e *Engine) ownView(o *owner) *run.View {
	owned, notDoubt := CodeOwnedElsewhere, CodeNotInDoubt
	v := &run.View{Snapshot: *o.state().Snapshot(), Owner: &run.Owner{ID: e.store.Owner(), Alive: true}}
	v.Actions = map[string]*string{"continue": &owned, "cancel": nil, "restart": &owned, "resolve": &notDoubt, "recover": &owned}
	return v
}

// nestedView is the part of a root's view that one nested run is.
func nestedView(root *run.View, runID string) *run.View {
	v := *root
	v.RunID, v.ParentRunID, v.ParentStepID = runID, root.RunID, ""
	v.Steps = make(map[string]*run.SnapshotStep)
	v.Output, v.Failure, v.Suspension, v.Bundle, v.Args = nil, nil, nil, nil, nil
	v.Waits = []run.Wait{}
	var own *run.SnapshotStep
	for _, st := range root.Steps {
		if st.ChildRunID == runID {
			own = st
		}
	}
	if own == nil {
		return &v
	}
	v.ParentStepID = own.ID
	prefix := own.ID + "/"
	if i := strings.LastIndexByte(own.ID, '/'); i >= 0 {
		if parent := root.Steps[own.ID[:i]]; parent != nil {
			v.ParentRunID = parent.ChildRunID
		}
	}
	for id, st := range root.Steps {
		if strings.HasPrefix(id, prefix) {
			v.Steps[id] = st
		}
	}
	for _, w := range root.Waits {
		if strings.HasPrefix(w.Step, prefix) {
			v.Waits = append(v.Waits, w)
		}
	}
	v.Status, v.Output, v.Failure = run.Status(own.Status), own.Output, own.Failure
	if own.Workflow != nil {
		v.Definition = *own.Workflow
	}
	v.Args = own.Args
	if v.Status == run.StatusSuspended {
		v.Suspension = root.Suspension
		v.Failure = nil
	}
	notRoot := CodeNotRoot
	v.Actions = make(map[string]*string, len(root.Actions))
	for name := range root.Actions {
		v.Actions[name] = &notRoot
	}
	return &v
}
