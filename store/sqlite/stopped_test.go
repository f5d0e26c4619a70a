//go:build linux || darwin

package sqlite_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/culm-dev/culm/store"
)

// A stopped process stays the owner of its streams; which one it is must be told.
func TestExamineNamesAStoppedOwner(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	p := startChild(t, "own", path, "s")
	p.next()
	pid := p.cmd.Process.Pid
	s := open(t, path)
	if found := findings(t, s); len(found) > 0 {
		t.Errorf("found %q", found)
	}
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s s: the process that owns it (pid %d) is stopped", store.FoundStoppedOwner, pid)
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(time.Minute)
	for found := findings(t, s); strings.Join(found, "\n") != want; found = findings(t, s) {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("found %q, want %q", found, want)
		}
	}
	p.kill()
	if found := findings(t, s); len(found) != 1 || !strings.HasPrefix(found[0], store.FoundDeadOwner+" s") {
		t.Errorf("found %q", found)
	}
}
