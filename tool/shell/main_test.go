package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/culm-dev/culm/internal/proc"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/shell"
)

// ownerArg makes the test binary an owner that runs one guarded call and can be
// killed.
const ownerArg = "__owner"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case proc.GuardArg:
			os.Exit(proc.GuardMain(os.Args[2:]))
		case ownerArg:
			os.Exit(ownerMain())
		}
	}
	os.Exit(m.Run())
}

// ownerMain makes the call that it reads, and says how it went.
func ownerMain() int {
	var in struct {
		Call    tool.Call
		Guarded bool
	}
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	opts := shell.Options{}
	if in.Guarded {
		opts.Guard = guardCommand()
	}
	_, err := shell.New(opts).Call(context.Background(), in.Call)
	fmt.Fprintln(os.Stderr, "the call returned:", err)
	return 0
}

func guardCommand() []string { return []string{os.Args[0], proc.GuardArg} }

// startOwner runs c in another process.
func startOwner(t *testing.T, c tool.Call, guarded bool) *exec.Cmd {
	t.Helper()
	exe, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(map[string]any{"Guarded": guarded, "Call": map[string]any{
		"RunID": c.RunID, "StepID": c.StepID, "Workspace": c.Workspace, "LockPath": c.LockPath, "Args": c.Args,
	}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, ownerArg)
	cmd.Stdin = strings.NewReader(string(in))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// newCall is a call of exec with the given arguments in a fresh workspace.
func newCall(t *testing.T, args map[string]any) tool.Call {
	t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return tool.Call{
		RunID: "run-1", StepID: "build@root[2]", Attempt: 1, IdempotencyKey: "key-1",
		Workspace: t.TempDir(),
		LockPath:  proc.StepLockPath(filepath.Join(t.TempDir(), "locks"), "run-1", "build@root[2]"),
		Args:      b,
	}
}

type result struct {
	ExitCode  int             `json:"exit_code"`
	Stdout    json.RawMessage `json:"stdout"`
	Stderr    json.RawMessage `json:"stderr"`
	Truncated []string        `json:"truncated"`
}

// run makes the call and checks a result against the tool's own schema.
func run(t *testing.T, opts shell.Options, c tool.Call) (result, error) {
	t.Helper()
	registry, err := tool.NewRegistry(shell.New(opts))
	if err != nil {
		t.Fatal(err)
	}
	exec, _ := registry.Lookup("exec")
	res, err := exec.Call(t.Context(), c)
	if err != nil {
		return result{}, err
	}
	if err := registry.CheckOutput("exec", res.Output); err != nil {
		t.Errorf("output schema: %v", err)
	}
	var out result
	if err := json.Unmarshal(res.Output, &out); err != nil {
		t.Fatal(err)
	}
	return out, nil
}

// variants runs a test with and without a guard.
func variants(t *testing.T, test func(t *testing.T, opts shell.Options)) {
	t.Parallel()
	for name, opts := range map[string]shell.Options{"guarded": {Guard: guardCommand()}, "direct": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, opts)
		})
	}
}

// eventually waits for a condition that must come true within the limit.
func eventually(t *testing.T, within time.Duration, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v it is still not so that %s", within, what)
		}
	}
}

// pidIn reads a pid that a program wrote, 0 if it has not yet.
func pidIn(t *testing.T, path string) int {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !strings.HasSuffix(string(b), "\n") {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// alive reports whether a process runs; one that only waits to be reaped does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(state)), "Z")
}

func lockHeld(t *testing.T, path string) bool {
	t.Helper()
	held, err := proc.StepLockHeld(path)
	if err != nil {
		t.Fatal(err)
	}
	return held
}
