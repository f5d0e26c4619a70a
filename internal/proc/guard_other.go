//go:build unix && !linux

package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// adoptOrphans does nothing: only Linux lets a process adopt its descendants.
func adoptOrphans() error { return nil }

// guardedProcAttr starts the program in its own process group.
func guardedProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func replaceFD(from, to int) error { return unix.Dup2(from, to) }

// descendants finds none: the process group is all that can be named here.
func descendants(int) []int { return nil }

// treeGone reports whether nothing is left in the program's process group that
// could be signalled.
func treeGone(pgid int) bool { return unix.Kill(-pgid, 0) != nil }

// endOrphans kills what a guard that was killed has left: the program's process group,
// if the guard told of it.
func endOrphans(_, pgid int) {
	if pgid > 0 {
		_ = syscall.Kill(-pgid, syscall.SIGKILL)
	}
}
