package examples_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands of examples/cleanup/README.md: nothing is left of the scratch folder,
// and a note only of what failed.
func TestCleanup(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	if got := s.culm("run", example(t, "cleanup"), "--trust", "--allow", "exec,write"); got != "brown\ndog\nfox\nlazy\nquick\nthe\n" {
		t.Errorf("got %q", got)
	}
	s.wantFiles()
	failed := s.command(binary, "run", example(t, "cleanup"), "--trust", "--allow", "exec,write", "-a", `texts=["123"]`)
	if err := failed.Run(); err == nil || failed.ProcessState.ExitCode() != 1 {
		t.Errorf("without words: %v", err)
	}
	s.wantFiles("cleanup-note.md")
	note, err := os.ReadFile(filepath.Join(s.dir, "cleanup-note.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(note), "This run failed: ") || !strings.Contains(string(note), "there are no words") {
		t.Errorf("the note says %q", note)
	}
}

// wantFiles checks what is in the folder.
func (s *shell) wantFiles(want ...string) {
	s.t.Helper()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		s.t.Errorf("the folder holds %q, want %q", got, want)
	}
}
