//go:build !unix

package cli

import "syscall"

// ownSession says that there are no sessions here.
func ownSession() *syscall.SysProcAttr { return nil }
