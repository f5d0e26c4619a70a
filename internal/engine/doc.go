// Package engine runs workflows: it owns time, goroutines, budgets and dispatch,
// and asks the kernel what a plan means.
//
// One goroutine per live run (owner.go, loop.go) does, for ever:
//
//	commit the outcomes at hand  ->  apply  ->  commit the starts that fit  ->  dispatch
//
// It alone appends to the run's journal. Everyone else, in this process or
// another, posts to the run's mailbox (mail.go).
//
//   - engine.go, config.go, clock.go, errors.go: what is opened, its time, and how it refuses
//   - start.go, preflight.go: new runs
//   - load.go: a run as the store has it; admit.go: what may be done with it now
//   - continue.go recover.go restart.go resolve.go cancel.go: what people do with runs
//   - owner.go loop.go schedule.go outcome.go call.go: the owner of a live run
//   - values.go env.go: values for templates, read from the journal when needed
//   - view.go list.go subscribe.go: reading
package engine
