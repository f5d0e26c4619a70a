// Package cli is the command line: one file per command, each a constructor, a
// struct of options and a run function.
//
//   - main.go, root.go: how a command line becomes a command, and an exit status
//   - globals.go, config.go: what flags, environment and culm.yaml say
//   - failure.go, exit.go: errors as people and programs read them
//   - follow.go, display*.go: watching a run while it goes on
//   - advice.go: what to type next
//
// It calls the engine through package culm only, and package app wires that.
package cli
