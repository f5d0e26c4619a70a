package shell_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/shell"
)

// family is a program with a child, a child that ignores SIGTERM, an orphan by
// double fork and, on Linux, an orphan in a session of its own.
func family() (script string, members []string) {
	script = `
		sleep 300 & echo $! > child.pid
		sh -c 'trap "" TERM; echo $$ > stubborn.pid; while :; do sleep 0.05; done' &
		(sh -c 'echo $$ > orphan.pid; exec sleep 300' &)
	`
	members = []string{"main", "child", "stubborn", "orphan"}
	if runtime.GOOS == "linux" {
		script += `(setsid sh -c 'trap "" TERM; echo $$ > escaped.pid; while :; do sleep 0.05; done' &)
		`
		members = append(members, "escaped")
	}
	return script + "echo $$ > main.pid; wait", members
}

// startFamily starts one in another process and waits until all members live.
func startFamily(t *testing.T, guarded bool) (c tool.Call, owner *exec.Cmd, pids []int) {
	t.Helper()
	script, members := family()
	c = newCall(t, map[string]any{"shell": script})
	owner = startOwner(t, c, guarded)
	for _, m := range members {
		file := filepath.Join(c.Workspace, m+".pid")
		eventually(t, 20*time.Second, m+" lives", func() bool { return pidIn(t, file) != 0 })
		pids = append(pids, pidIn(t, file))
	}
	t.Cleanup(func() { // only if the test failed
		for _, pid := range pids {
			if alive(pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	return c, owner, pids
}

func anyAlive(pids []int) bool {
	for _, pid := range pids {
		if alive(pid) {
			return true
		}
	}
	return false
}

func TestOwnerKilledNothingOfTheStepSurvives(t *testing.T) {
	t.Parallel()
	c, owner, pids := startFamily(t, true)
	if !lockHeld(t, c.LockPath) {
		t.Fatal("the step lock is free while the program runs")
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// One member ignores SIGTERM, so the lock must be seen held before the end.
	if !lockHeld(t, c.LockPath) {
		t.Error("the step lock was free at once, with processes still alive")
	}
	eventually(t, 2*time.Second, "all processes are gone", func() bool { return !anyAlive(pids) })
	eventually(t, 20*time.Second, "the step lock is free", func() bool { return !lockHeld(t, c.LockPath) })
}

func TestGuardKilledOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	c := newCall(t, map[string]any{"shell": "echo $$ > main.pid; echo $PPID > guard.pid; sleep 300"})
	ended := make(chan error, 1)
	go func() {
		_, err := shell.New(shell.Options{Guard: guardCommand()}).Call(t.Context(), c)
		ended <- err
	}()
	guard, program := filepath.Join(c.Workspace, "guard.pid"), filepath.Join(c.Workspace, "main.pid")
	eventually(t, 20*time.Second, "the program runs", func() bool { return pidIn(t, guard) != 0 })
	if err := syscall.Kill(pidIn(t, guard), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || tool.CodeOf(err) != "" {
		t.Errorf("got %v, want a plain error", err)
	}
	eventually(t, 20*time.Second, "the program is gone", func() bool { return !alive(pidIn(t, program)) })
	eventually(t, 20*time.Second, "the step lock is free", func() bool { return !lockHeld(t, c.LockPath) })
}

// TestGuardKilledNothingOfItsSessionSurvives: neither children of the program nor, on
// Linux, what timeout(1) has put into a process group of its own.
func TestGuardKilledNothingOfItsSessionSurvives(t *testing.T) {
	t.Parallel()
	script, files := `sleep 300 & echo $! > child.pid
		`, []string{"child.pid"}
	if runtime.GOOS == "linux" {
		script += `timeout 300 sleep 300 & echo $! > group.pid
		`
		files = append(files, "group.pid")
	}
	c := newCall(t, map[string]any{"shell": script + "kill -KILL $PPID; wait"})
	_, err := shell.New(shell.Options{Guard: guardCommand()}).Call(t.Context(), c)
	if err == nil || tool.CodeOf(err) != "" {
		t.Errorf("got %v, want a plain error", err)
	}
	for _, file := range files {
		pid := pidIn(t, filepath.Join(c.Workspace, file))
		eventually(t, 20*time.Second, file+" is gone", func() bool { return !alive(pid) })
	}
	eventually(t, 20*time.Second, "the step lock is free", func() bool { return !lockHeld(t, c.LockPath) })
}

func TestGuardToldToEndEndsItsTree(t *testing.T) {
	t.Parallel()
	c := newCall(t, map[string]any{"shell": "trap '' TERM; echo $$ > main.pid; echo $PPID > guard.pid; while :; do sleep 0.05; done"})
	ended := make(chan error, 1)
	go func() {
		_, err := shell.New(shell.Options{Guard: guardCommand()}).Call(t.Context(), c)
		ended <- err
	}()
	guard := filepath.Join(c.Workspace, "guard.pid")
	eventually(t, 20*time.Second, "the program runs", func() bool { return pidIn(t, guard) != 0 })
	if err := syscall.Kill(pidIn(t, guard), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || tool.CodeOf(err) != "" || !strings.Contains(err.Error(), "signal 9") {
		t.Errorf("got %v, want a plain error that names signal 9", err)
	}
}

func TestWithoutGuardTheLockTellsOfSurvivors(t *testing.T) {
	t.Parallel()
	c, owner, pids := startFamily(t, false)
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	if !anyAlive(pids) || !lockHeld(t, c.LockPath) {
		t.Error("processes live on without a guard, and the lock must say so")
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	eventually(t, 20*time.Second, "the step lock is free", func() bool { return !lockHeld(t, c.LockPath) })
}

func TestGuardByHandSaysWhatItIs(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "__guard")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(stderr.String(), "internal") {
		t.Errorf("exit %s, %q", strconv.Itoa(cmd.ProcessState.ExitCode()), stderr.String())
	}
}
