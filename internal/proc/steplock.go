package proc

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrStepLockHeld says that a process of an earlier call of the step still lives.
var ErrStepLockHeld = errors.New("a process that an earlier attempt of this step started is still running")

const (
	// A probe holds a shared lock for an instant; taking the lock waits that out.
	stepLockPatience = 500 * time.Millisecond
	stepLockRetry    = 5 * time.Millisecond
	// releasePatience is for probes, and for forks on systems where the fork lock
	// does not last until the exec.
	releasePatience = 50 * time.Millisecond
)

// StepLockPath names the lock file of a step under dir: a hash, since step ids
// may hold any character. The file exists only while, and shortly after, it is
// needed.
func StepLockPath(dir, runID, stepID string) string {
	sum := sha256.Sum256([]byte(runID + "\x00" + stepID))
	return filepath.Join(dir, hex.EncodeToString(sum[:16])+".lock")
}

// StepLockHeld reports whether a process that a call of the step started may
// still live. It creates nothing and leaves nothing: a missing file is a lock
// that nobody holds.
func StepLockHeld(path string) (bool, error) {
	lock, err := OpenFileLockIfExists(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("probe step lock: %w", err)
	}
	defer lock.Close()
	free, err := lock.TryShared()
	if err != nil {
		return false, fmt.Errorf("probe step lock: %w", err)
	}
	return !free, nil
}

// acquireStepLock takes the exclusive lock of path, creating the file and its
// folder. The lock belongs to the open file: processes that inherit its descriptor
// hold it too, until the last of them is gone. The error is ErrStepLockHeld if
// others hold it.
func acquireStepLock(path string) (*FileLock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create folder of step lock: %w", err)
	}
	for deadline := time.Now().Add(stepLockPatience); ; time.Sleep(stepLockRetry) {
		lock, err := OpenFileLock(path)
		if err != nil {
			return nil, fmt.Errorf("take step lock: %w", err)
		}
		locked, err := lock.TryLock()
		if locked && lock.Linked() {
			return lock, nil
		}
		// Somebody holds it, or its last holder has just removed this file.
		if err = errors.Join(err, lock.Close()); err != nil {
			return nil, fmt.Errorf("take step lock: %w", err)
		}
		if time.Now().After(deadline) {
			return nil, ErrStepLockHeld
		}
	}
}

// releaseStepLock gives up this process's share of the lock, and removes the file
// unless a process that inherited the lock still holds it.
func releaseStepLock(path string, lock *FileLock) {
	// Every child has a copy of every descriptor for an instant, between its fork
	// and its exec. Under the fork lock there is none, nor does one come.
	syscall.ForkLock.RLock()
	_ = lock.Close()
	syscall.ForkLock.RUnlock()
	for deadline := time.Now().Add(releasePatience); ; time.Sleep(stepLockRetry) {
		removed, err := removeStepLock(path)
		if removed || err != nil || time.Now().After(deadline) {
			return
		}
	}
}

// removeStepLock removes the file if nobody holds it; else the next holder will.
func removeStepLock(path string) (removed bool, err error) {
	lock, err := OpenFileLockIfExists(path)
	if err != nil {
		return false, err
	}
	defer lock.Close()
	free, err := lock.TryLock()
	if err != nil || !free || !lock.Linked() {
		return false, err
	}
	return true, lock.Remove()
}
