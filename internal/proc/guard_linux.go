package proc

import (
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes descendants whose parents end children of this process, not
// of init: prctl(2), PR_SET_CHILD_SUBREAPER.
func adoptOrphans() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// guardedProcAttr starts the program in its own process group, and has the kernel
// kill it if the guard itself is killed.
func guardedProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func replaceFD(from, to int) error { return unix.Dup3(from, to, 0) }

// descendants lists the processes below root by their parents in /proc; none if
// that cannot be read.
func descendants(root int) []int {
	children := make(map[int][]int)
	for _, pid := range processes() {
		if parent, ok := statNumber(pid, statParent); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	found := children[root]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

// treeGone is asked when no child is left: since orphans were adopted, no
// descendant is left either.
func treeGone(int) bool { return true }

// endOrphans kills what a guard that was killed has left. The kernel kills the program
// itself; the rest is found by the guard's session, which all but those that made one
// of their own are in. The guard must not be reaped yet: while it is not, its id, and
// with it the session's, is not given anew.
func endOrphans(guard, _ int) {
	for deadline := time.Now().Add(orphanGrace); ; time.Sleep(sweepInterval) {
		left := sessionMembers(guard)
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return
		}
	}
}

// sessionMembers lists the processes of a session that have not ended, but for its
// leader.
func sessionMembers(leader int) []int {
	return slices.DeleteFunc(processes(), func(pid int) bool {
		session, ok := statNumber(pid, statSession)
		return !ok || session != leader || pid == leader || zombie(pid)
	})
}
