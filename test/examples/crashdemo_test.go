package examples_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const everyEffectOnce = `charged anna: 1x
charged ben: 1x
charged carla: 1x
shipped anna: 1x
shipped ben: 1x
shipped carla: 1x
`

// demo is the demo, quick, with a sleep that lasts that many milliseconds.
func demo(t *testing.T, settle string) []string {
	return []string{"run", example(t, "crash-demo"), "--trust", "--allow", "exec", "-a", "pace=0", "-a", "settle_ms=" + settle}
}

func TestCrashDemo(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	if got := s.culm(demo(t, "1")...); got != everyEffectOnce {
		t.Errorf("got:\n%s", got)
	}
}

// Killed in its sleep, nothing is in doubt: it just goes on, and the sleep is not
// begun again.
func TestCrashDemoKilledInItsSleep(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.killAt("wait_set settle", demo(t, "1500")...)
	run := s.onlyRun()
	if got := s.culm("continue", run); got != everyEffectOnce {
		t.Errorf("got:\n%s", got)
	}
	journal := s.culm("events", run)
	for _, event := range []string{"wait_set settle", "step_started settle", "step_completed settle"} {
		if n := strings.Count(journal, event); n != 1 {
			t.Errorf("%s happened %d times:\n%s", event, n, journal)
		}
	}
}

// Killed in an effect, it waits for a verdict; that nothing was charged ends it.
func TestCrashDemoKilledInAnEffect(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.killAt("step_started charge@root[0]", append(demo(t, "1"), "-a", "pace=600", "-a", `orders=["anna"]`)...)
	run := s.onlyRun()
	s.refused(5, "error[step_in_doubt]", "continue", run)
	s.refused(5, "error[step_in_doubt]", "continue", run)
	if n := s.effects(); n > 1 {
		t.Errorf("there are %d effects", n)
	}
	s.culm("resolve", run, "charge:0", "--force", "--fail", "nobody was charged")
	if shown := s.culm("show", run); !strings.Contains(shown, "nobody was charged") {
		t.Errorf("the run does not say why it failed:\n%s", shown)
	}
	s.refused(5, "error[terminal]", "continue", run) // the last verdict ended it
	if n := s.effects(); n > 1 {
		t.Errorf("there are %d effects", n)
	}
}

// refused runs a culm command that must exit so, and say that.
func (s *shell) refused(status int, said string, args ...string) {
	s.t.Helper()
	cmd := s.command(binary, args...)
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != status || !strings.Contains(string(out), said) {
		s.t.Errorf("culm %v: exit status %d (%v), want %d and %q:\n%s", args, got, err, status, said, out)
	}
}

// effects counts what the demo did.
func (s *shell) effects() int {
	s.t.Helper()
	log, err := os.ReadFile(filepath.Join(s.dir, "crash-demo.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	return strings.Count(string(log), "\n")
}

// killAt runs culm and kills it once it has said something.
func (s *shell) killAt(said string, args ...string) {
	s.t.Helper()
	cmd := s.command(binary, args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	found := await(stderr, said)
	killed := cmd.Process.Kill()
	_ = cmd.Wait() // it was killed, and says so
	if !found || killed != nil {
		s.t.Fatalf("culm %v never said %q (%v)", args, said, killed)
	}
}

func await(output io.Reader, said string) bool {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if strings.Contains(lines.Text(), said) {
			return true
		}
	}
	return false
}

// onlyRun is the id of the one run there is.
func (s *shell) onlyRun() string {
	s.t.Helper()
	lines := strings.Split(strings.TrimSpace(s.culm("list")), "\n")
	if len(lines) != 2 || !strings.Contains(lines[1], "gone!") {
		s.t.Fatalf("expected one run whose process is gone:\n%s", strings.Join(lines, "\n"))
	}
	return strings.Fields(lines[1])[0]
}
