// Package culmtest tests workflows, and the tools and programs around them, without
// waiting, without a network, and through every crash.
//
// An [Env] holds an engine on a store in memory, in a time of its own, with tools
// that do what a script says:
//
//	func TestOrder(t *testing.T) {
//		env := culmtest.New(t, nil)
//		env.Script("charge", tool.Write, culmtest.Returns("receipt 9").Taking(time.Minute))
//		v := env.Run(culm.Start{Workflow: order})
//		env.WantStatus(v, run.StatusSucceeded)
//		env.WantOnce("charge")
//	}
//
// Time stands still while anything is at work. [Env.Run], [Env.Wait] and [Env.Do]
// let it jump to whatever is due next, so that an hour passes at once; nothing
// depends on how fast the machine is. Calls that end at the same time do so in the
// order of their steps.
//
// [Env.CrashAfter] and [Env.CrashBefore] let the process die at an event of the
// journal, as a kill would; [CrashEverywhere] does so at every event in turn.
//
// An Env is for one goroutine at a time, and is closed when its test ends. Tests
// with an Env each may run in parallel.
package culmtest
