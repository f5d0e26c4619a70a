package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

// oneCall is a run of one step s. %s is its tool, then more of its fields.
const oneCall = "workflow_schema: 1\nid: one\nrevision: 1\nsteps:\n  - {id: s, type: tool, tool: %s%s}\n"

const (
	grace   = 10 * time.Second // the engine's default
	timeout = 50 * time.Millisecond
)

// cell is a row of the table of outcomes: what the call does, and what that
// comes to for calls that may be repeated, and for writes.
type cell struct {
	name   string
	does   func(s *script) behaviour
	fields string // of the step
	cancel bool   // the run is cancelled while the call is in flight
	wait   time.Duration

	harmless, write outcome
}

// outcome is what is true of step s when all came to rest.
type outcome struct {
	run       run.Status
	step      run.StepStatus
	doubt     bool
	code      run.Code
	retryable bool
	done      bool // effect_done
}

var (
	failedPlain = outcome{run: run.StatusFailed, step: run.StatusStepFailed, code: run.ExecutionFailed}
	timedOut    = outcome{run: run.StatusFailed, step: run.StatusStepFailed, code: run.TimedOut, retryable: true}
	unknown     = outcome{run: run.StatusSuspended, step: run.StatusStepSuspended, doubt: true, code: run.OutcomeUnknown}
	succeeded   = outcome{run: run.StatusSucceeded, step: run.StatusStepSucceeded}
	badOutput   = outcome{run: run.StatusFailed, step: run.StatusStepFailed, code: run.InvalidOutput, done: true}
	cancelled   = outcome{run: run.StatusCancelled, step: run.StatusStepCancelled}
	lost        = outcome{run: run.StatusCancelled, step: run.StatusStepCancelled, doubt: true}
)

func always(b behaviour) func(*script) behaviour { return func(*script) behaviour { return b } }

func outcomeTable() []cell {
	limited := fmt.Sprintf(", timeout_ms: %d", timeout.Milliseconds())
	definitely := outcome{run: run.StatusFailed, step: run.StatusStepFailed, code: run.ExecutionFailed}
	again := definitely
	again.retryable = true
	cancelledFailed, cancelledDone := definitely, succeeded
	cancelledFailed.run, cancelledDone.run = run.StatusCancelled, run.StatusCancelled
	return []cell{
		{name: "plain error", does: always(fails(errPlain)), harmless: failedPlain, write: unknown},
		{name: "wrapped plain error", does: always(fails(fmt.Errorf("post: %w", errPlain))), harmless: failedPlain, write: unknown},
		{name: "panic", does: always(panics), harmless: failedPlain, write: unknown},
		{name: "timeout", does: always(untilCancelled(nil)), fields: limited, wait: time.Second, harmless: timedOut, write: unknown},
		{name: "plain error after timeout", does: always(untilCancelled(fails(errPlain))), fields: limited, wait: time.Second, harmless: timedOut, write: unknown},
		{name: "context error after cancel", does: always(untilCancelled(nil)), cancel: true, harmless: cancelled, write: lost},
		{name: "plain error after cancel", does: always(untilCancelled(fails(errPlain))), cancel: true, harmless: cancelled, write: lost},
		{name: "panic after cancel", does: always(untilCancelled(panics)), cancel: true, harmless: cancelled, write: lost},
		{name: "failed, retryable", does: always(definite(true)), harmless: again, write: again},
		{name: "failed, not retryable", does: always(definite(false)), harmless: definitely, write: definitely},
		{name: "failed, wrapped", does: always(fails(fmt.Errorf("deploy: %w", tool.Failed("", true, "said no")))), harmless: again, write: again},
		{name: "failed in the grace of a cancel", does: always(untilCancelled(definite(false))), cancel: true, harmless: cancelledFailed, write: cancelledFailed},
		{name: "failed in the grace of a timeout", does: always(untilCancelled(definite(false))), fields: limited, wait: time.Second, harmless: definitely, write: definitely},
		{name: "success in the grace of a cancel", does: always(untilCancelled(gives(`1`))), cancel: true, harmless: cancelledDone, write: cancelledDone},
		{name: "success in the grace of a timeout", does: always(untilCancelled(gives(`1`))), fields: limited, wait: time.Second, harmless: succeeded, write: succeeded},
		{name: "invalid output", does: always(gives(`"text"`)), fields: ", output_schema: {type: integer}", harmless: badOutput, write: badOutput},
		{name: "output that is no JSON", does: always(gives(`{"a":`)), harmless: badOutput, write: badOutput},
		{name: "ignores its timeout", does: func(s *script) behaviour { return deaf(s.gate(), fails(errPlain)) }, fields: limited, wait: grace + time.Second, harmless: timedOut, write: unknown},
		{name: "ignores its cancel", does: func(s *script) behaviour { return deaf(s.gate(), fails(errPlain)) }, cancel: true, wait: grace, harmless: cancelled, write: lost},
		{name: "unknown is no error to continue with", does: always(fails(errPlain)), fields: ", failure: continue_with_error",
			harmless: outcome{run: run.StatusSucceeded, step: run.StatusStepFailed, code: run.ExecutionFailed}, write: unknown},
	}
}

