//go:build !unix

package proc

import (
	"errors"
	"fmt"
)

var errNoFlock = fmt.Errorf("flock: %w", errors.ErrUnsupported)

// Lock is not available on this platform.
func (l *FileLock) Lock() error { return errNoFlock }

// TryLock is not available on this platform.
func (l *FileLock) TryLock() (bool, error) { return false, errNoFlock }

// Shared is not available on this platform.
func (l *FileLock) Shared() error { return errNoFlock }

// TryShared is not available on this platform.
func (l *FileLock) TryShared() (bool, error) { return false, errNoFlock }

// Unlock is not available on this platform.
func (l *FileLock) Unlock() error { return errNoFlock }
