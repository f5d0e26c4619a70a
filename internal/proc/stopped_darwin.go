package proc

import "golang.org/x/sys/unix"

// sstop is SSTOP of sys/proc.h.
const sstop = 4

// Stopped reports whether a process lives and is stopped (SIGSTOP, or a
// debugger); false where the system does not tell.
func Stopped(pid int) bool {
	if pid <= 0 {
		return false
	}
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && info.Proc.P_stat == sstop
}
