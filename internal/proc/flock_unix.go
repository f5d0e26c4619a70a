//go:build unix

package proc

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Lock waits until it holds the exclusive lock. The kernel wakes waiters in the
// order in which they came.
func (l *FileLock) Lock() error {
	_, err := l.flock(unix.LOCK_EX)
	return err
}

// TryLock takes the exclusive lock if nobody holds any.
func (l *FileLock) TryLock() (bool, error) { return l.flock(unix.LOCK_EX | unix.LOCK_NB) }

// Shared waits until it holds a shared lock. From an exclusive one it is a step
// down, between which another may get the exclusive one for a moment.
func (l *FileLock) Shared() error {
	_, err := l.flock(unix.LOCK_SH)
	return err
}

// TryShared takes a shared lock if nobody holds the exclusive one.
func (l *FileLock) TryShared() (bool, error) { return l.flock(unix.LOCK_SH | unix.LOCK_NB) }

// Unlock gives the lock up and keeps the file open.
func (l *FileLock) Unlock() error {
	_, err := l.flock(unix.LOCK_UN)
	return err
}

func (l *FileLock) flock(how int) (bool, error) {
	for {
		err := unix.Flock(int(l.file.Fd()), how)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EINTR):
			continue
		case how&unix.LOCK_NB != 0 && errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		default:
			return false, fmt.Errorf("lock file: %w", &os.PathError{Op: "flock", Path: l.path, Err: err})
		}
	}
}
