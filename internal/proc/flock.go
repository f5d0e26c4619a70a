package proc

import "os"

// FileLock is an open file that can carry an flock(2) lock.
//
// An flock lock belongs to the open file, not to the process: two FileLocks of
// one path exclude each other even inside one process, closing another
// descriptor of the file does not drop it, and it ends the moment the last
// process that holds the open file is gone, however it went. Child processes
// do not inherit it: Go opens files close-on-exec.
//
// A FileLock is not safe for concurrent use.
type FileLock struct {
	file *os.File
	path string
}

// OpenFileLock opens the lock file at path, made with mode 0600 if it is
// missing. Nothing is locked yet.
func OpenFileLock(path string) (*FileLock, error) {
	return openFileLock(path, os.O_RDWR|os.O_CREATE)
}

// OpenFileLockIfExists is OpenFileLock that makes nothing: a missing file is an
// error that matches [os.ErrNotExist]. Reading rights are enough.
func OpenFileLockIfExists(path string) (*FileLock, error) {
	return openFileLock(path, os.O_RDONLY)
}

// CreateFileLock makes the lock file at path, which must not exist yet.
func CreateFileLock(path string) (*FileLock, error) {
	return openFileLock(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

func openFileLock(path string, flag int) (*FileLock, error) {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	return &FileLock{file: f, path: path}, nil
}

// File is the open lock file, for notes to people who look at it.
func (l *FileLock) File() *os.File { return l.file }

// Linked tells whether the path still names this file. Whoever removes lock
// files unlinks them while holding a lock on them, so a taker that finds its
// file unlinked after locking it must open the path again.
func (l *FileLock) Linked() bool {
	mine, err := l.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(l.path)
	return err == nil && os.SameFile(mine, there)
}

// Remove unlinks the lock file. Call it only while holding a lock on it.
func (l *FileLock) Remove() error { return os.Remove(l.path) }

// Close gives the lock up and closes the file.
func (l *FileLock) Close() error { return l.file.Close() }
