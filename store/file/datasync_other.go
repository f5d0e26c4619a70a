//go:build !linux

package file

import (
	"errors"
	"os"
)

// datasync makes a file's content durable; on macOS by F_FULLFSYNC.
func datasync(f *os.File) error { return f.Sync() }

func syncfs(string) error { return errors.ErrUnsupported }
