package culmtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/culmtest"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

var order = culm.Start{Workflow: []byte(`
workflow_schema: 1
id: order
revision: 1
steps:
  - {id: pay, type: tool, tool: charge, args: {amount: 30}}
  - {id: pause, type: sleep, duration_ms: 3600000}
  - {id: send, type: tool, tool: ship}
plan: [{retry: pay, attempts: 3, delay_ms: 60000}, pause, send]
`)}

// shop scripts what the tools of an order do.
func shop(env *culmtest.Env) {
	env.Script("charge", tool.Write, culmtest.Returns("receipt 9"))
	env.Script("ship", tool.Write, culmtest.Returns("parcel 4").Taking(time.Minute))
}

// t is the *testing.T of your test; here it is one that prints.
var t = &printer{}

// The engine, its store and its time are in memory; tools do what the test says.
func Example() {
	// func TestOrder(t *testing.T) {
	env := culmtest.New(t, nil)
	env.Script("charge", tool.Write,
		culmtest.Fails("execution_failed", true, "the bank is closed"), // the first call
		culmtest.Returns("receipt 9"),                                  // and all further ones
	)
	env.Script("ship", tool.Write, culmtest.Returns("parcel 4"))

	began := env.Now()
	v := env.Run(order)
	env.WantOutput(v, "parcel 4")
	env.WantOrder("pay", "pay", "send")
	env.WantOnce("charge", "ship")
	fmt.Println(env.Now().Sub(began))
	// Output: 1h1m0s
}

// The process dies right before it records that the charge was made. Nothing
// repeats it: the step is in doubt, until somebody who looked says what is true.
func ExampleEnv_CrashBefore() {
	env := culmtest.New(t, nil)
	shop(env)
	env.CrashBefore(culmtest.Event{Type: run.TypeStepCompleted, Step: "pay"})
	v := env.Run(order)

	env.Recover()
	env.WantInDoubt(env.View(v.RunID), "pay")
	env.ResolveDone(v.RunID, "pay", "receipt 9")
	env.Continue(v.RunID, culm.ContinueOptions{})
	v = env.Wait(v.RunID)
	env.WantStatus(v, run.StatusSucceeded)
	env.WantCalls("charge", 1)
	fmt.Println(v.Status)
	// Output: succeeded
}

// One test for every crash that there can be.
func ExampleCrashEverywhere() {
	_ = func(t *testing.T) {
		culmtest.CrashEverywhere(t, order, shop, nil)
	}
}

// A gate holds a call back, so that a test can look at the run meanwhile.
func ExampleGate() {
	env := culmtest.New(t, nil)
	shop(env)
	bank := culmtest.NewGate()
	env.Script("charge", tool.Write, culmtest.Returns("receipt 9").Until(bank))

	v := env.Start(order)
	env.Settle()
	fmt.Println(env.View(v.RunID).Steps["pay"].Status)
	bank.Open()
	fmt.Println(env.Wait(v.RunID).Status)
	// Output:
	// running
	// succeeded
}

// When a test fails, it says what happened.
func ExampleEnv_WantStatus() {
	env := culmtest.New(t, nil)
	shop(env)
	env.Script("ship", tool.Write, culmtest.Fails("rejected", false, "no such address"))
	env.WantStatus(env.Run(order), run.StatusSucceeded)
	// Output:
	// run order is failed (rejected), want succeeded
	//   failure: no such address
	//   its journal:
	//       1 run_queued
	//       2 run_started
	//       3 step_started pay
	//       4 step_completed pay
	//       5 step_started pause
	//       6 wait_set pause
	//       7 step_completed pause
	//       8 step_started send
	//       9 step_failed send: rejected: no such address
	//      10 run_failed
}
