package engine_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

// doubtful starts a run whose only step is in doubt.
func doubtful(w *world, fields string) (*process, string) {
	p := w.process(newScript().on("s", times(fails(errPlain), gives(`2`))))
	id := p.start(fmt.Sprintf(oneCall, "write", fields))
	w.suspended(id, run.KindInDoubt)
	return p, id
}

func TestResolveRefusals(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p, id := doubtful(w, ", output_schema: {type: integer}")
		done := p.start(fmt.Sprintf(oneCall, "read", ""))
		before := w.dump()
		big := append(append([]byte{'"'}, make([]byte, 1<<20)...), '"')
		for i := range big[1 : len(big)-1] {
			big[i+1] = 'x'
		}
		cases := []struct {
			run, step string
			r         engine.Resolution
			code      string
		}{
			{id, "s", engine.Resolution{Verdict: run.VerdictSucceeded, Output: []byte(`"text"`)}, engine.CodeInvalidOutput},
			{id, "s", engine.Resolution{Verdict: run.VerdictSucceeded, Output: []byte(`{`)}, engine.CodeInvalidOutput},
			{id, "s", engine.Resolution{Verdict: run.VerdictSucceeded}, engine.CodeInvalidOutput},
			{id, "s", engine.Resolution{Verdict: run.VerdictSucceeded, Output: big}, engine.CodeTooLarge},
			{id, "s", engine.Resolution{Verdict: "maybe"}, engine.CodeInvalidInput},
			{id, "ss", engine.Resolution{Verdict: run.VerdictRerun}, engine.CodeStepNotFound},
			{id, "s", engine.Resolution{Verdict: run.VerdictRerun, Session: "another"}, engine.CodeNotFound},
			{done, "s", engine.Resolution{Verdict: run.VerdictRerun}, engine.CodeTerminal},
			{"none", "s", engine.Resolution{Verdict: run.VerdictRerun}, engine.CodeNotFound},
		}
		for _, c := range cases {
			_, err := p.Resolve(t.Context(), c.run, c.step, c.r)
			refused(t, err, c.code)
		}
		w.unchanged(before)
	})
}

func TestResolveOnlyInDoubt(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		s.on("suffix", deaf(s.gate(), gives(`1`)))
		p := w.process(s)
		id := p.start(prefixSuffix, func(s *engine.Start) { s.Args = []byte(`{"n":7}`) })
		for _, step := range []string{"prefix", "suffix"} {
			_, err := p.Resolve(t.Context(), id, step, engine.Resolution{Verdict: run.VerdictFailed})
			refused(t, err, engine.CodeNotInDoubt)
		}
	})
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		r      engine.Resolution
		status run.Status
		output string
		calls  int
	}{
		{"succeeded", engine.Resolution{Verdict: run.VerdictSucceeded, Output: []byte(`1`)}, run.StatusSucceeded, `1`, 1},
		{"large output", engine.Resolution{Verdict: run.VerdictSucceeded, Output: []byte(`"` + strings.Repeat("y", 9000) + `"`)}, run.StatusSucceeded, `"` + strings.Repeat("y", 9000) + `"`, 1},
		{"failed", engine.Resolution{Verdict: run.VerdictFailed, Message: "it did not"}, run.StatusFailed, "", 1},
		{"rerun", engine.Resolution{Verdict: run.VerdictRerun}, run.StatusSucceeded, `2`, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				p, id := doubtful(w, "")
				q := w.process(p.script, func(cfg *engine.Config) { cfg.By = "ann" })
				rc, err := q.Resolve(t.Context(), id, "s", c.r)
				if err != nil {
					t.Fatal(err)
				}
				if want := c.status == run.StatusSucceeded; rc.Continue != want || rc.Live {
					t.Errorf("receipt %+v", rc)
				}
				if v := w.resolved(id); v == nil || v.By != "ann" {
					t.Errorf("verdict %+v", v)
				}
				if rc.Continue {
					p.resume(id, engine.ContinueOptions{})
				}
				v := w.status(id, c.status)
				if string(v.Output) != c.output || len(p.script.called()) != c.calls {
					t.Errorf("output %.50s after %d calls", v.Output, len(p.script.called()))
				}
				keys := p.script.made()
				if first, last := keys[0], keys[len(keys)-1]; first.IdempotencyKey != last.IdempotencyKey || last.Attempt != c.calls {
					t.Errorf("calls %+v", keys)
				}
				if c.status == run.StatusFailed && v.Failure.Message != "it did not" {
					t.Errorf("failure %v", v.Failure)
				}
			})
		})
	}
}

