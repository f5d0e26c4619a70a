// Package rehearsal runs workflows for trial: with tools that do what a script
// says, on a store in memory, in a time that passes only when nothing else can
// happen, and with processes that die at any point of it.
//
//   - clock.go gate.go: the time, and what waits for more than time
//   - reply.go script.go call.go: scripted tools, and what was called
//   - world.go process.go: what is durable, and the process that works on it
//   - crash.go: where a process dies
//   - everywhere.go operator.go verdict.go: a run that dies everywhere, once each
//
// It is the ground on which package culmtest and culm test stand.
package rehearsal
