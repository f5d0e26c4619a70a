package culmtest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/culmtest"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

func TestOrderDiesEverywhere(t *testing.T) {
	t.Parallel()
	ends := 0
	culmtest.CrashEverywhere(t, order, shop, &culmtest.CrashOptions{
		Check: func(env *culmtest.Env, v *run.View) {
			ends++
			env.WantOutput(v, "parcel 4")
			env.WantOnce("charge", "ship")
		},
	})
	if ends < 15 {
		t.Errorf("the run came to an end %d times", ends)
	}
}

func TestFailuresSayWhatHappened(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		test func(t testing.TB)
		want []string
	}{
		"status": {func(t testing.TB) {
			env := culmtest.New(t, nil)
			shop(env)
			env.Script("charge", tool.Write, culmtest.Unknown("connection reset"))
			env.WantStatus(env.Run(order), run.StatusSucceeded)
		}, []string{"run order is suspended, with pay in doubt, want succeeded", "4 step_suspended pay"}},
		"output": {func(t testing.TB) {
			env := culmtest.New(t, nil)
			shop(env)
			env.WantOutput(env.Run(order), map[string]any{"parcel": 4})
		}, []string{`the value: want {"parcel":4}, got "parcel 4"`}},
		"calls": {func(t testing.TB) {
			env := culmtest.New(t, nil)
			shop(env)
			env.Run(order)
			env.WantCalls("charge", 2)
			env.WantOrder("send", "pay")
			env.WantOnce("mail")
			env.WantArgs("pay", map[string]any{"amount": 31})
			env.WantArgs("pause", 1)
		}, []string{
			"tool charge was called 1 times, want 2:\n  step pay, attempt 1, process 1: returned", "called were the steps [pay send], want [send pay]",
			"tool mail was not called", "/amount: want 31, got 30", "step pause called no tool",
		}},
		"steps": {func(t testing.TB) {
			env := culmtest.New(t, nil)
			shop(env)
			v := env.Run(order)
			env.WantStep(v, "pay", run.StatusStepFailed)
			env.WantStep(v, "nothing", run.StatusStepFailed)
			env.WantInDoubt(v, "pay")
			env.WantFailure(v, run.TimedOut)
		}, []string{"step pay is succeeded, want failed", "step nothing was not entered", "in doubt are [], want [pay]", "want failed (timed_out)"}},
		"a gate that nobody opens": {func(t testing.TB) {
			env := culmtest.New(t, nil)
			env.Script("charge", tool.Write, culmtest.Returns(1).Until(culmtest.NewGate()))
			env.Script("ship", tool.Write, culmtest.Returns(1))
			s := order
			s.Workflow = []byte(strings.Replace(string(order.Workflow), "revision: 1", "revision: 1\nbudgets: {wall_time_ms: 1000}", 1))
			env.WantStatus(env.Run(s), run.StatusSucceeded)
		}, []string{"suspended, with pay in doubt"}},
		"a call without a reply": {func(t testing.TB) {
			env := culmtest.New(t, nil)
			shop(env)
			env.Script("ship", tool.Write)
			env.Run(order)
		}, []string{"step send called tool ship, and nothing says what that gives: give its Script a reply"}},
		"a crash that never comes": {func(t testing.TB) {
			env := culmtest.New(t, nil)
			shop(env)
			env.CrashAfter(culmtest.Event{Type: run.TypeStepStarted, Step: "pya"})
			env.Run(order)
		}, []string{"the process was to die at an event that never came"}},
		"a start that is refused": {func(t testing.TB) {
			env := culmtest.New(t, nil)
			env.Run(order)
		}, []string{"start run: tool_missing"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := failing(t, tt.test)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("it does not say %q:\n%s", want, got)
				}
			}
		})
	}
}

// A process that dies after the start of a call never makes the call.
func TestCrashAfterTheStart(t *testing.T) {
	t.Parallel()
	env := culmtest.New(t, nil)
	shop(env)
	env.CrashAfter(culmtest.Event{Type: run.TypeStepStarted, Step: "pay"})
	v := env.Run(order)
	if v.Status != run.StatusRunning || v.Owner == nil || v.Owner.Alive {
		t.Errorf("it is %s, owned by %+v", v.Status, v.Owner)
	}
	env.WantCalls("charge", 0)
	env.Recover()
	env.ResolveRerun(v.RunID, "pay")
	env.Continue(v.RunID, culm.ContinueOptions{})
	env.WantOutput(env.Wait(v.RunID), "parcel 4")
	env.WantOnce("charge", "ship")
}

