//go:build unix

package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// runDirect runs the program without a guard, in its own process group. Orphans
// that left the group are not found.
func (c Child) runDirect(ctx context.Context, s *streams) (Exit, error) {
	cmd := &exec.Cmd{
		Path: c.Path, Args: c.Argv, Env: c.Env, Dir: c.Dir,
		Stdin: s.theirs[0], Stdout: s.theirs[1], Stderr: s.theirs[2],
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if c.LockPath != "" {
		lock, err := acquireStepLock(c.LockPath)
		if err != nil {
			return Exit{}, &StartError{err}
		}
		defer releaseStepLock(c.LockPath, lock)
		cmd.ExtraFiles = []*os.File{lock.File()}
	}
	if err := cmd.Start(); err != nil {
		return Exit{}, &StartError{err}
	}
	s.started()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	cancelled := false
	select {
	case <-ended:
	case <-ctx.Done():
		cancelled = true
		if !endGroup(cmd.Process.Pid, ended) {
			return Exit{}, fmt.Errorf("the processes do not end: %w", context.Cause(ctx))
		}
	}
	endLeftovers(cmd.Process.Pid, cancelled)
	st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok {
		return Exit{}, errors.New("the system does not say how the program ended")
	}
	exit := Exit{Code: st.ExitStatus(), Cancelled: cancelled}
	if st.Signaled() {
		exit.Signal = st.Signal()
	}
	return exit, nil
}

// endGroup ends a process group whose leader still runs, and reports whether the
// leader ended.
func endGroup(pgid int, ended <-chan error) bool {
	_ = syscall.Kill(-pgid, syscall.SIGTERM)
	_ = syscall.Kill(-pgid, syscall.SIGCONT)
	select {
	case <-ended:
		return true
	case <-time.After(cancelGrace):
	}
	_ = syscall.Kill(-pgid, syscall.SIGKILL)
	select {
	case <-ended:
		return true
	case <-time.After(endPatience):
		return false
	}
}

// endLeftovers ends what outlives the leader of a process group: after a moment
// to finish by itself and a polite request, unless it was told before.
func endLeftovers(pgid int, told bool) {
	if !told {
		if groupEndsWithin(pgid, leftoverPatience) {
			return
		}
		_ = syscall.Kill(-pgid, syscall.SIGTERM)
	}
	if groupEndsWithin(pgid, cancelGrace) {
		return
	}
	_ = syscall.Kill(-pgid, syscall.SIGKILL)
	groupEndsWithin(pgid, cancelGrace)
}

func groupEndsWithin(pgid int, patience time.Duration) bool {
	for deadline := time.Now().Add(patience); syscall.Kill(-pgid, 0) == nil; time.Sleep(sweepInterval) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}
