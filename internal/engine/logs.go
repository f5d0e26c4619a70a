package engine

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/culm-dev/culm/run"
)

// Logs keeps what tools print while they run, so that people can read along, also
// from other processes. It is no part of the journal: nothing depends on it, and
// after a crash it holds what was written by then. Methods are safe for
// concurrent use.
type Logs interface {
	// Append adds lines to a root run's log, in this order, and numbers them. It
	// returns when others can read them, or when they are given up: it has no error
	// to report to a run. It may take its time, since no step waits for it; what is
	// printed meanwhile is left out where it becomes too much. The lines are the
	// caller's again when it returns.
	Append(runID string, lines []run.LogLine)
	// Release frees what is held in memory for a run. More may be appended later.
	Release(runID string)
	// Remove deletes a run's log. That there is none is no error.
	Remove(runID string) error
	// Read gives the lines that are kept, oldest first; none if there is no log.
	// Then, each time more delivers, those that came since, without repeating any.
	// It ends at the present end if more is nil or after a last look when more is
	// closed; or with the error of ctx.
	Read(ctx context.Context, runID string, more <-chan struct{}) iter.Seq2[run.LogLine, error]
}

// LogOptions say which part of a run's log is read, and for how long.
type LogOptions struct {
	// Session must be the run's; "" is "local", AnySession matches every one.
	Session string
	// After leaves out lines up to this number.
	After uint64
	// Follow goes on with lines as they come, of any process's run, until nobody
	// works on the run any more.
	Follow bool
}

// logPoll is how often a follower looks for new lines.
const logPoll = 200 * time.Millisecond

// Logs gives what the tools of a run printed, oldest first: what [Config.Logs] has
// kept of it, which may be nothing. A nested run's log is its part of its root's.
// After an error the sequence ends.
func (e *Engine) Logs(ctx context.Context, runID string, opts LogOptions) iter.Seq2[run.LogLine, error] {
	return func(yield func(run.LogLine, error) bool) {
		v, err := e.Progress(ctx, runID, ProgressOptions{Session: opts.Session})
		if err != nil {
			yield(run.LogLine{}, err)
			return
		}
		if e.cfg.Logs == nil {
			return
		}
		prefix := ""
		if v.ParentStepID != "" {
			prefix = v.ParentStepID + "/"
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var more <-chan struct{}
		if opts.Follow {
			pulse, stopped := e.pulse(ctx, v.RootRunID)
			defer func() { cancel(); <-stopped }()
			more = pulse
		}
		for line, err := range e.cfg.Logs.Read(ctx, v.RootRunID, more) {
			if err == nil && (line.N <= opts.After || !strings.HasPrefix(line.Step, prefix)) {
				continue
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// releaseLog is called when nothing more is expected of a run.
func (e *Engine) releaseLog(runID string) {
	if e.cfg.Logs != nil {
		e.cfg.Logs.Release(runID)
	}
}

// pulse delivers at each moment to look for new lines, and is closed when nobody
// works on the run any more or ctx is done. Then stopped is closed too.
func (e *Engine) pulse(ctx context.Context, runID string) (more, stopped <-chan struct{}) {
	beats, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer close(beats)
		ctx, cancel := context.WithCancel(ctx)
		resting := make(chan struct{})
		go func() {
			defer close(resting)
			_, _ = e.Wait(ctx, runID) // whatever it says: there is nothing more to wait for
		}()
		defer func() { cancel(); <-resting }()
		for e.beat(ctx, beats, resting) {
		}
	}()
	return beats, ended
}

// beat delivers once, after a while; false when nobody works on the run any more or
// ctx is done.
func (e *Engine) beat(ctx context.Context, beats chan<- struct{}, resting <-chan struct{}) bool {
	due, stop := e.alarm(logPoll)
	defer stop()
	var to chan<- struct{} // nil until it is due
	for {
		select {
		case <-due:
			due, to = nil, beats
		case to <- struct{}{}:
			return true
		case <-resting:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