func TestASecondVerdict(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p, id := doubtful(w, "")
		verdict := engine.Resolution{Verdict: run.VerdictSucceeded, Output: []byte(`{"b":1,"a":2}`)}
		if _, err := p.Resolve(t.Context(), id, "s", verdict); err != nil {
			t.Fatal(err)
		}
		before := w.dump()
		verdict.Output = []byte(`{"a":2, "b":1}`) // the same value
		if rc, err := p.Resolve(t.Context(), id, "s", verdict); err != nil || !rc.Continue {
			t.Errorf("the same verdict again: %+v, %v", rc, err)
		}
		for _, other := range []engine.Resolution{
			{Verdict: run.VerdictSucceeded, Output: []byte(`1`)}, {Verdict: run.VerdictFailed}, {Verdict: run.VerdictRerun},
		} {
			_, err := p.Resolve(t.Context(), id, "s", other)
			refused(t, err, engine.CodeAlreadyDecided)
		}
		w.unchanged(before)
	})
}

func TestStillRunningHoldsAVerdictBack(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		_, id := doubtful(w, "")
		dir := filepath.Join(t.TempDir(), "locks")
		q := w.process(newScript(), func(c *engine.Config) { c.LockDir = dir })
		lock := w.lockStep(dir, id, "s")
		before := w.dump()
		for _, v := range []run.Verdict{run.VerdictSucceeded, run.VerdictFailed, run.VerdictRerun} {
			_, err := q.Resolve(t.Context(), id, "s", engine.Resolution{Verdict: v})
			refused(t, err, engine.CodeStillRunning)
		}
		w.unchanged(before)
		if _, err := q.Resolve(t.Context(), id, "s", engine.Resolution{Verdict: run.VerdictSucceeded, Force: true}); err != nil {
			t.Error(err)
		}
		lock.Close()
	})
}

// held is a run of two branches: pay is in doubt, other is at work until the gate
// opens.
func held(w *world, s *script) (*process, string, *gate) {
	g := s.gate()
	s.on("pay", times(fails(errPlain), gives(`"paid"`))).on("other", deaf(g, gives(`1`)))
	p := w.process(s)
	return p, p.start(payAndOther), g
}

