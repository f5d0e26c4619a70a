package owner_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culm-dev/culm/internal/proc"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/internal/owner"
)

var (
	me    = strings.Repeat("a", 32)
	other = strings.Repeat("b", 32)
)

// held makes the lock file of the other owner, held by somebody who has its open
// file, which names a process id.
func held(t *testing.T, pid int) (dir string, lock *proc.FileLock) {
	t.Helper()
	dir = t.TempDir()
	lock, err := proc.CreateFileLock(filepath.Join(dir, other+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(lock.File(), "%d\n", pid); err != nil {
		t.Fatal(err)
	}
	return dir, lock
}

// endedPID is the id of a process that is no more.
func endedPID(t *testing.T) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func locks(dir string) *owner.Locks {
	return owner.New(dir, me, func(string) bool { return true })
}

// look is how long a look at the other owner takes, and what it says.
func look(t *testing.T, l *owner.Locks, pid int) (alive bool, took time.Duration) {
	t.Helper()
	began := time.Now()
	alive, noted, err := l.Probe(other)
	if err != nil {
		t.Fatal(err)
	}
	if noted != pid {
		t.Errorf("process id %d, want %d", noted, pid)
	}
	return alive, time.Since(began)
}

func TestALockThatOutlivesItsProcessForAMomentIsADeadOwners(t *testing.T) {
	t.Parallel()
	pid := endedPID(t)
	for name, see := range map[string]func(*owner.Locks) (bool, error){
		"probe": func(l *owner.Locks) (bool, error) {
			alive, _, err := l.Probe(other)
			return alive, err
		},
		"claim": func(l *owner.Locks) (bool, error) {
			claim, err := l.Claim("stream")
			if err != nil {
				return false, err
			}
			defer claim.Close()
			err = claim.Hold(other)
			if errors.Is(err, store.ErrOwned) {
				return true, nil
			}
			return false, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, lock := held(t, pid)
			synctest.Test(t, func(t *testing.T) {
				go func() { // the copy of the lock ends
					time.Sleep(20 * time.Millisecond)
					_ = lock.Close()
				}()
				alive, err := see(locks(dir))
				if alive || err != nil {
					t.Errorf("alive %v, error %v", alive, err)
				}
				synctest.Wait()
			})
		})
	}
}

func TestALivingOwnerIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	dir, _ := held(t, os.Getpid())
	synctest.Test(t, func(t *testing.T) {
		if alive, took := look(t, locks(dir), os.Getpid()); !alive || took != 0 {
			t.Errorf("alive %v after %s, want at once", alive, took)
		}
	})
}

func TestAnOwnerWhoseProcessIsNotSeenIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	pid := endedPID(t) // as a process of another container is
	dir, lock := held(t, pid)
	synctest.Test(t, func(t *testing.T) {
		l := locks(dir)
		if alive, took := look(t, l, pid); !alive || took == 0 {
			t.Errorf("alive %v after %s, want after a while", alive, took)
		}
		if alive, took := look(t, l, pid); !alive || took != 0 {
			t.Errorf("the second time: alive %v after %s, want at once", alive, took)
		}
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
		if alive, _ := look(t, l, pid); alive {
			t.Error("it is alive without a lock")
		}
	})
}
