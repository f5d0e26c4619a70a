// Package crashpoint makes a process of a crash test die at a named place: by
// os.Exit, with an exit status that stands for that place alone, so that another
// death cannot pass for it.
//
//	st, err := sqlite.Open(ctx, path, sqlite.Options{})
//	dying := crashpoint.Wrap(st, crashpoint.AfterOutcome, "prefix")
//	// ... an engine over dying: the process is gone right after the commit that
//	// holds the step_completed of step prefix has returned.
//
// The store is wrapped from outside and runs as it is, so that what a commit left
// on disk is what a real death leaves.
package crashpoint

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/culm-dev/culm/store"
	"modernc.org/sqlite"
)

// Point is a place to die at. Its number is the exit status.
type Point int

// The points. Before, inside and after are seen from one commit: inside is at its
// COMMIT, with everything written and nothing committed.
const (
	MakeDatabase   Point = iota + 101 // inside the commit that makes the tables
	InsideQueued                      // inside the commit of run_queued
	AfterQueued                       // after it: the run is durable, and nobody was told
	BeforeStart                       // before the commit of a step's step_started
	InsideStart                       // inside it
	AfterStart                        // after it, before the call is dispatched
	InTool                            // in the tool, after its effect; see Die
	BeforeOutcome                     // before the commit of a step's step_completed
	InsideOutcome                     // inside it
	AfterOutcome                      // after it
	AfterEnd                          // after the commit of run_succeeded, before anyone is told
	BeforeRecover                     // before the commit of a recovery
	InsideRecover                     // inside it
	AfterRecover                      // after it
	BeforeContinue                    // before the commit of a continuing run_started
	InsideContinue                    // inside it
	AfterContinue                     // after it, before anything is dispatched
	BeforeResolve                     // before the commit of a verdict
	InsideResolve                     // inside it
	AfterResolve                      // after it
	BeforeRestart                     // before the commit of a restart, which is of two streams
	InsideRestart                     // inside it
	AfterRestart                      // after it
)

// Die ends the process at the point. Tools call it for [InTool].
func Die(at Point) { os.Exit(int(at)) }

func (p Point) String() string {
	if place, ok := places()[p]; ok {
		return place.name
	}
	return fmt.Sprintf("point %d", int(p))
}

// Wrap makes a SQLite store at which the process dies at the point. The points of
// one step are those of the step instance named; others ignore it. A point that is
// none, 0 among them, never comes.
//
// Points inside a commit are told by a hook on every connection that the process
// opens from here on: Wrap must be called before the store's first commit, at most
// once in a process.
func Wrap(st store.Store, at Point, step string) store.Store {
	place, ok := places()[at]
	if !ok {
		return st
	}
	d := &dying{Store: st, at: at, place: place, step: step}
	if place.when == inside {
		d.hook()
	}
	return d
}

// dying is a store in which the process dies.
type dying struct {
	store.Store
	at    Point
	place place
	step  string
	// left is how many COMMITs are still to be let through in the commit at hand,
	// negative outside of it.
	left atomic.Int64
}

// Commit implements [store.Store].
func (d *dying) Commit(ctx context.Context, b *store.Batch) error {
	if !d.place.of(read(b), d.step) {
		return d.Store.Commit(ctx, b)
	}
	switch d.place.when {
	case before:
		Die(d.at)
	case inside:
		d.left.Store(d.place.skip)
		defer d.left.Store(-1)
	}
	err := d.Store.Commit(ctx, b)
	if err == nil && d.place.when == after {
		Die(d.at)
	}
	return err
}

// hook makes connections die at their COMMIT while one is wanted.
func (d *dying) hook() {
	d.left.Store(-1)
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, _ string) error {
		registerer, ok := conn.(sqlite.HookRegisterer)
		if !ok {
			return fmt.Errorf("watch commits: %T takes no hooks", conn)
		}
		registerer.RegisterCommitHook(func() int32 {
			switch left := d.left.Load(); {
			case left == 0:
				Die(d.at)
			case left > 0:
				d.left.Store(left - 1)
			}
			return 0
		})
		return nil
	})
}
