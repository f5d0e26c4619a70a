package cases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/rehearsal"
	"github.com/culm-dev/culm/tool"
)

// Result is what came of a case.
type Result struct {
	Name string
	// Problems are what is other than expected, a text of one or more lines each;
	// none if the case is right.
	Problems []string
	// Passed is the time that passed for the run; of many, the undisturbed one.
	Passed time.Duration
	// Crashes is at how many places the process died.
	Crashes int
}

// OK reports whether everything was as expected.
func (r Result) OK() bool { return len(r.Problems) == 0 }

func (r *Result) add(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// Run runs a case of the file. Tools that are called for real may touch the
// workspace, an absolute path.
func (f *File) Run(ctx context.Context, c *Case, workspace string) Result {
	r := Result{Name: c.Name}
	if c.crash.everywhere {
		f.runEverywhere(ctx, c, workspace, &r)
		return r
	}
	w := f.world(c, workspace)
	began := w.Clock().Now()
	if c.crash.at != nil {
		w.CrashAt(*c.crash.at)
	}
	o := &rehearsal.Operator{Verdicts: c.verdicts}
	v, err := w.See(ctx, f.start(c), o)
	r.Passed = w.Clock().Now().Sub(began)
	f.judge(c, w, v, err, &r)
	if w.Armed() {
		r.add("crash: the process was to die at an event that never came")
	} else if c.crash.at != nil {
		r.Crashes = 1
	}
	if v != nil {
		r.unused(o)
	}
	if err := w.Close(); err != nil {
		r.add("close: %v", err)
	}
	return r
}

// world is a fresh one for the case.
func (f *File) world(c *Case, workspace string) *rehearsal.World {
	cfg := culm.Config{Workspace: workspace}
	scripts := map[string]*rehearsal.Script{}
	for _, t := range f.tools {
		if name := t.Spec().Name; slices.Contains(c.real, name) {
			cfg.Tools = append(cfg.Tools, t)
		} else {
			scripts[name] = rehearsal.Like(t, c.replies(name)...)
		}
	}
	for name, effect := range f.effects {
		scripts[name] = rehearsal.NewScript(tool.Spec{Name: name, Effect: effect}, c.replies(name)...)
	}
	w := rehearsal.New(cfg, c.begin)
	for _, s := range scripts {
		for _, step := range c.steps {
			s.On(step.name, step.replies...)
		}
		w.Add(s)
	}
	if c.authority != nil {
		w.Authorize(*c.authority)
	}
	return w
}

func (c *Case) replies(name string) []rehearsal.Reply {
	for _, s := range c.tools {
		if s.name == name {
			return s.replies
		}
	}
	return nil
}

func (f *File) start(c *Case) culm.Start {
	return culm.Start{Program: f.Program, Args: c.args}
}

// runEverywhere lets the process die everywhere, once each.
func (f *File) runEverywhere(ctx context.Context, c *Case, workspace string, r *Result) {
	o := &rehearsal.Operator{Knows: true, Verdicts: c.verdicts}
	all := &rehearsal.Everywhere{Start: f.start(c), MayRepeat: c.mayRepeat, Operator: o}
	whole := f.world(c, workspace)
	began := whole.Clock().Now()
	err := all.Begin(ctx, whole)
	r.Passed = whole.Clock().Now().Sub(began)
	f.judge(c, whole, all.Whole(), err, r)
	if !r.OK() || all.Whole() == nil {
		return
	}
	for _, place := range all.Places() {
		w := f.world(c, workspace)
		err := all.Try(ctx, w, place)
		for _, what := range w.Unscripted() {
			err = errors.Join(err, errors.New(unscripted(what)))
		}
		if err != nil {
			r.add("died %s:\n%v", all.Name(place), err)
		}
		r.Crashes++
	}
	r.unused(o)
}

// unused says which verdicts nobody asked for.
func (r *Result) unused(o *rehearsal.Operator) {
	for _, step := range o.Unused() {
		r.add("resolve: nobody asked about step %s: it was never in doubt", step)
	}
}
