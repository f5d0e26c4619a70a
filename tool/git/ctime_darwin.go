package git

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is when the inode was last changed, the zero time if that is not
// known.
func changeTime(info fs.FileInfo) time.Time {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}
	}
	return time.Unix(st.Ctimespec.Sec, st.Ctimespec.Nsec)
}