func TestOutcomesOfCalls(t *testing.T) {
	t.Parallel()
	for _, c := range outcomeTable() {
		for _, effect := range []string{"read", "idem", "write"} {
			t.Run(effect+"/"+c.name, func(t *testing.T) {
				on := onWorlds
				if effect == "idem" { // which is no different from read
					on = onMemory
				}
				on(t, func(t *testing.T, w *world) { c.check(t, w, effect) })
			})
		}
	}
}

func (c cell) check(t *testing.T, w *world, effect string) {
	s := newScript()
	s.on("s", c.does(s))
	p := w.process(s)
	id := p.start(fmt.Sprintf(oneCall, effect, c.fields))
	if c.cancel {
		if _, err := p.Cancel(t.Context(), id, engine.CancelOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
	}
	pass(c.wait)
	want := c.harmless
	if effect == "write" {
		want = c.write
	}
	v := w.status(id, want.run)
	st := step(t, v, "s", want.step, want.doubt)
	got := outcome{run: v.Status, step: st.Status, doubt: st.InDoubt}
	if st.Failure != nil {
		got.code, got.retryable, got.done = st.Failure.Code, st.Failure.Retryable, st.Failure.EffectDone
	}
	if got != want {
		t.Errorf("outcome %+v, want %+v (failure %v)", got, want, st.Failure)
	}
	if calls := s.called(); len(calls) != 1 || st.Attempts != 1 {
		t.Errorf("called %v in %d attempts, want one call", calls, st.Attempts)
	}
	if want.run == run.StatusSuspended && v.Suspension.Kind != run.KindInDoubt {
		t.Errorf("suspended as %s", v.Suspension.Kind)
	}
	w.listsDoubt(id, want.doubt)
}

// Sixty-four MiB are enough for one test.
func TestOutcomeOfATooLargeOutput(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		large := cell{harmless: badOutput, write: badOutput, does: always(func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Output: append(append([]byte{'"'}, bytes.Repeat([]byte{'x'}, 64<<20)...), '"')}, nil
		})}
		large.check(t, w, "write")
	})
}

// listsDoubt fails the test unless listings with the filter show the run, or not.
func (w *world) listsDoubt(id string, want bool) {
	w.t.Helper()
	if got := w.inDoubtRuns(); strings.Contains(got, id) != want {
		w.t.Errorf("runs in doubt are %q; should it list %s: %v", got, id, want)
	}
}

// An output that was rejected is kept: it says what was done.
func TestRejectedOutputIsEvidence(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		small, large := `"ticket 17"`, `"`+strings.Repeat("t", run.InlineLimit)+`"`
		for _, output := range []string{small, large} {
			s := newScript().on("s", gives(output))
			id := w.process(s).start(fmt.Sprintf(oneCall, "write", ", output_schema: {type: integer}"))
			var evidence string
			for _, ev := range w.filled(id) {
				if f, ok := ev.Body.(*run.StepFailed); ok {
					evidence = string(f.Evidence)
				}
			}
			if evidence != output {
				t.Errorf("evidence %.40q, want %.40q", evidence, output)
			}
		}
	})
}

func TestTextThatIsOneDocumentCountsAsItsValue(t *testing.T) {
	onMemory(t, func(t *testing.T, w *world) {
		s := newScript().on("s", func(context.Context, tool.Call) (tool.Result, error) { return tool.Text(` {"n": 1} `), nil })
		p := w.process(s)
		typed := w.status(p.start(fmt.Sprintf(oneCall, "read", ", output_schema: {type: object}")), run.StatusSucceeded)
		plain := w.status(p.start(fmt.Sprintf(oneCall, "read", "")), run.StatusSucceeded)
		if string(typed.Output) != `{"n":1}` || string(plain.Output) != `" {\"n\": 1} "` {
			t.Errorf("outputs %s and %s", typed.Output, plain.Output)
		}
	})
}
