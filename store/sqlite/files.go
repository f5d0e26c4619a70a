package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
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

func (p paths) ownerLock(owner string) string { return filepath.Join(p.locks, owner+".lock") }

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
	if err := makeDirDurable(p.dir); err != nil {
		return err
	}
	return makeDirDurable(p.locks)
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
	return syncDir(p.dir)
}

// makeDirDurable is MkdirAll whose new names survive a power loss.
func makeDirDurable(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrNotExist) {
		if err := makeDirDurable(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	switch {
	case errors.Is(err, os.ErrExist):
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("make folder: %s is not a folder", dir)
		}
		return err
	case err != nil:
		return fmt.Errorf("make folder: %w", err)
	}
	return syncDir(filepath.Dir(dir))
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // a file system whose folders need no sync
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}

// refuseNetworkFS refuses a path on a file system shared between machines. The
// path may not exist yet: what counts is the nearest folder above that does.
func refuseNetworkFS(path string) error {
	for {
		name, err := networkFS(path)
		switch {
		case errors.Is(err, os.ErrNotExist) && filepath.Dir(path) != path:
			path = filepath.Dir(path)
			continue
		case err != nil:
			return fmt.Errorf("look at file system of %s: %w", path, err)
		case name != "":
			return fmt.Errorf("%s is on a network file system (%s), where locks do not tell the truth: keep the data on a local disk", path, name)
		}
		return nil
	}
}
