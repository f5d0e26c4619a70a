package file_test

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/file"
)

// acknowledged reads what a child said until it ended: how many commits returned.
func (p *process) acknowledged() uint64 {
	p.t.Helper()
	var last uint64
	for line := range p.lines {
		n, err := strconv.ParseUint(line, 10, 64)
		if err != nil || n != last+1 {
			p.t.Fatalf("the child says %q after %d", line, last)
		}
		last = n
	}
	return last
}

// A process that dies at any point of a commit leaves all of what it was told of, and
// of the commit at hand all or nothing.
func TestAProcessThatDiesInACommitLosesNothing(t *testing.T) {
	t.Parallel()
	for _, at := range file.Points {
		for _, time := range []string{"1", "2", "5", "11"} {
			t.Run(at+" for the "+time+". time", func(t *testing.T) {
				t.Parallel()
				dir := dirOf(t)
				p := startChild(t, "die", dir, at, time)
				told := p.acknowledged()
				err := p.cmd.Wait()
				var exit *exec.ExitError
				if want := dead + slices.Index(file.Points, at); !asError(err, &exit) || exit.ExitCode() != want {
					t.Fatalf("the child ended with %v, want %d", err, want)
				}
				s := open(t, dir)
				n, err := worked(t.Context(), s, told, told+1)
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					return
				}
				c, err := s.Claim(t.Context(), "s")
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				b := work(n)
				b.Appends[0].Claim = c
				commit(t, s, b)
				if _, err := worked(t.Context(), s, n+1, n+1); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// The one that dies leaves others that live: they complete what it left, also to read.
func TestTheLivingCompleteWhatTheDeadLeft(t *testing.T) {
	t.Parallel()
	for _, at := range file.Points {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			dir := dirOf(t)
			s := open(t, dir)
			commit(t, s, newStream("first", `{}`))
			commit(t, s, appendTo("first", 1, `{}`))
			changed, stop := s.Watch("first")
			defer stop()
			p := startChild(t, "die", dir, at, "3")
			told := p.acknowledged()
			h, err := s.Head(t.Context(), "s")
			if err != nil || h.Last < told || h.Last > told+1 {
				t.Errorf("%d were acknowledged, and the head is %+v, %v", told, h, err)
			}
			commit(t, s, appendTo("first", 2, `{}`))
			<-changed
			// work expects to be alone in the listing, so that is left out.
			if err := workedBesides(t, s, h.Last); err != nil {
				t.Error(err)
			}
		})
	}
}

func workedBesides(t *testing.T, s store.Store, n uint64) error {
	t.Helper()
	if n < 2 {
		return nil
	}
	a, err := s.Account(t.Context(), "s")
	if err != nil || a.Spent["u"] != int64(n-1) {
		return fmt.Errorf("account %+v: %w", a, err)
	}
	return workedMail(t.Context(), s, n)
}

// Processes are killed at random moments, one after the other, on one folder each.
func TestKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	for round := range 12 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(uint64(round), 7))
			dir := dirOf(t)
			p := startChild(t, "work", dir)
			first := p.next() // it is at work
			pause := time.NewTimer(time.Duration(rng.IntN(60_000)) * time.Microsecond)
			<-pause.C // the random moment
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			told := uint64(1)
			if first != "1" {
				t.Fatalf("the child says %q", first)
			}
			for line := range p.lines {
				n, err := strconv.ParseUint(line, 10, 64)
				if err == nil { // the last line may be cut
					told = n
				}
			}
			s := open(t, dir)
			if _, err := worked(t.Context(), s, told, told+1); err != nil {
				t.Error(err)
			}
			// Once more, by a store that has nothing but the files.
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := worked(t.Context(), open(t, dir), told, told+1); err != nil {
				t.Error(err)
			}
		})
	}
}

// The redo log begins anew again and again while handles commit and read.
func TestTheLogBeginsAnewBesideCommits(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	opt := file.Hooked(func(string) {}, 20<<10)
	a, err := file.Open(t.Context(), dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	b := open(t, dir)
	commit(t, b, newStream("other"))
	for n := range uint64(150) {
		commit(t, a, work(n))
		commit(t, b, appendTo("other", n, event(n+1)))
		if h := head(t, b, "s"); h.Last != n+1 {
			t.Fatalf("after %d commits another handle sees %+v", n+1, h)
		}
	}
	if err := workedBesides(t, b, 150); err != nil {
		t.Error(err)
	}
	if h := head(t, a, "other"); h.Last != 150 {
		t.Errorf("head: %+v", h)
	}
}