func TestCrashWhileACallIsMade(t *testing.T) {
	t.Parallel()
	env := culmtest.New(t, nil)
	shop(env)
	v := env.Start(order)
	env.Advance(time.Hour + 30*time.Second)
	env.Crash()
	calls := env.Calls("ship")
	if len(calls) != 1 || calls[0].Outcome != culmtest.Lost || calls[0].Process != 1 {
		t.Errorf("shipped %+v", calls)
	}
	env.WantOutput(env.Operate(v.RunID), "parcel 4")
	if calls = env.Calls("ship"); len(calls) != 2 || calls[1].Process != 2 || calls[0].Key != calls[1].Key {
		t.Errorf("shipped %+v", calls)
	}
}

func TestSleepingRunIsCancelled(t *testing.T) {
	t.Parallel()
	env := culmtest.New(t, nil)
	shop(env)
	began := env.Now()
	v := env.Start(order)
	env.Advance(time.Minute)
	env.WantStep(env.View(v.RunID), "pause", run.StatusStepRunning)
	env.Cancel(v.RunID)
	env.WantStatus(env.Wait(v.RunID), run.StatusCancelled)
	if passed := env.Now().Sub(began); passed != time.Minute {
		t.Errorf("%s have passed", passed)
	}
	env.WantCalls("ship", 0)
}

// A fake takes and gives only what the real tool would.
func TestFakeIsHeldToTheRealToolsSchemas(t *testing.T) {
	t.Parallel()
	real := tool.MustFunc("charge", "Charges somebody.", tool.Write,
		func(context.Context, tool.Call, struct {
			Amount int `json:"amount"`
		}) (string, error) {
			return "", errors.New("this is a real bank")
		})
	env := culmtest.New(t, nil)
	env.Script("ship", tool.Write, culmtest.Returns(1))
	env.Fake(real, culmtest.Returns(9))
	env.WantFailure(env.Run(order), run.InvalidOutput)
	env.WantCalls("charge", 1)
}

// Code that uses an engine is tested as it is, with its real tools.
func TestDo(t *testing.T) {
	t.Parallel()
	charge := tool.MustFunc("charge", "Charges somebody.", tool.Write,
		func(_ context.Context, _ tool.Call, in struct {
			Amount int `json:"amount"`
		}) (int, error) {
			return in.Amount, nil
		})
	env := culmtest.New(t, &culmtest.Options{Config: culm.Config{Tools: []tool.Tool{charge}}})
	env.Script("ship", tool.Write).On("send", culmtest.Returns("parcel 4").Taking(10*time.Minute))
	var v *run.View
	var err error
	env.Do(func() { v, err = env.Engine().Run(t.Context(), order) })
	if err != nil {
		t.Fatal(err)
	}
	env.WantOutput(v, "parcel 4")
	env.WantOnce("charge", "ship")
}

func TestSeveralRunsAtOnce(t *testing.T) {
	t.Parallel()
	env := culmtest.New(t, nil)
	shop(env)
	var ids []string
	for range 20 {
		ids = append(ids, env.Start(order).RunID)
	}
	for _, id := range ids {
		env.WantOutput(env.Wait(id), "parcel 4")
	}
	env.WantOnce("charge", "ship")
}

func TestBeginAndAuthority(t *testing.T) {
	t.Parallel()
	begin := time.Date(2041, 5, 6, 7, 8, 9, 0, time.UTC)
	env := culmtest.New(t, &culmtest.Options{Begin: begin, Config: culm.Config{Authority: run.Authority{Allow: []string{tool.CapRead}}}})
	shop(env)
	if !env.Now().Equal(begin) {
		t.Errorf("it is %s", env.Now())
	}
	if _, err := env.Engine().Start(t.Context(), order); !errors.Is(err, &culm.Error{Code: culm.CodePolicyDenied}) {
		t.Errorf("started: %v", err)
	}
}
