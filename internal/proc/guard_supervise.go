//go:build unix

package proc

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// supervise returns when the program and every descendant that can be found are
// gone.
func (g *guard) supervise(children, ends <-chan os.Signal, wishes <-chan bool) {
	sweep := time.NewTicker(sweepInterval)
	defer sweep.Stop()
	for !g.reap() {
		var sweeps <-chan time.Time
		if g.exited || g.ending { // else there is nothing to look for
			sweeps = sweep.C
		}
		select {
		case <-children:
		case <-sweeps:
			g.sweep()
		case <-g.endsAt:
			g.end(g.killAfter)
		case <-g.killsAt:
			g.killing = true
			g.sweep()
		case <-ends:
			g.end(orphanGrace)
		case _, alive := <-wishes:
			if alive {
				g.end(cancelGrace)
				continue
			}
			wishes = nil
			g.end(orphanGrace)
		}
	}
}

// end asks the tree to end, and has what remains killed after grace. A later
// call can only shorten the grace.
func (g *guard) end(grace time.Duration) {
	g.endsAt = nil
	if g.ending && grace >= g.killAfter {
		return
	}
	g.killAfter = grace
	g.killsAt = time.After(grace)
	if !g.ending {
		g.ending = true
		g.signalTree(syscall.SIGTERM)
	}
}

// sweep kills what has come since the last time, once the grace is over.
func (g *guard) sweep() {
	if g.killing {
		g.signalTree(syscall.SIGKILL)
	}
}

// signalTree signals the program's process group and all other descendants, each
// once: many programs take a second SIGTERM for impatience. Stopped processes are
// continued, so that they can act on it.
func (g *guard) signalTree(sig syscall.Signal) {
	for _, s := range []syscall.Signal{sig, syscall.SIGCONT} {
		_ = syscall.Kill(-g.pid, s)
		for _, pid := range descendants(os.Getpid()) {
			if pgid, err := syscall.Getpgid(pid); err == nil && pgid != g.pid {
				_ = syscall.Kill(pid, s)
			}
		}
	}
}

// reap collects every child that has ended, reports the program's end, and says
// whether the tree is gone.
func (g *guard) reap() (gone bool) {
	for {
		var st syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &st, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // ECHILD: all descendants that were ours are gone
			return g.exited && treeGone(g.pid)
		case pid == 0:
			return false
		case pid == g.pid:
			g.programEnded(st)
		}
	}
}

func (g *guard) programEnded(st syscall.WaitStatus) {
	g.exited = true
	r := guardReport{Kind: reportExited, Value: st.ExitStatus()}
	if st.Signaled() {
		r = guardReport{Kind: reportSignaled, Value: int(st.Signal())}
	}
	g.report(r)
	if !g.ending {
		g.killAfter = cancelGrace
		g.endsAt = time.After(leftoverPatience)
	}
}
