// Package run is the durable record of a run: the events of its journal, the
// state that folding them gives, and the snapshot that the API shows.
//
// State = fold(events), a pure function; nothing else changes a state. A root
// run and everything that it nests are one journal, so there is one state per
// root run, with step instances of nested runs under their full instance ids.
//
//   - event.go, event_*.go: the events, one file per family
//   - codec.go: an event is one line of JSON, strictly decoded
//   - state.go, apply.go, apply_step.go: the fold
//   - clock.go, waits.go: how much wall time is left, and what wakes the run
//   - checkpoint.go: a state written down, so that a fold need not begin anew
//   - snapshot.go: the API's form, JSON names and all
//   - recover.go: what marks the work of a dead owner as suspended
package run
