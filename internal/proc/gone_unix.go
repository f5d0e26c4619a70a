//go:build unix

package proc

import (
	"errors"
	"syscall"
)

// Gone reports that no process of this id runs here: there is none, or one that has
// ended and only waits to be reaped. It says nothing of processes in other pid
// namespaces, such as other containers', and an id may have been given anew.
func Gone(pid int) bool {
	if pid <= 0 {
		return false
	}
	return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid)
}
