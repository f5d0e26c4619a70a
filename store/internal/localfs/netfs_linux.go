package localfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// networkFS names the network or cluster file system that path is on, "" for a
// local one. The numbers are statfs(2)'s f_type. FUSE is let through: most of
// what is mounted with it is local.
func networkFS(path string) (string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return "", &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	switch uint32(st.Type) {
	case 0x6969:
		return "nfs", nil
	case 0x517b, 0xfe534d42, 0xff534d42:
		return "smb", nil
	case 0x01021997:
		return "9p", nil
	case 0x00c36400:
		return "ceph", nil
	case 0x5346414f, 0x6b414653:
		return "afs", nil
	case 0x73757245:
		return "coda", nil
	case 0x564c:
		return "ncp", nil
	case 0x0bd00bd0:
		return "lustre", nil
	case 0x47504653:
		return "gpfs", nil
	case 0x01161970:
		return "gfs2", nil
	case 0x7461636f:
		return "ocfs2", nil
	case 0x786f4256:
		return "vboxsf", nil
	}
	return "", nil
}
