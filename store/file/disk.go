package file

import (
	"errors"
	"os"
	"syscall"

	"github.com/culm-dev/culm/store/internal/localfs"
)

// disk is everything that the store does to its data on disk. Reading goes by
// package os; locks are no data.
type disk interface {
	// open opens a file for reading and writing; flag is O_CREATE and O_TRUNC, or 0.
	open(path string, flag int) (diskFile, error)
	mkdir(path string) error
	rename(from, to string) error
	remove(path string) error
	// syncDir makes the names in a folder durable.
	syncDir(path string) error
	// syncAll makes all that was done to the file system of a folder durable, or is
	// [errors.ErrUnsupported].
	syncAll(path string) error
}

// diskFile is an open file.
type diskFile interface {
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	Truncate(size int64) error
	Size() (int64, error)
	// Sync makes the content durable, and the size.
	Sync() error
	Close() error
}

// osDisk is the real one.
type osDisk struct{}

type osFile struct{ *os.File }

func (osDisk) open(path string, flag int) (diskFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|flag, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osDisk) mkdir(path string) error      { return os.Mkdir(path, 0o700) }
func (osDisk) rename(from, to string) error { return os.Rename(from, to) }
func (osDisk) remove(path string) error     { return os.Remove(path) }
func (osDisk) syncDir(path string) error    { return localfs.SyncDir(path) }
func (osDisk) syncAll(path string) error    { return syncfs(path) }

func (f osFile) Sync() error { return datasync(f.File) }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// full tells the errors that leave nothing behind and may be gone later.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// missing tells that there is no such file, or no such folder.
func missing(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
