package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// follow shows the run's events from the first on until it has come to rest, and
// returns where it stands: ended, suspended, or left behind by a process that is
// gone.
func (f *follower) follow(ctx context.Context, runID string) (*run.View, error) {
	f.in.noteTo(f.display)
	defer f.in.noteTo(nil)
	ctx, cancel := context.WithCancel(ctx)
	events, rest := f.subscribe(ctx, runID), f.await(ctx, runID)
	defer drain(events, rest)
	reading := f.readAlong(ctx, runID)
	defer reading.Wait()
	defer cancel()
	frames := time.NewTicker(redraw)
	defer frames.Stop()
	return f.show(events, rest, frames.C)
}

// show shows what comes until the run rests and all events up to there were shown.
func (f *follower) show(events <-chan delivery, rest <-chan resting, frames <-chan time.Time) (*run.View, error) {
	var last uint64
	var final *run.View
	for final == nil || last < final.LastSequence {
		select {
		case d, ok := <-events:
			if !ok {
				events = nil // the run has ended
				continue
			}
			if d.err != nil {
				return nil, d.err
			}
			last = d.ev.Sequence
			f.display.event(d.ev, last <= f.seen)
		case r := <-rest:
			if r.err != nil {
				return nil, r.err
			}
			final, rest = r.view, nil
		case line := <-f.lines:
			f.display.say(line)
		case <-frames:
			f.display.tick(f.in.Now())
		}
	}
	f.display.end(final)
	return final, nil
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
func (f *follower) subscribe(ctx context.Context, runID string) <-chan delivery {
	events := make(chan delivery)
	go func() {
		defer close(events)
		for ev, err := range f.Subscribe(ctx, runID, 0) {
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
	for range rest {
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
