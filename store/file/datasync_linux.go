package file

import (
	"errors"
	"fmt"
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

// syncfs makes all that was written to the file system of a folder durable. Since
// Linux 5.8 it tells of errors in writing back as fsync does.
func syncfs(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync file system: %w", err)
	}
	defer f.Close()
	for {
		err := unix.Syncfs(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("syncfs", err)
		}
	}
}
