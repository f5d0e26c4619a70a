package proc_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/culm-dev/culm/internal/proc"
)

func TestStepLockPathIsOneFilePerStep(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, id := range [][2]string{{"r", "a"}, {"r", "b"}, {"ra", ""}, {"r", "a@root[2]"}, {"r", "../../a/b"}} {
		path := proc.StepLockPath("locks", id[0], id[1])
		if seen[path] {
			t.Errorf("%v shares its lock", id)
		}
		seen[path] = true
		if filepath.Dir(path) != "locks" {
			t.Errorf("%v leads to %s", id, path)
		}
		if path != proc.StepLockPath("locks", id[0], id[1]) {
			t.Errorf("%v has two locks", id)
		}
	}
}

func TestStepLockHeld(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := proc.StepLockPath(filepath.Join(dir, "locks"), "r", "s")
	probe := func(want bool) {
		t.Helper()
		held, err := proc.StepLockHeld(path)
		if err != nil || held != want {
			t.Fatalf("held: %t, %v, want %t", held, err, want)
		}
	}
	probe(false)
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Fatalf("a probe created %v", entries)
	}
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	probe(false) // a file left behind is no lock
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	probe(true)
	probe(true)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	probe(false)
}
