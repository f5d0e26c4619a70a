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

// redraw is how often the tree is drawn, and probe how often it is asked whether
// the process that works on someone else's run still lives.
const (
	redraw = 100 * time.Millisecond
	probe  = time.Second
)

// follower watches one run until it ends or is suspended.
type follower struct {
	*opened
	display display
	// owned: this process works on the run.
	owned bool
	// seen is the sequence up to which events happened before this command.
	seen uint64
	// until is the sequence of the last event of a run that nobody works on.
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
// last. A run that somebody else works on is given up when that process is gone.
func (f *follower) follow(ctx context.Context, runID string) (*run.View, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.in.noteTo(f.display)
	defer f.in.noteTo(nil)
	var last uint64
	for {
		from := last
		gone, err := f.watch(ctx, runID, &last)
		if err != nil {
			return nil, err
		}
		v, err := f.Progress(ctx, runID, culm.ProgressOptions{Values: true, Session: culm.AnySession})
		if err != nil {
			return nil, err
		}
		if gone || v.Status.Terminal() || v.Status == run.StatusSuspended && last >= v.LastSequence {
			f.display.end(v)
			return v, nil
		}
		if v.Status == run.StatusSuspended {
			f.until = v.LastSequence
		}
		if last == from { // it moves on without events yet
			if err := pause(ctx, redraw); err != nil {
				return nil, err
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// watch shows events until the run may have come to rest, or its owner is found gone.
func (f *follower) watch(ctx context.Context, runID string, last *uint64) (gone bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	events := f.subscribe(ctx, runID, *last)
	defer drain(events)
	defer cancel()
	frames, probes := time.NewTicker(redraw), time.NewTicker(probe)
	defer frames.Stop()
	defer probes.Stop()
	lonely := 0
	for {
		select {
		case d, ok := <-events:
			if !ok {
				return false, nil
			}
			if d.err != nil {
				return false, d.err
			}
			*last = d.ev.Sequence
			f.display.event(d.ev, d.ev.Sequence <= f.seen)
			if f.settles(d.ev) {
				return false, nil
			}
		case line := <-f.lines:
			f.display.say(line)
		case <-frames.C:
			f.display.tick(f.in.Now())
		case <-probes.C:
			if f.owned {
				continue
			}
			// Twice, since a run may lie between two owners for a moment.
			if lonely = f.countLonely(ctx, runID, lonely); lonely >= 2 {
				return true, nil
			}
		}
	}
}

// settles reports whether a run may rest after this event: the journal is at
// the end that is known, or it has just been suspended.
func (f *follower) settles(ev run.Event) bool {
	_, suspended := ev.Body.(*run.Suspended)
	return ev.Sequence == f.until || suspended && ev.Sequence > f.seen
}

func (f *follower) countLonely(ctx context.Context, runID string, before int) int {
	v, err := f.Progress(ctx, runID, culm.ProgressOptions{Session: culm.AnySession})
	if err != nil || abandoned(v) == "" {
		return 0
	}
	return before + 1
}

// abandoned says what is wrong with a run that should be worked on, and is not.
func abandoned(v *run.View) string {
	if v.Status.Terminal() || v.Status == run.StatusSuspended {
		return ""
	}
	if v.Owner == nil {
		return "nobody works on it"
	}
	if !v.Owner.Alive {
		return "the process that worked on it is gone"
	}
	return ""
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

// drain waits for the subscription's goroutine.
func drain(events <-chan delivery) {
	for range events {
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
	if v.Status == run.StatusSuspended {
		f.until = v.LastSequence
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
