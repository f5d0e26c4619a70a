//go:build unix

package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/culm-dev/culm/store"
)

func TestAKilledProcessIsDeadAtOnce(t *testing.T) {
	t.Parallel()
	path := dirOf(t)
	owner := startChild(t, "own", path, "s")
	pid, _ := strconv.Atoi(strings.TrimPrefix(owner.next(), "owns "))
	s := open(t, path)
	if h := head(t, s, "s"); !h.Owner.Alive || h.Owner.Self || h.Owner.PID != pid {
		t.Fatalf("while it lives: %+v", h.Owner)
	}
	owner.kill()
	if h := head(t, s, "s"); h.Owner.Alive || h.Last != 1 {
		t.Fatalf("after SIGKILL: %+v", h)
	}
	c, err := s.Claim(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := appendTo("s", 1, `{}`)
	b.Appends[0].Claim = c
	commit(t, s, b)
	if h := head(t, s, "s"); !h.Owner.Self || h.Owner.Epoch != 2 {
		t.Errorf("after taking over: %+v", h.Owner)
	}
}

func TestAStoppedProcessStaysTheOwner(t *testing.T) {
	t.Parallel()
	path := dirOf(t)
	owner := startChild(t, "own", path, "s")
	owner.next()
	if err := owner.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	if h := head(t, s, "s"); !h.Owner.Alive || h.Owner.PID != owner.cmd.Process.Pid {
		t.Errorf("while it is stopped: %+v", h.Owner)
	}
	if _, err := s.Claim(t.Context(), "s"); !isError(err, store.ErrOwned) {
		t.Errorf("claim: %v", err)
	}
}

func TestInvariant9_OneOfSixteenProcessesTakesOver(t *testing.T) {
	t.Parallel()
	path := dirOf(t)
	owner := startChild(t, "own", path, "s")
	owner.next()
	owner.kill()
	children := make([]*process, 16)
	for i := range children {
		children[i] = startChild(t, "claim", path, "s")
		children[i].next()
	}
	for _, c := range children {
		c.tell("go")
	}
	won := 0
	for _, c := range children {
		switch line := c.next(); line {
		case "won":
			won++
		case "owned elsewhere":
		default:
			t.Errorf("a child says %q", line)
		}
	}
	if h := head(t, open(t, path), "s"); won != 1 || h.Last != 2 || h.Owner.Epoch != 2 {
		t.Errorf("%d won: %+v", won, h)
	}
}

// Processes that commit without pause all get their turns.
func TestProcessesTakeTurns(t *testing.T) {
	t.Parallel()
	path := dirOf(t)
	const processes, wanted = 4, 200
	children := make([]*process, processes)
	for i := range children {
		children[i] = startChild(t, "commit", path, fmt.Sprint("s", i))
		children[i].next()
	}
	for _, c := range children {
		c.tell("go")
	}
	// Let them run until the slowest has had its share.
	s := open(t, path)
	changed, stop := s.Watch("s0")
	defer stop()
	for {
		least := uint64(1 << 62)
		for i := range children {
			least = min(least, head(t, s, fmt.Sprint("s", i)).Last)
		}
		if least >= wanted {
			break
		}
		<-changed
	}
	var counts []int
	for _, c := range children {
		c.tell("stop")
		var n int
		if _, err := fmt.Sscan(c.next(), &n); err != nil {
			t.Fatal(err)
		}
		counts = append(counts, n)
	}
	for _, n := range counts {
		for _, m := range counts {
			if n > 10*m {
				t.Errorf("one process got %d turns, another %d", n, m)
			}
		}
	}
}

func TestLockFilesAreSweptWhenNobodyNamesTheirOwner(t *testing.T) {
	t.Parallel()
	path := dirOf(t)
	owner := startChild(t, "own", path, "s")
	owner.next()
	owner.kill()
	locks := func() int {
		names, err := filepath.Glob(filepath.Join(path, "locks", "*.lock"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	first := open(t, path)
	commit(t, first, newStream("first"))
	if n := locks(); n != 2 { // its own, and the dead owner's, whom s names
		t.Errorf("%d lock files", n)
	}
	c, err := first.Claim(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	b := appendTo("s", 1, `{}`)
	b.Appends[0].Claim = c
	b.Appends[0].Release = true
	commit(t, first, b)
	c.Close()
	second := open(t, path)
	commit(t, second, newStream("second"))
	if n := locks(); n != 2 { // of the two that live
		t.Errorf("%d lock files after nobody names the dead owner", n)
	}
	if !head(t, second, "first").Owner.Alive {
		t.Error("a living owner was swept away")
	}
	if _, err := os.Stat(filepath.Join(path, "locks", "turn")); err != nil {
		t.Error(err)
	}
}
