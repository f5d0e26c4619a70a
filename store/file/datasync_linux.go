package file

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// datasync makes a file's content durable, and of its metadata what is needed to
// read it.
func datasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
