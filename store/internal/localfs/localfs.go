// Package localfs is what stores on local disks need of the file system: folders
// that survive a power loss, and the refusal of those that are not local.
package localfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// MakeDir is MkdirAll, with mode 0700, whose new names survive a power loss.
func MakeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrNotExist) {
		if err := MakeDir(filepath.Dir(dir)); err != nil {
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
	return SyncDir(filepath.Dir(dir))
}

// SyncDir makes what was made, renamed or removed in a folder durable.
func SyncDir(dir string) error {
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

// RefuseNetwork refuses a path on a file system shared between machines. The
// path may not exist yet: what counts is the nearest folder above that does.
func RefuseNetwork(path string) error {
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
