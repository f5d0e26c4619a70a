package formats_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/testkit/checker"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/test/formats/sample"
)

// goOn is what is done with a run that has not ended, and how it ends.
type goOn struct {
	run     string
	resolve map[string]culm.Resolution // by step
	cancel  bool
	failed  bool // the verdict has failed it: nothing is left to be continued
	late    bool // its wall time is over, and it needs more
	end     run.Status
	code    run.Code // of its failure
}

func ways() []goOn {
	happened := culm.Resolution{Verdict: run.VerdictSucceeded, Output: json.RawMessage(`"somebody looked"`)}
	didNot := culm.Resolution{Verdict: run.VerdictFailed, Message: "it was not charged"}
	again := culm.Resolution{Verdict: run.VerdictRerun}
	return []goOn{
		{run: sample.Doubtful, resolve: map[string]culm.Resolution{"charge": happened}, end: run.StatusSucceeded},
		{run: sample.Long, resolve: map[string]culm.Resolution{"charge": again}, end: run.StatusSucceeded},
		{run: sample.Recovered, resolve: map[string]culm.Resolution{"halt": didNot}, failed: true, end: run.StatusFailed, code: run.ExecutionFailed},
		{run: sample.Answered, resolve: map[string]culm.Resolution{"halt": again}, late: true, end: run.StatusSucceeded},
		{run: sample.Asleep, late: true, end: run.StatusSucceeded},
		{run: sample.Abandoned, late: true, end: run.StatusSucceeded},
		{run: sample.Withdrawn, end: run.StatusCancelled},
		{run: sample.Killed, cancel: true, end: run.StatusCancelled},
	}
}

// What has not ended goes on to its end, and is what it was up to there.
func TestRunsGoOn(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(c *copied) {
		before := c.journals()
		e := c.engine()
		id := ids(c.T, e)
		c.recovers(e)
		for _, way := range ways() {
			way.see(c.T, e, id[way.run], culm.ContinueOptions{})
		}
		after := c.journals()
		for _, b := range before {
			i := slices.IndexFunc(after, func(a checker.Journal) bool { return a.Run == b.Run })
			if i < 0 {
				c.Errorf("run %s is gone", b.Run)
				continue
			}
			for _, f := range checker.Extends(b, after[i]) {
				c.Error(f)
			}
		}
		c.check()
	})
}

// recovers checks that every run whose owner is gone is recovered.
func (c *copied) recovers(e *culm.Engine) {
	c.Helper()
	page, err := e.List(c.Context(), store.Query{Status: []string{string(run.StatusRunning)}, Limit: 1000})
	if err != nil {
		c.Fatal(err)
	}
	var want, got []string
	for _, r := range page.Runs {
		want = append(want, r.RunID)
	}
	all, err := e.Recover(c.Context())
	for _, r := range all {
		if r.View == nil || r.View.Status != run.StatusSuspended {
			c.Errorf("recovered %+v", r)
		}
		got = append(got, r.RunID)
	}
	slices.Sort(want)
	slices.Sort(got)
	if err != nil || len(want) == 0 || !slices.Equal(got, want) {
		c.Fatalf("recovered %v, %v, want %v", got, err, want)
	}
}

// see sees a run to its end.
func (way goOn) see(t *testing.T, e *culm.Engine, id string, opts culm.ContinueOptions) {
	t.Helper()
	for step, verdict := range way.resolve {
		if _, err := e.Resolve(t.Context(), id, step, verdict); err != nil {
			t.Errorf("resolve %s of %s: %v", step, way.run, err)
		}
	}
	if way.late {
		if _, err := e.Continue(t.Context(), id, opts); !refused(err, culm.CodeDeadlinePassed) {
			t.Errorf("continue %s: %v", way.run, err)
		}
		opts.Extend = time.Hour
	}
	switch {
	case way.failed:
	case way.cancel:
		if _, err := e.Cancel(t.Context(), id, culm.CancelOptions{}); err != nil {
			t.Errorf("cancel %s: %v", way.run, err)
		}
	default:
		if _, err := e.Continue(t.Context(), id, opts); err != nil {
			t.Errorf("continue %s: %v", way.run, err)
		}
	}
	v, err := e.Wait(t.Context(), id)
	switch {
	case err != nil:
		t.Errorf("wait for %s: %v", way.run, err)
	case v.Status != way.end:
		t.Errorf("run %s is %s, want %s: failure %v, steps %v", way.run, v.Status, way.end, v.Failure, v.Steps)
	case way.code != "" && v.Failure.Code != way.code:
		t.Errorf("run %s failed with %v, want %s", way.run, v.Failure, way.code)
	}
}

func refused(err error, code string) bool {
	var e *culm.Error
	return errors.As(err, &e) && e.Code == code
}

// The verdict that waited for a dead owner is what the run goes on with.
func TestMailIsRead(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(c *copied) {
		e := c.engine()
		id := ids(c.T, e)[sample.Answered]
		if _, err := e.RecoverRun(c.Context(), id); err != nil {
			c.Fatal(err)
		}
		for _, way := range ways() {
			if way.run == sample.Answered {
				way.see(c.T, e, id, culm.ContinueOptions{})
			}
		}
		v, err := e.Progress(c.Context(), id, culm.ProgressOptions{Values: true})
		if err != nil || string(v.Output) != `"charged after all"` {
			c.Errorf("its output is %s, %v", v.Output, err)
		}
	})
}

// What has ended stays so, and is begun anew.
func TestEndedRunsAreRestarted(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(c *copied) {
		e := c.engine()
		id := ids(c.T, e)
		for _, name := range []string{sample.Complete, sample.Failed, sample.Restarted, sample.Cancelled, sample.Resolved} {
			_, err := e.Continue(c.Context(), id[name], culm.ContinueOptions{Session: culm.AnySession})
			if !refused(err, culm.CodeTerminal) {
				c.Errorf("continue %s: %v", name, err)
			}
		}
		for _, from := range []string{"", "work"} {
			v, err := e.Restart(c.Context(), id[sample.Failed], culm.RestartOptions{From: from})
			if err != nil {
				c.Fatal(err)
			}
			v, err = e.Wait(c.Context(), v.RunID)
			if err != nil || v.Status != run.StatusSucceeded || (v.Steps["first"].AdoptedFrom != "") != (from != "") {
				c.Errorf("restarted from %q: %s, %v, %v", from, v.Status, v.Failure, err)
			}
		}
		c.check()
	})
}

// A start that is repeated under its key leads to the run that it started.
func TestKeysAreKnown(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(c *copied) {
		e := c.engine()
		s, err := sample.Start(sample.Complete)
		if err != nil {
			c.Fatal(err)
		}
		v, err := e.Start(c.Context(), s)
		if err != nil || !v.Repeated || v.RunID != ids(c.T, e)[sample.Complete] {
			c.Errorf("started again: %+v, %v", v, err)
		}
		s.Args = json.RawMessage(`{"words": []}`)
		if _, err := e.Start(c.Context(), s); !refused(err, culm.CodeKeyConflict) {
			c.Errorf("another start under that key: %v", err)
		}
	})
}
