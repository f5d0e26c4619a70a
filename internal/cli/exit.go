package cli

import (
	"fmt"

	"github.com/culm-dev/culm/run"
)

// Exit statuses. They are part of the interface: see culm --help.
const (
	ExitSucceeded   = 0   // also: the command did what it was asked to
	ExitFailed      = 1   // the run failed, or a case of test
	ExitUsage       = 2   // usage, invalid definition or arguments, unsupported choice
	ExitSuspended   = 3   // the run is suspended, or nobody works on it
	ExitCancelled   = 4   // the run was cancelled
	ExitRefused     = 5   // a precondition does not hold; its code is printed
	ExitStorage     = 6   // the store could not be read or written
	ExitInterrupted = 130 // a second Ctrl-C, or one that had nothing to stop
)

// exit is an error that says nothing more than the exit status: what there was
// to say has been said.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// exitOf is the exit status of a command that followed a run up to here.
func exitOf(v *run.View) error {
	switch v.Status {
	case run.StatusSucceeded:
		return nil
	case run.StatusFailed:
		return exit(ExitFailed)
	case run.StatusCancelled:
		return exit(ExitCancelled)
	default:
		return exit(ExitSuspended)
	}
}
