//go:build unix

package proc

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// requestPatience is how long a guard may take to read its request.
const requestPatience = 10 * time.Second

// endPatience is how long the owner waits for a guard to say that the tree is
// gone, beyond all graces. Only a process that cannot be killed outlasts it.
const endPatience = leftoverPatience + cancelGrace + 2*time.Second

// guardHandle is an owner's side of a running guard.
type guardHandle struct {
	cmd     *exec.Cmd
	life    *os.File
	reports <-chan guardReport // closed when the guard is gone
}

func (c Child) runGuarded(ctx context.Context, s *streams) (Exit, error) {
	h, err := c.startGuard(s)
	if err != nil {
		return Exit{}, &StartError{err}
	}
	defer h.life.Close()
	return h.follow(ctx)
}

// startGuard starts a guard and gives it its request.
func (c Child) startGuard(s *streams) (*guardHandle, error) {
	lifeR, lifeW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open life pipe: %w", err)
	}
	defer lifeR.Close()
	reportR, reportW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open report pipe: %w", err), lifeW.Close())
	}
	defer reportW.Close()

	cmd := exec.Command(c.Guard[0], c.Guard[1:]...)
	cmd.Env = []string{} // the program's environment travels in the request
	cmd.Dir = "/"        // a guard keeps no folder busy
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.theirs[0], s.theirs[1], s.theirs[2]
	cmd.ExtraFiles = []*os.File{lifeR, reportW}
	// A session of its own: no terminal to read passwords from or to get Ctrl-C of.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start guard: %w", err), lifeW.Close(), reportR.Close())
	}
	s.started()
	h := &guardHandle{cmd: cmd, life: lifeW, reports: readReports(cmd, reportR)}
	// A failed write shows as a guard that ends without being ready.
	_ = lifeW.SetWriteDeadline(time.Now().Add(requestPatience))
	err = writeGuardRequest(lifeW, guardRequest{
		Version: guardVersion, Path: c.Path, Argv: c.Argv, Env: c.Env, Dir: c.Dir, LockPath: c.LockPath,
	})
	if err != nil {
		_ = lifeW.Close()
	}
	_ = lifeW.SetWriteDeadline(time.Time{})
	return h, nil
}

// readReports passes on what the guard says, ends what it left if it was killed, and
// reaps it. Its goroutine ends with the guard.
func readReports(cmd *exec.Cmd, r *os.File) <-chan guardReport {
	reports := make(chan guardReport, 4) // as many as there can be: nobody has to listen
	go func() {
		defer close(reports)
		defer r.Close()
		var last guardReport
		program := 0
		dec := gob.NewDecoder(r)
		for range cap(reports) {
			var report guardReport
			if dec.Decode(&report) != nil {
				break
			}
			if report.Kind == reportStarted {
				program = report.Value
			}
			last = report
			reports <- report
		}
		_, _ = io.Copy(io.Discard, r) // until the guard and its tree are gone
		if !last.final() {
			endOrphans(cmd.Process.Pid, program)
		}
		_ = cmd.Wait()
	}()
	return reports
}

// follow waits for the tree's end, and passes on that ctx is done.
func (h *guardHandle) follow(ctx context.Context) (Exit, error) {
	var (
		seen      = map[reportKind]guardReport{}
		done      = ctx.Done()
		cancelled bool // before the program ended
		ended     bool
		giveUp    <-chan time.Time
	)
	for {
		select {
		case r, open := <-h.reports:
			if !open {
				return h.verdict(ctx, seen, cancelled)
			}
			seen[r.Kind] = r
			if r.Kind == reportExited || r.Kind == reportSignaled {
				ended = true
				giveUp = time.After(endPatience)
			}
		case <-done:
			done = nil
			cancelled = !ended
			_, _ = h.life.Write([]byte{'x'}) // the pipe is empty: this does not block
			giveUp = time.After(endPatience)
		case <-giveUp:
			return h.verdict(ctx, seen, cancelled)
		}
	}
}

// verdict says what is known from the reports that came.
func (h *guardHandle) verdict(ctx context.Context, seen map[reportKind]guardReport, cancelled bool) (Exit, error) {
	if r, ok := seen[reportRefused]; ok {
		if r.Held {
			return Exit{}, &StartError{ErrStepLockHeld}
		}
		return Exit{}, &StartError{errors.New(r.Message)}
	}
	if r, ok := seen[reportExited]; ok {
		return Exit{Code: r.Value, Cancelled: cancelled}, nil
	}
	if r, ok := seen[reportSignaled]; ok {
		return Exit{Signal: syscall.Signal(r.Value), Cancelled: cancelled}, nil
	}
	if cancelled && h.alive() {
		return Exit{}, fmt.Errorf("the processes do not end: %w", context.Cause(ctx))
	}
	if _, ok := seen[reportReady]; !ok && !h.alive() {
		return Exit{}, &StartError{fmt.Errorf("%s ended before it started anything; is it a binary that calls proc.GuardMain?", h.cmd.Path)}
	}
	return Exit{}, errors.New("the guard was killed: it is not known how the program ended")
}

// alive reports whether the guard has not been seen to end.
func (h *guardHandle) alive() bool {
	select {
	case _, open := <-h.reports:
		return open
	default:
		return true
	}
}
