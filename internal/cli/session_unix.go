//go:build unix

package cli

import "syscall"

// ownSession makes a process that no terminal's signals reach.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
