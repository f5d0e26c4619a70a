//go:build linux || darwin

package localfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// Free is how many bytes of a file system this process may still write.
func Free(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return st.Bavail * uint64(st.Bsize), nil
}
