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

// syncfs makes all that was written to the file system of a store's folder durable. It
// is [errors.ErrUnsupported] where that is not certain: before Linux 5.8 it tells of no
// error in writing back, and what is mounted below the folder is not part of it.
func syncfs(dir string) error {
	if !syncfsTells() || !oneFileSystem(dir) {
		return errors.ErrUnsupported
	}
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

// syncfsTells tells whether this kernel's syncfs returns errors in writing back.
func syncfsTells() bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var major, minor int
	n, _ := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor)
	return n == 2 && (major > 5 || major == 5 && minor >= 8)
}

// oneFileSystem tells whether the folders of a store are on the file system that it is on.
func oneFileSystem(dir string) bool {
	var top, sub unix.Stat_t
	if unix.Stat(dir, &top) != nil {
		return false
	}
	for _, name := range []string{runsDir, keysDir, accountsDir, stagedDir} {
		if unix.Stat(dir+"/"+name, &sub) != nil || sub.Dev != top.Dev {
			return false
		}
	}
	return true
}
