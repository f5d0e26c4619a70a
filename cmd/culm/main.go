// Command culm runs workflows that survive crashes.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/culm-dev/culm/internal/cli"
	"github.com/culm-dev/culm/internal/proc"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == proc.GuardArg {
		os.Exit(proc.GuardMain(os.Args[2:]))
	}
	interrupt := make(chan os.Signal, 2)
	signal.Notify(interrupt, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	executable, _ := os.Executable() // without one, tools run unguarded
	os.Exit(cli.Main{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Env: os.Getenv, Interrupt: interrupt, Executable: executable,
	}.Run(context.Background()))
}
