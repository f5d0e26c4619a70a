package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// redraw is how often the tree is drawn.
const redraw = 100 * time.Millisecond

// follower watches one run until it ends or is suspended.
type follower struct {
	*opened
	display display
	// owned: this process works on the run.
	owned bool
	// seen is the sequence up to which events happened before this command.
	seen uint64
	// until is the sequence of the last event of a run that nobody works on; 0
	// while somebody does.
	until uint64
}

// display chooses how a run is shown.
func (in *invocation) display(program *workflow.Program) display {
	switch {
	case in.global.json():
		return silent{}
	case term.IsTerminal(in.Stderr, in.Env):
		return in.newLive(program)
	}
	return lines{in}
}

// delivery is one turn of a subscription.
type delivery struct {
	ev  run.Event
	err error
}

// follow shows the run's events from the first on and returns where it stands at
// last: ended, suspended, or left behind by a process that is gone.
func (f *follower) follow(ctx context.Context, runID string) (*run.View, error) {
	f.in.noteTo(f.display)
	defer f.in.noteTo(nil)
	var last uint64
	for {
		if err := f.watch(ctx, runID, &last); err != nil {
			return nil, err
		}
		v, err := f.Progress(ctx, runID, culm.ProgressOptions{Values: true, Session: culm.AnySession})
		if err != nil {
			return nil, err
		}
		if last >= v.LastSequence && (v.Status.Terminal() || v.Status == run.StatusSuspended || abandoned(v)) {
			f.display.end(v)
			return v, nil
		}
		f.until = 0 // somebody took it up meanwhile
	}
}

// watch shows events until the run has come to rest.
func (f *follower) watch(ctx context.Context, runID string, last *uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	events, rest := f.subscribe(ctx, runID, *last), f.await(ctx, runID)
	defer drain(events, rest)
	defer cancel()
	frames := time.NewTicker(redraw)
	defer frames.Stop()
	for {
		select {
		case d, ok := <-events:
			if !ok {
				return nil
			}
			if d.err != nil {
				return d.err
			}
			*last = d.ev.Sequence
			f.display.event(d.ev, d.ev.Sequence <= f.seen)
		case r, ok := <-rest:
			if !ok {
				rest = nil
				continue
			}
			if r.err != nil {
				return r.err
			}
			f.until = r.view.LastSequence
		case line := <-f.lines:
			f.display.say(line)
		case <-frames.C:
			f.display.tick(f.in.Now())
		}
		if f.until > 0 && *last >= f.until {
			return nil
		}
	}
}

// resting is how a run came to rest.
type resting struct {
	view *run.View
	err  error
}

// await delivers once where the run stands when nobody works on it any more.
func (f *follower) await(ctx context.Context, runID string) <-chan resting {
	rest := make(chan resting, 1)
	go func() {
		defer close(rest)
		v, err := f.Wait(ctx, runID)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		rest <- resting{v, err}
	}()
	return rest
}

// abandoned reports whether a run should be worked on, and is not.
func abandoned(v *run.View) bool {
	if v.Status.Terminal() || v.Status == run.StatusSuspended {
		return false
	}
	return v.Owner == nil || !v.Owner.Alive
}

// subscribe delivers events until the subscription ends or ctx is done; the
// channel is then closed.
func (f *follower) subscribe(ctx context.Context, runID string, since uint64) <-chan delivery {
	events := make(chan delivery)
	go func() {
		defer close(events)
		for ev, err := range f.Subscribe(ctx, runID, since) {
			if err != nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			select {
			case events <- delivery{ev, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return events
}

// drain waits for the goroutines that deliver.
func drain(events <-chan delivery, rest <-chan resting) {
	for range events {
	}
	if rest != nil {
		for range rest {
		}
	}
}

// own follows a run that this process started or continued, and says what it
// led to.
func (o *opened) own(ctx context.Context, v *run.View, f follower) error {
	f.opened = o
	o.stopOnInterrupt(ctx)
	if f.owned {
		o.in.owned.Store(&v.RunID)
	}
	if o.in.handOver(v) {
		f.display = silent{}
	}
	final, err := f.follow(ctx, v.RunID)
	if err != nil {
		return err
	}
	return o.in.finish(final)
}

// stopOnInterrupt lets the first Ctrl-C stop the engine: nothing new is begun,
// calls in flight are awaited, and the run is suspended.
func (o *opened) stopOnInterrupt(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	stop := func() {
		o.in.note("Stopping: nothing new is begun, calls in flight are awaited. Ctrl-C again leaves at once.")
		o.stopping.Go(func() {
			if err := o.Stop(ctx); err != nil && !errors.Is(err, context.Canceled) {
				o.in.note(fmt.Sprintf("stop: %v", err))
			}
		})
	}
	o.in.onInterrupt.Store(&stop)
}
