package rehearsal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/rehearsal"
	"github.com/culm-dev/culm/internal/testkit/randdef"
	"github.com/culm-dev/culm/internal/testkit/reference"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// working is a world with the tool that random definitions call, as one that
// writes, and takes its time.
func working(takes time.Duration) *rehearsal.World {
	w := rehearsal.New(culm.Config{}, time.Time{})
	w.Add(rehearsal.NewScript(tool.Spec{Name: randdef.ToolName, Effect: tool.Write}, rehearsal.Reply{
		Takes: takes,
		Do: func(_ context.Context, c tool.Call) (tool.Result, error) {
			args, err := canon.Decode(c.Args)
			if err != nil {
				return tool.Result{}, err
			}
			out, failure := randdef.Behave(reference.Call{Step: c.StepID, Tool: randdef.ToolName, Args: args, Failures: failures(w, c.StepID)})
			if failure != nil {
				return tool.Result{}, tool.Failed(failure.Code, failure.Retryable, failure.Message)
			}
			raw, err := canon.Encode(out)
			return tool.Result{Output: raw}, err
		},
	}))
	return w
}

// failures counts how often a step has failed as far as is recorded.
func failures(w *rehearsal.World, step string) (n int) {
	for _, c := range w.Commits() {
		for _, ev := range c.Events {
			if f, ok := ev.Body.(*run.StepFailed); ok && ev.StepID == step && f.Failure.Code == run.ExecutionFailed {
				n++
			}
		}
	}
	return n
}

// anyStart is a random workflow, with arguments for it.
func anyStart(t *rapid.T, cfg randdef.Config) culm.Start {
	c := randdef.Cases(cfg).Draw(t, "case")
	p, err := workflow.CompileBundle(c.Bundle, nil)
	if err != nil {
		t.Fatal(err)
	}
	args, err := canon.Encode(c.Args)
	if err != nil {
		t.Fatal(err)
	}
	return culm.Start{Program: p, Args: json.RawMessage(args)}
}

// repeats reports whether an author lets steps be entered again although nobody
// knows of them.
func repeats(p *workflow.Program) bool {
	for _, w := range p.Workflows {
		for i := range w.Def.Steps {
			if w.Def.Steps[i].OnUnknown == workflow.OnUnknownRerun {
				return true
			}
		}
	}
	return false
}

// Any run is the same each time, with many calls at once: its events, their order
// and their times.
func TestAnyRunIsDetermined(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		start := anyStart(t, randdef.Config{Concurrency: 4})
		takes := time.Duration(rapid.IntRange(0, 2).Draw(t, "seconds")) * time.Second
		var first string
		for range 2 {
			w := working(takes)
			v, err := w.Start(t.Context(), start)
			if err == nil {
				v, err = w.Operate(t.Context(), v.RunID, &rehearsal.Operator{Knows: true})
			}
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, c := range w.Commits() {
				for _, ev := range c.Events {
					lines = append(lines, fmt.Sprint(ev.At, ev.Type, ev.StepID))
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if n := w.Clock().AtWork(); n != 0 {
				t.Fatalf("after the end, %d are at work", n)
			}
			got := strings.Join(append(lines, rehearsal.Status(v)), "\n")
			if first != "" && first != got {
				t.Fatal(cmp.Diff(first, got))
			}
			first = got
		}
	})
}

// Any run whose result does not depend on the order of things comes to its end as
// it does undisturbed, wherever its process dies, and writes nothing twice.
func TestAnyRunDiesAnywhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		start := anyStart(t, randdef.Config{Calm: true, Concurrency: 1 + 3*int64(rapid.IntRange(0, 1).Draw(t, "slots"))})
		takes := time.Duration(rapid.IntRange(0, 2).Draw(t, "seconds")) * time.Second
		all := rehearsal.Everywhere{Start: start, Operator: &rehearsal.Operator{Knows: true}}
		if repeats(start.Program) {
			all.MayRepeat = []string{randdef.ToolName}
		}
		if err := all.Begin(t.Context(), working(takes)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			place := rapid.SampledFrom(all.Places()).Draw(t, "place")
			w := working(takes)
			if err := all.Try(t.Context(), w, place); err != nil {
				t.Fatalf("%s: %v", all.Name(place), err)
			}
			if n := w.Clock().AtWork(); n != 0 {
				t.Fatalf("%s: after the end, %d are at work", all.Name(place), n)
			}
		}
	})
}
