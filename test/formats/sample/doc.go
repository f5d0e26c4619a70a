// Package sample makes samples of what Culm keeps: a store, or a folder of exported
// runs, with a run of every kind in it. The samples that are committed below
// testdata were made by it, each by the version of its day, and are never made
// anew: every later version must read them (see docs/formats.md).
//
// Ids, checksums and the order of what happens at once differ from one making to
// the next. Which runs there are, what they are called, how they end and when they
// were made does not.
//
//   - world.go: the tools, the time and the engine in which the runs live
//   - runs.go: the runs, by name
//   - make.go: how a store comes to hold them, over the deaths of two processes
//   - death.go: those deaths
//   - look.go: what a version shows of them
//   - write.go: the folders of samples
package sample
