package proc

import "golang.org/x/sys/unix"

// States of sys/proc.h.
const (
	sstop = 4
	szomb = 5
)

// Stopped reports whether a process lives and is stopped (SIGSTOP, or a
// debugger); false where the system does not tell.
func Stopped(pid int) bool { return state(pid) == sstop }

// zombie reports whether a process has ended and only waits to be reaped.
func zombie(pid int) bool { return state(pid) == szomb }

// state is a process's P_stat; 0 if the system does not tell.
func state(pid int) int8 {
	if pid <= 0 {
		return 0
	}
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0
	}
	return info.Proc.P_stat
}
