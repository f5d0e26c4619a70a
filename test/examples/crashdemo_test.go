package examples_test

import (
	"bufio"
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

// Killed in an effect, it waits for a verdict, and then goes on.
func TestCrashDemoKilledInAnEffect(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	slow := append(demo(t, "1"), "-a", "pace=600")
	s.killAt("step_started charge@root[0]", slow...)
	run := s.onlyRun()
	refused := s.command(binary, "continue", run)
	out, err := refused.CombinedOutput()
	if refused.ProcessState == nil || refused.ProcessState.ExitCode() != 5 || !strings.Contains(string(out), "error[step_in_doubt]") {
		t.Fatalf("continue: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "crash-demo.log")); err == nil && s.effects() > 1 {
		t.Errorf("there are %d effects", s.effects())
	}
	s.culm("resolve", run, "charge:0", "--fail", "nobody charged anna")
	failed := s.command(binary, "continue", run)
	out, err = failed.CombinedOutput()
	if failed.ProcessState.ExitCode() != 1 && !strings.Contains(string(out), "terminal") {
		t.Errorf("continue after a failure: %v\n%s", err, out)
	}
}

func (s *shell) effects() int {
	s.t.Helper()
	log, err := os.ReadFile(filepath.Join(s.dir, "crash-demo.log"))
	if err != nil {
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
