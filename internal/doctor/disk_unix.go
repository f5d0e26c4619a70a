//go:build unix

package doctor

import (
	"os"

	"golang.org/x/sys/unix"
)

// freeSpace asks statfs(2).
func freeSpace(folder string) (Space, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(folder, &st); err != nil {
		return Space{}, &os.PathError{Op: "statfs", Path: folder, Err: err}
	}
	block := int64(st.Bsize)
	s := Space{Free: int64(st.Bavail) * block, Total: int64(st.Blocks) * block, Files: int64(st.Ffree)}
	if st.Files == 0 { // a file system that makes room for files as they come
		s.Files = -1
	}
	return s, nil
}

// mayWrite asks access(2).
func mayWrite(folder string) error { return unix.Access(folder, unix.W_OK) }