// A verdict of another process reaches the living owner, which acts on it at once.
func TestVerdictThroughALiveOwnersMailbox(t *testing.T) {
	t.Parallel()
	for _, verdict := range []run.Verdict{run.VerdictSucceeded, run.VerdictFailed, run.VerdictRerun} {
		t.Run(string(verdict), func(t *testing.T) {
			onWorlds(t, func(t *testing.T, w *world) {
				s := newScript()
				_, id, g := held(w, s)
				q := w.process(newScript())
				rc, err := q.Resolve(t.Context(), id, "pay", engine.Resolution{Verdict: verdict})
				if err != nil || !rc.Live || rc.Continue {
					t.Fatalf("receipt %+v, %v", rc, err)
				}
				pass(250 * time.Millisecond)
				v := w.view(id)
				if w.resolved(id) == nil || v.Steps["pay"].InDoubt {
					t.Errorf("after 250 ms: %s", w.journal(id))
				}
				_, err = q.Resolve(t.Context(), id, "pay", engine.Resolution{Verdict: run.VerdictSucceeded, Output: []byte(`"other"`)})
				if verdict != run.VerdictRerun { // its second call has ended
					refused(t, err, engine.CodeAlreadyDecided)
				}
				g.open()
				pass(grace)
				want := run.StatusSucceeded
				if verdict == run.VerdictFailed {
					want = run.StatusFailed
				}
				w.status(id, want)
			})
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("other", untilCancelled(nil))
		p := w.process(s)
		id := p.start(payAndOther)
		q := w.process(newScript(), func(c *engine.Config) { c.By = "ann" })
		for range 3 { // idempotent, and of one mind whoever asks
			if rc, err := q.Cancel(t.Context(), id, engine.CancelOptions{}); err != nil || !rc.Live {
				t.Errorf("cancel: %+v, %v", rc, err)
			}
		}
		if _, err := p.Cancel(t.Context(), id, engine.CancelOptions{}); err != nil {
			t.Error(err)
		}
		pass(250 * time.Millisecond)
		v := w.status(id, run.StatusCancelled)
		step(t, v, "other", run.StatusStepCancelled, false)
		if n := count(w.events(id), run.TypeCancelRequested); n != 1 {
			t.Errorf("asked %d times", n)
		}
		before := w.dump()
		if rc, err := q.Cancel(t.Context(), id, engine.CancelOptions{}); err != nil || rc.Continue {
			t.Errorf("cancelling again: %+v, %v", rc, err)
		}
		_, err := q.Cancel(t.Context(), id, engine.CancelOptions{Session: "another"})
		refused(t, err, engine.CodeNotFound)
		w.unchanged(before)
	})
}

// cancelled is durable only after what was in flight returned.
func TestCancelledIsDurableAfterTheCallsReturned(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		g := s.gate()
		s.on("pay", deaf(g, gives(`1`)))
		p := w.process(s)
		id := p.start(payAndOther)
		if _, err := p.Cancel(t.Context(), id, engine.CancelOptions{}); err != nil {
			t.Fatal(err)
		}
		pass(grace - time.Millisecond)
		w.status(id, run.StatusRunning)
		if count(w.events(id), run.TypeCancelRequested) != 1 {
			t.Error("the request is not durable")
		}
		g.open()
		synctest.Wait()
		step(t, w.status(id, run.StatusCancelled), "pay", run.StatusStepSucceeded, false)
	})
}

func TestCancelOfSuspendedAndDeadRuns(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"stopped", "died"} {
		for _, recovered := range []bool{true, false} {
			t.Run(fmt.Sprint(how, recovered), func(t *testing.T) {
				onWorlds(t, func(t *testing.T, w *world) {
					id := offline(w, how)
					q := w.process(newScript())
					if recovered {
						q.recover()
					}
					rc, err := q.Cancel(t.Context(), id, engine.CancelOptions{})
					if err != nil || rc.Live || rc.Continue || len(rc.InDoubt) > 0 {
						t.Errorf("receipt %+v, %v", rc, err)
					}
					w.status(id, run.StatusCancelled)
					if len(q.script.called()) > 0 {
						t.Errorf("called %v", q.script.called())
					}
				})
			})
		}
	}
}

// A request whose owner died before it acted: to continue the run is to cancel it.
func TestContinueOfACancelledRunOnlyCancels(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("pay", untilCancelled(nil))
		p := w.process(s)
		p.dieAfter("cancel_requested")
		id := p.start(payAndOther)
		q := w.process(newScript())
		if _, err := q.Cancel(t.Context(), id, engine.CancelOptions{}); err != nil {
			t.Fatal(err)
		}
		pass(grace)
		q.recover()
		step(t, w.suspended(id, run.KindRecovery), "pay", run.StatusStepSuspended, true)
		q.resume(id, engine.ContinueOptions{Rerun: []tool.Effect{tool.Write}})
		w.cancelledInDoubt(id)
		if len(q.script.called()) > 0 {
			t.Errorf("called %v", q.script.called())
		}
	})
}

// Skips that were still to be recorded when the owner died hold no end up.
func TestCancelWithSkipsStillToBeRecorded(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript().on("a", definite(false)))
		p.dieAfter("a:failed")
		p.start(`
workflow_schema: 1
id: skips
revision: 1
steps: [{id: a, type: tool, tool: write, failure: skip_dependents}, {id: b, type: tool, tool: write}]
`)
		id := w.onlyRun()
		q := w.process(newScript())
		q.recover()
		rc, err := q.Cancel(t.Context(), id, engine.CancelOptions{})
		if err != nil || rc.Continue {
			t.Errorf("receipt %+v, %v", rc, err)
		}
		w.status(id, run.StatusCancelled)
	})
}
