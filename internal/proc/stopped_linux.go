package proc

import (
	"bytes"
	"fmt"
	"os"
)

// Stopped reports whether a process lives and is stopped (SIGSTOP, or a
// debugger). It is told from /proc, proc_pid_stat(5); false where that does not
// tell.
func Stopped(pid int) bool {
	if pid <= 0 {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// The second field is the program's name, which may hold anything, in
	// parentheses; the state follows it.
	at := bytes.LastIndexByte(stat, ')')
	return at > 0 && len(stat) > at+2 && (stat[at+2] == 'T' || stat[at+2] == 't')
}
