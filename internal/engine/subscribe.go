package engine

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// ownerPoll is how often a waiter asks whether a silent owner still lives.
const ownerPoll = time.Second

// Subscribe gives every event after since, in order, without gap or repeat, then
// live ones, of any process's run, until the run has ended or ctx is done. A slow
// reader loses nothing: events are read from the journal. The values that events
// carry are in them. A nested run's events are those of its root's that concern
// it, with the root's sequences. After an error the sequence ends.
func (e *Engine) Subscribe(ctx context.Context, runID string, since uint64) iter.Seq2[run.Event, error] {
	return func(yield func(run.Event, error) bool) {
		root, err := e.rootOf(ctx, runID)
		if err != nil {
			yield(run.Event{}, err)
			return
		}
		if root != runID {
			nested, err := e.onlyNested(ctx, root, runID, yield)
			if err != nil {
				yield(run.Event{}, err)
				return
			}
			yield = nested
		}
		changed, stop := e.store.Watch(root)
		defer stop()
		for {
			last, over, err := e.readOn(ctx, root, since, yield)
			switch {
			case over:
				return
			case err != nil:
				yield(run.Event{}, asError(err, runID))
				return
			case last > since:
				since = last
				continue
			}
			if e.endedBefore(ctx, root, since) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(run.Event{}, ctx.Err())
				return
			}
		}
	}
}

// endedBefore reports whether the run's end is not after since: whoever asks on
// from the end on is told at once that nothing comes.
func (e *Engine) endedBefore(ctx context.Context, runID string, since uint64) bool {
	head, err := e.store.Head(ctx, runID)
	return err == nil && head.Last <= since && run.Status(head.Row.Status).Terminal()
}

// onlyNested passes on the events of one nested run.
func (e *Engine) onlyNested(ctx context.Context, root, runID string, yield func(run.Event, error) bool) (func(run.Event, error) bool, error) {
	l, err := e.peek(ctx, root)
	if err != nil {
		return nil, err
	}
	prefix := ""
	for id, st := range l.st.Steps {
		if st.ChildRunID == runID {
			prefix = id + "/"
		}
	}
	return func(ev run.Event, err error) bool {
		scope := ev.StepID
		switch b := ev.Body.(type) {
		case *run.Decided:
			scope = b.Scope
		case *run.RetryReserved:
			scope = b.Scope
		}
		if err == nil && (prefix == "" || !strings.HasPrefix(scope, prefix)) {
			return true
		}
		return yield(ev, err)
	}, nil
}

// readOn yields what there is after since; over reports that there will be no more.
func (e *Engine) readOn(ctx context.Context, runID string, since uint64, yield func(run.Event, error) bool) (last uint64, over bool, err error) {
	groups, err := e.store.Read(ctx, runID, since, readBytes)
	for _, g := range groups {
		for i, line := range g.Events {
			if g.First+uint64(i) <= since {
				continue
			}
			ev, derr := run.Decode(line)
			if derr == nil {
				derr = run.Fill(&ev, func(b run.Blob) (run.Raw, error) { return e.store.Blob(ctx, runID, b.SHA256) })
			}
			if derr != nil {
				return since, false, derr
			}
			if !yield(ev, nil) {
				return since, true, nil
			}
			since = ev.Sequence
			if ends(ev.Body) {
				return since, true, nil
			}
		}
	}
	return since, false, err
}

func ends(b run.Body) bool {
	switch b.(type) {
	case *run.Succeeded, *run.Failed, *run.CancelledRun:
		return true
	}
	return false
}

// Wait waits until the run has ended, is suspended, or has lost its owner (the
// view then says running, with an owner that is not alive). It follows any
// process's run.
func (e *Engine) Wait(ctx context.Context, runID string) (*run.View, error) {
	if o := e.owner(runID); o != nil {
		return e.await(ctx, o)
	}
	root, err := e.rootOf(ctx, runID)
	if err != nil {
		return nil, err
	}
	if root != runID {
		if _, err := e.Wait(ctx, root); err != nil {
			return nil, err
		}
		return e.progress(ctx, root, runID, ProgressOptions{Values: true, Session: AnySession})
	}
	changed, stop := e.store.Watch(runID)
	defer stop()
	again := make(chan struct{}, 1)
	for {
		head, err := e.store.Head(ctx, runID)
		var damage *store.DamagedError
		if err != nil && !errors.As(err, &damage) {
			return nil, asError(err, runID)
		}
		status := run.Status(head.Row.Status)
		working := !status.Terminal() && status != run.StatusSuspended && head.Owner.Alive
		if err != nil || !working {
			return e.progress(ctx, runID, runID, ProgressOptions{Values: true, Session: AnySession})
		}
		stopTimer := e.cfg.Clock.AfterFunc(ownerPoll, func() {
			select {
			case again <- struct{}{}:
			default:
			}
		})
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
		}
		stopTimer()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// await waits until an owner of this engine has let go of its run.
func (e *Engine) await(ctx context.Context, o *owner) (*run.View, error) {
	select {
	case <-o.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if o.final != nil {
		v := *o.final
		return &v, nil
	}
	runID := o.id
	v, err := e.progress(ctx, runID, runID, ProgressOptions{Values: true, Session: AnySession})
	if err != nil || v.Status.Terminal() || v.Status == run.StatusSuspended {
		return v, err
	}
	if again := e.owner(runID); again != nil && again != o { // somebody continued it right away
		return e.await(ctx, again)
	}
	return v, refuse(CodeStorage, "run %s was given up: its journal could not be written", runID)
}
