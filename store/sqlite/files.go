package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/culm-dev/culm/store/internal/localfs"
)

// paths are the places of one store.
type paths struct {
	db    string // culm.db
	dir   string // where it is
	locks string // the folder of lock files
}

func newPaths(db string) (paths, error) {
	abs, err := filepath.Abs(db)
	if err != nil {
		return paths{}, fmt.Errorf("find database: %w", err)
	}
	dir := filepath.Dir(abs)
	return paths{db: abs, dir: dir, locks: filepath.Join(dir, "locks")}, nil
}

// exists tells whether there is a database with anything in it.
func (p paths) exists() (bool, error) {
	info, err := os.Stat(p.db)
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("find database: %w", err)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("find database: %s is not a regular file", p.db)
	}
	return info.Size() > 0, nil
}

// makeDirs makes the folders.
func (p paths) makeDirs() error {
	if err := localfs.MakeDir(p.dir); err != nil {
		return err
	}
	return localfs.MakeDir(p.locks)
}

// makeFile makes the empty database file, so that it has its mode from the
// start, and makes its name durable.
func (p paths) makeFile() error {
	f, err := os.OpenFile(p.db, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make database: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("make database: %w", err)
	}
	return localfs.SyncDir(p.dir)
}
