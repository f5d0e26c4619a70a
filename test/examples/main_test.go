// Package examples_test runs every example as its README says.
package examples_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/culm-dev/culm/internal/cli"
)

// binary is the culm that the tests run.
var binary string

func TestMain(m *testing.M) { os.Exit(withCulm(m.Run)) }

func withCulm(tests func() int) int {
	dir, err := os.MkdirTemp("", "culm-examples")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "culm")
	// Go caches a test's result by the test's own binary: with culm in it, a result
	// is kept only as long as culm is the same.
	runtime.KeepAlive(cli.Main.Run)
	build := exec.Command("go", "build", "-o", binary, "../../cmd/culm")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build culm:", err)
		return 1
	}
	return tests()
}

// shell is where a test types its commands: a folder, and a data directory of its own.
type shell struct {
	t         *testing.T
	dir, data string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	return &shell{t: t, dir: t.TempDir(), data: t.TempDir()}
}

func (s *shell) command(name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	s.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "CULM_DATA="+s.data, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org")
	return cmd
}

// run runs a command that must succeed, and gives its standard output.
func (s *shell) run(name string, args ...string) string {
	s.t.Helper()
	cmd := s.command(name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%s %v: %v\n%s%s", filepath.Base(name), args, err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// culm runs a culm command that must succeed.
func (s *shell) culm(args ...string) string {
	s.t.Helper()
	return s.run(binary, args...)
}

func (s *shell) write(name, content string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// example is the absolute path of an example.
func example(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
