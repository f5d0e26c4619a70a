//go:build unix

// Package crash_test kills real processes, from inside at named points and from
// outside by signals, and holds what is left on disk, and what becomes of it,
// against what Culm promises.
//
// There are two kinds of processes. Helpers are this test binary, started again with
// a task in its environment (task_test.go): they embed the engine with tools of
// their own, over a store in which they can die. The others are the built culm, as
// people use it. Side effects go to a log that neither engine nor store knows of,
// and every test ends with the outside checker over journals and that log.
//
// What a test left on disk is kept if it fails, and its output says where.
//
// CULM_ROUNDS is how many rounds are killed at random moments (20), CULM_SEED makes
// them those of an earlier run, and CULM_FAIR_SECONDS is how long processes compete
// for one data directory of each store (4); from 60 on, and without the race detector, the longest
// wait for a commit is asserted.
package crash_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/culm-dev/culm/internal/cli"
)

// taskVariable makes the test binary a helper process; its value is a task. In an
// ordinary run it is not set.
const taskVariable = "CULM_CRASH_TASK"

// binaryVariable holds the path of the built culm.
const binaryVariable = "CULM_CRASH_BINARY"

func TestMain(m *testing.M) {
	if text := os.Getenv(taskVariable); text != "" {
		os.Exit(helper(text))
	}
	os.Exit(withCulm(m.Run))
}

// withCulm builds culm for the tests.
func withCulm(tests func() int) int {
	dir, err := os.MkdirTemp("", "culm-crash-binary")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "culm")
	// Go caches a test's result by the test's own binary: with culm in it, a result
	// is kept only as long as culm is the same.
	runtime.KeepAlive(cli.Main.Run)
	build := exec.Command("go", "build", "-o", binary, "../../cmd/culm")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build culm:", err)
		return 1
	}
	if err := os.Setenv(binaryVariable, binary); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return tests()
}

// number reads a setting of the test run.
func number(t testing.TB, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s=%s: expected a number", variable, text)
	}
	return n
}

// patience is how long anything may take that is waited for: only to end a test
// that hangs.
const patience = 2 * time.Minute

// eventually waits for an observable fact.
func eventually(t testing.TB, what string, fact func() bool) {
	t.Helper()
	if !within(t, patience, fact) {
		t.Fatalf("it never came: %s", what)
	}
}

// within reports whether the fact came in time.
func within(t testing.TB, limit time.Duration, fact func() bool) bool {
	t.Helper()
	look := time.NewTicker(4 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(limit)
	for !fact() {
		select {
		case <-look.C:
		case <-deadline:
			return false
		}
	}
	return true
}
