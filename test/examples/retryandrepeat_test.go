package examples_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func (s *shell) read(name string) string {
	s.t.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(content)
}

func (s *shell) mkdir(file string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(s.dir, file)), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

func TestRetryAndRepeat(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	command := []string{"run", example(t, "retry-and-repeat"), "--trust", "--allow", "exec", "-a", "pause_ms=1"}
	if got, want := s.culm(command...), "The service said 42; the job is done.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := s.read("service.log"), "token\nfetch\nfetch\nfetch\n"; got != want {
		t.Errorf("what succeeded is kept, what failed is entered again: got %q, want %q", got, want)
	}
	if got := strings.Count(s.read("job.log"), "ask\n"); got != 4 {
		t.Errorf("the job was asked %d times", got)
	}

	s.refused(1, "error[retry_exhausted]", append(command, "-a", "down=9")...)
	if got, want := s.read("service.log"), "token\n"+strings.Repeat("fetch\n", 4); got != want {
		t.Errorf("four attempts are four: got %q, want %q", got, want)
	}
}

// Killed in the delay before a round, it goes on with that round.
func TestRetryKilledInItsDelay(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.killAt("retry_reserved", "run", example(t, "retry-and-repeat"), "--trust", "--allow", "exec", "-a", "pause_ms=1")
	if got, want := s.culm("continue", s.onlyRun()), "The service said 42; the job is done.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := s.read("service.log"), "token\nfetch\nfetch\nfetch\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
