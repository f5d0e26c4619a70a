//go:build unix

package file

import (
	"errors"
	"syscall"
)

// readOnly tells that the file system cannot be written.
func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
