//go:build unix

package crash_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is a real process that a test started. What it prints goes to files, so
// that nothing but its own end decides when it has ended.
type process struct {
	t        testing.TB
	name     string
	cmd      *exec.Cmd
	out, err string        // files
	ended    chan struct{} // closed when it was reaped
}

// launch starts a command. It is killed, and reaped, with the test.
func (s *site) launch(name string, cmd *exec.Cmd) *process {
	s.t.Helper()
	s.processes++
	base := filepath.Join(s.dir, fmt.Sprintf("%02d-%s", s.processes, name))
	p := &process{t: s.t, name: name, cmd: cmd, out: base + ".out", err: base + ".err", ended: make(chan struct{})}
	stdout, err := os.Create(p.out)
	if err != nil {
		s.t.Fatal(err)
	}
	defer stdout.Close()
	stderr, err := os.Create(p.err)
	if err != nil {
		s.t.Fatal(err)
	}
	defer stderr.Close()
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.work, stdout, stderr
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // how it ended is read from its state
	}()
	s.t.Cleanup(func() {
		p.signal(syscall.SIGCONT)
		p.kill()
	})
	return p
}

// environment is that of every process: nothing of this one's settings of Culm.
func (s *site) environment(more ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "CULM_") || strings.HasPrefix(kv, "XDG_") || strings.HasPrefix(kv, "HOME=") || strings.HasPrefix(kv, "USER=")
	})
	return append(env, append([]string{"HOME=" + filepath.Join(s.dir, "home"), "USER=ada", s.where()}, more...)...)
}

// startCulm starts the built culm.
func (s *site) startCulm(args ...string) *process {
	s.t.Helper()
	cmd := exec.Command(os.Getenv(binaryVariable), args...)
	cmd.Env = s.environment()
	return s.launch("culm-"+args[0], cmd)
}

// culm runs a command of the built culm to its end, and checks its exit status.
func (s *site) culm(status int, args ...string) *process {
	s.t.Helper()
	p := s.startCulm(args...)
	p.want(status)
	return p
}

// wait waits for the process to end, and returns its exit status; -1 if a signal
// ended it. One that takes too long is killed, reaped, and fails the test.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.ended
		p.t.Fatalf("%s did not end; it said\n%s%s", p.name, p.stdout(), p.stderr())
	}
	return p.cmd.ProcessState.ExitCode()
}

// want waits for the process to end with an exit status.
func (p *process) want(status int) {
	p.t.Helper()
	if got := p.wait(); got != status {
		p.t.Fatalf("%s: exit status %d, want %d; it said\n%s%s", strings.Join(p.cmd.Args[1:], " "), got, status, p.stdout(), p.stderr())
	}
}

// kill ends the process by SIGKILL and reaps it. It reports whether that is how it
// ended, and not by itself before.
func (p *process) kill() bool {
	_ = p.cmd.Process.Kill()
	<-p.ended
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// mustKill is kill of a process that must still be there.
func (p *process) mustKill() {
	p.t.Helper()
	if !p.kill() {
		p.t.Fatalf("%s had ended before it was killed: %v\n%s%s", p.name, p.cmd.ProcessState, p.stdout(), p.stderr())
	}
}

func (p *process) signal(sig os.Signal) { _ = p.cmd.Process.Signal(sig) }

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *process) stdout() string { return p.said(p.out) }

func (p *process) stderr() string { return p.said(p.err) }

func (p *process) said(file string) string {
	p.t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(content)
}

// wantSaid checks what the process printed, by substrings.
func (p *process) wantSaid(words ...string) {
	p.t.Helper()
	all := p.stdout() + p.stderr()
	for _, w := range words {
		if !strings.Contains(all, w) {
			p.t.Errorf("%s did not say %q, but\n%s", p.name, w, all)
		}
	}
}

// lines are the JSON documents, one a line, on a process's standard output.
func lines[T any](p *process) []T {
	p.t.Helper()
	var all []T
	for line := range strings.Lines(p.stdout()) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			p.t.Fatalf("%s printed %q: %v", p.name, line, err)
		}
		all = append(all, v)
	}
	return all
}

// alive reports whether a process exists that is no zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // no such file system: it exists, as far as can be told
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
