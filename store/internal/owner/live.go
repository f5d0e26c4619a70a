package owner

import (
	"strconv"
	"strings"
	"time"

	"github.com/culm-dev/culm/internal/proc"
)

// A process that is killed while it starts another leaves a copy of its locks: the
// new process has all of its descriptors until it executes its program. Whoever then
// sees a lock held by a process that is gone looks again until it is free.
const (
	copyPatience = 500 * time.Millisecond
	copyRetry    = 5 * time.Millisecond
)

// alive tries to share an owner's lock, which is free if the owner is dead, and then
// shared. pid is the owner's process id, 0 if that is not known.
func (l *Locks) alive(owner string, lock *proc.FileLock) (alive bool, pid int, err error) {
	free, err := lock.TryShared()
	pid = notedPID(lock)
	if free || err != nil || !l.doubtful(owner, pid) {
		return !free, pid, err
	}
	for deadline := time.Now().Add(copyPatience); time.Now().Before(deadline); {
		time.Sleep(copyRetry)
		if free, err := lock.TryShared(); free || err != nil {
			return !free, pid, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unseen[owner] = true
	return true, pid, nil
}

// doubtful tells whether an owner whose lock is held may be dead nevertheless. One
// whose lock was held all the while lives where its process cannot be seen, in
// another container; it is not waited for again.
func (l *Locks) doubtful(owner string, pid int) bool {
	if !proc.Gone(pid) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.unseen[owner]
}

// notedPID reads what an owner has written into its lock file.
func notedPID(lock *proc.FileLock) int {
	var note [32]byte
	n, _ := lock.File().ReadAt(note[:], 0)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(note[:n])))
	return pid
}
