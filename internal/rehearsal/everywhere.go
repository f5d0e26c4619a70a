package rehearsal

import (
	"context"
	"errors"
	"fmt"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/run"
)

// Everywhere is a run that is made once undisturbed, and then once for each place
// at which its process can die: each time in a fresh world of the same kind, which
// is closed after it.
type Everywhere struct {
	Start culm.Start
	// Operator sees the runs to their ends.
	Operator *Operator
	// MayRepeat lists tools whose writes may be done twice.
	MayRepeat []string
	// AnyOutput lets outputs differ.
	AnyOutput bool
	// Check, when not nil, is asked about every run that came to its end.
	Check func(w *World, v *run.View) error

	whole *run.View // the undisturbed run
	plan  []Commit
}

// Begin makes the undisturbed run.
func (e *Everywhere) Begin(ctx context.Context, w *World) error {
	v, err := w.See(ctx, e.Start, e.Operator)
	if err == nil {
		err = e.examine(w, v)
	}
	e.whole, e.plan = v, w.Commits()
	return errors.Join(err, w.Close())
}

// Whole is the undisturbed run.
func (e *Everywhere) Whole() *run.View { return e.whole }

// Places are where the process can die, after [Everywhere.Begin]: before and after
// each of the run's commits.
func (e *Everywhere) Places() []Crash {
	var places []Crash
	for i := range e.plan {
		places = append(places, Crash{Commit: i + 1, Before: true}, Crash{Commit: i + 1})
	}
	return places
}

// Name says in words where a place is.
func (e *Everywhere) Name(c Crash) string {
	word := "after"
	if c.Before {
		word = "before"
	}
	return fmt.Sprintf("%s commit %d (%s)", word, c.Commit, e.plan[c.Commit-1])
}

// Try lets the process die there, sees the run to its end, and compares. What it
// found is the error.
func (e *Everywhere) Try(ctx context.Context, w *World, c Crash) error {
	w.CrashAt(c)
	v, err := w.See(ctx, e.Start, e.Operator)
	if err == nil {
		err = errors.Join(e.examine(w, v), e.differ(v))
	}
	if err == nil && w.Armed() {
		err = errors.New("the process did not die: the run took another course, so what it does is not determined by its script")
	}
	return errors.Join(err, w.Close())
}

func (e *Everywhere) examine(w *World, v *run.View) error {
	err := w.Repeated(e.MayRepeat...)
	if e.Check != nil {
		err = errors.Join(err, e.Check(w, v))
	}
	return err
}

// Compare takes the undisturbed run from another one of the same kind, in place of
// [Everywhere.Begin].
func (e *Everywhere) Compare(with *Everywhere) { e.whole, e.plan = with.whole, with.plan }
