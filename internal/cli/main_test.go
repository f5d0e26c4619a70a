package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/culm-dev/culm/internal/cli"
)

// console is where one invocation writes to.
type console struct {
	mu   sync.Mutex
	text strings.Builder
	seen chan struct{} // closed once the text holds the wanted part
	want string
}

func watchFor(part string) *console { return &console{want: part, seen: make(chan struct{})} }

func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.want != "" && strings.Contains(c.text.String(), c.want)
	n, err := c.text.Write(b)
	if c.want != "" && !before && strings.Contains(c.text.String(), c.want) {
		close(c.seen)
	}
	return n, err
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// culm runs a command line in this process.
func culm(t *testing.T, data string, stderr *console, interrupt <-chan os.Signal, args ...string) (status int, stdout string) {
	t.Helper()
	var out console
	env := map[string]string{"HOME": data, "USER": "ada"}
	status = cli.Main{
		Args: append(args, "--data", data, "--workspace", data), Stdout: &out, Stderr: stderr,
		Env: func(name string) string { return env[name] }, Interrupt: interrupt,
	}.Run(context.Background())
	return status, out.String()
}

func TestProjectOfInitRunsInProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if status, _ := culm(t, dir, &console{}, nil, "init", dir); status != cli.ExitSucceeded {
		t.Fatalf("init: exit status %d", status)
	}
	var errs console
	status, out := culm(t, dir, &errs, nil, "run", "hello", "-a", "name=Ada")
	if status != cli.ExitSucceeded || !strings.HasPrefix(out, "Hello, Ada!") {
		t.Fatalf("run: exit status %d, output %q, errors:\n%s", status, out, &errs)
	}
	status, out = culm(t, dir, &errs, nil, "run", "hello", "-o", "json")
	var view struct {
		Status string
		Output string
	}
	if err := json.Unmarshal([]byte(out), &view); err != nil || status != 0 || view.Status != "succeeded" {
		t.Errorf("run -o json: exit status %d, %v: %s", status, err, out)
	}
}

func TestInterruptSuspendsTheRunSoThatItGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const definition = `{"workflow_schema": 1, "id": "w", "revision": 1, "steps": [
		{"id": "nap", "type": "sleep", "duration_ms": {"from": "args", "pointer": "/ms"}},
		{"id": "say", "type": "tool", "tool": "echo", "args": {"value": "rested"}}]}`
	if err := os.WriteFile(filepath.Join(dir, "w.json"), []byte(definition), 0o600); err != nil {
		t.Fatal(err)
	}
	errs, interrupt := watchFor("wait_set nap"), make(chan os.Signal)
	go func() {
		<-errs.seen
		interrupt <- os.Interrupt
	}()
	status, out := culm(t, dir, errs, interrupt, "run", filepath.Join(dir, "w.json"), "-a", "ms=600000")
	if status != cli.ExitSuspended || out != "" {
		t.Fatalf("run: exit status %d, output %q, errors:\n%s", status, out, errs)
	}
	if !strings.Contains(errs.String(), "suspended: it was stopped") || !strings.Contains(errs.String(), "culm continue ") {
		t.Errorf("what comes next is not said in:\n%s", errs)
	}
	if _, out := culm(t, dir, &console{}, nil, "list"); !strings.Contains(out, "suspended") {
		t.Errorf("list says:\n%s", out)
	}
}

func TestInterruptWithNothingToStopLeaves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	definition := `{"workflow_schema": 1, "id": "w", "revision": 1, "steps": [{"id": "nap", "type": "sleep", "duration_ms": 600000}]}`
	if err := os.WriteFile(filepath.Join(dir, "w.json"), []byte(definition), 0o600); err != nil {
		t.Fatal(err)
	}
	owner, stop, ended := watchFor("wait_set nap"), make(chan os.Signal), make(chan int)
	go func() {
		status, _ := culm(t, dir, owner, stop, "run", filepath.Join(dir, "w.json"))
		ended <- status
	}()
	<-owner.seen
	_, list := culm(t, dir, &console{}, nil, "list", "-o", "json")
	var row struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(list), &row); err != nil {
		t.Fatalf("list: %v: %s", err, list)
	}
	interrupt := make(chan os.Signal, 1)
	interrupt <- os.Interrupt
	if status, _ := culm(t, dir, &console{}, interrupt, "wait", row.RunID); status != cli.ExitInterrupted {
		t.Errorf("wait: exit status %d", status)
	}
	stop <- os.Interrupt
	if status := <-ended; status != cli.ExitSuspended {
		t.Errorf("the run's own process: exit status %d, errors:\n%s", status, owner)
	}
}
