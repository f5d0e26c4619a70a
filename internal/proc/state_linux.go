package proc

import (
	"bytes"
	"os"
	"strconv"
)

// Stopped reports whether a process lives and is stopped (SIGSTOP, or a
// debugger); false where /proc does not tell.
func Stopped(pid int) bool {
	s := state(pid)
	return s == 'T' || s == 't'
}

// zombie reports whether a process has ended and only waits to be reaped.
func zombie(pid int) bool {
	s := state(pid)
	return s == 'Z' || s == 'X'
}

// state is the letter that /proc has for a process; 0 if it cannot be read.
func state(pid int) byte {
	fields := statFields(pid)
	if len(fields) == 0 {
		return 0
	}
	return fields[0][0]
}

// Where fields of proc_pid_stat(5) are in statFields.
const (
	statParent  = 1
	statSession = 3
)

// statFields are the fields of /proc/PID/stat from the third on, the state; nil if it
// cannot be read. The second is the program's name in parentheses, which may itself
// hold any character.
func statFields(pid int) [][]byte {
	if pid <= 0 {
		return nil
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
}

// statNumber is a number among statFields.
func statNumber(pid, field int) (int, bool) {
	fields := statFields(pid)
	if len(fields) <= field {
		return 0, false
	}
	n, err := strconv.Atoi(string(fields[field]))
	return n, err == nil
}

// processes lists all process ids in /proc; none if it cannot be read.
func processes() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
