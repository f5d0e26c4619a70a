package file_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// childEnv makes the test binary a child process: its value names what to do.
// In an ordinary run it is not set and children do nothing.
const childEnv = "CULM_FILE_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		os.Exit(child(role, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// process is a child that speaks in lines.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    *os.File
	lines chan string
}

// startChild starts the test binary in a role. It is killed with the test.
func startChild(t *testing.T, role string, args ...string) *process {
	t.Helper()
	p, err := tryChild(t, func(*exec.Cmd) {}, role, args...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tryChild is startChild where starting may fail.
func tryChild(t *testing.T, adjust func(*exec.Cmd), role string, args ...string) (*process, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	cmd.Stderr = os.Stderr
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = r
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	adjust(cmd)
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, r.Close(), w.Close())
	}
	_ = r.Close()
	p := &process{t: t, cmd: cmd, in: w, lines: make(chan string, 1000)}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = w.Close()
		_ = cmd.Process.Kill()
		for range p.lines { // until its output ends
		}
		_ = cmd.Wait()
	})
	return p, nil
}

// next is the next line that the child prints.
func (p *process) next() string {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.t.Fatal("the child process ended early")
		}
		return line
	case <-time.After(time.Minute):
		p.t.Fatal("the child process says nothing")
		return ""
	}
}

// tell sends the child a line.
func (p *process) tell(line string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		p.t.Fatal(err)
	}
}

// kill ends the child by SIGKILL and reaps it.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	for range p.lines { // until its output ends
	}
	if err := p.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		p.t.Fatalf("the child ended by itself: %v", err)
	}
}
