//go:build unix

package proc

import (
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// GuardMain is the whole life of a guard process; its result is the exit status.
// A binary that is to guard its own tools calls it before anything else, flags
// included, when its first argument is [GuardArg]; args are those behind it.
//
// It starts the one program that the owner asks for, holds the step lock, and
// returns when the program and all its descendants are gone: at the latest 2 s
// after the owner's death. On Linux it adopts orphans, so that a descendant can
// escape neither by a double fork nor by setsid; elsewhere a process that leaves
// the process group survives, and shows by holding the step lock.
func GuardMain(args []string) int {
	life, report := os.NewFile(guardLifeFD, "life"), os.NewFile(guardReportFD, "report")
	if len(args) > 0 || !isPipe(life) || !isPipe(report) {
		fmt.Fprintln(os.Stderr, "culm: "+GuardArg+" is internal: culm starts it to watch over the processes of a step")
		return 2
	}
	// The program's parent-death signal is tied to the thread that starts it.
	runtime.LockOSThread()
	unix.CloseOnExec(guardLifeFD)
	unix.CloseOnExec(guardReportFD)
	g := &guard{life: life, reports: gob.NewEncoder(report)}
	if err := g.run(); err != nil {
		g.report(guardReport{Kind: reportRefused, Message: err.Error(), Held: errors.Is(err, ErrStepLockHeld)})
		return 1
	}
	return 0
}

func isPipe(f *os.File) bool {
	if f == nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// guard is the state of a guard process. Only its main goroutine touches it.
type guard struct {
	life    *os.File
	reports *gob.Encoder

	pid       int // the program, also its process group
	exited    bool
	ending    bool // SIGTERM was sent
	killing   bool // SIGKILL is sent at each sweep
	endsAt    <-chan time.Time
	killsAt   <-chan time.Time
	killAfter time.Duration
}

func (g *guard) report(r guardReport) {
	// An owner that is gone reads nothing; the tree still has to be ended.
	_ = g.reports.Encode(r)
}

// run starts the program and ends with its tree. An error means that nothing was
// started.
func (g *guard) run() error {
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	ends := make(chan os.Signal, 4)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)

	q, err := readGuardRequest(g.life)
	if err != nil {
		return err
	}
	lock, err := g.lock(q.LockPath)
	if err != nil {
		return err
	}
	if lock != nil {
		defer releaseStepLock(q.LockPath, lock)
	}
	if err := adoptOrphans(); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	// From here on the lock tells the truth, but whoever saw it free after the
	// owner's death must not be surprised by a start.
	if ownerGone() {
		return errors.New("the owner is gone")
	}
	g.report(guardReport{Kind: reportReady})
	if err := g.start(q, lock); err != nil {
		return err
	}
	g.report(guardReport{Kind: reportStarted, Value: g.pid})
	g.supervise(children, ends, g.watchOwner())
	return nil
}

func (g *guard) lock(path string) (*FileLock, error) {
	if path == "" {
		return nil, nil
	}
	return acquireStepLock(path)
}

// ownerGone looks at the life pipe without reading from it.
func ownerGone() bool {
	fds := []unix.PollFd{{Fd: guardLifeFD}}
	_, err := unix.Poll(fds, 0)
	return err == nil && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}

// start starts the program with the guard's standard streams, which the guard
// then gives up: the owner sees their end when the tree is gone.
func (g *guard) start(q guardRequest, lock *FileLock) error {
	files := []uintptr{0, 1, 2}
	if lock != nil {
		files = append(files, lock.File().Fd())
	}
	pid, err := syscall.ForkExec(q.Path, q.Argv, &syscall.ProcAttr{
		Dir: q.Dir, Env: q.Env, Files: files, Sys: guardedProcAttr(),
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", q.Path, err)
	}
	g.pid = pid
	giveUpStandardStreams()
	return nil
}

func giveUpStandardStreams() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		for fd := range 3 {
			_ = unix.Close(fd)
		}
		return
	}
	defer null.Close()
	for fd := range 3 {
		_ = replaceFD(int(null.Fd()), fd)
	}
}

// watchOwner tells of the owner's wishes: true that it wants the tree ended,
// closed that it is gone. The goroutine ends with the process.
func (g *guard) watchOwner() <-chan bool {
	wishes := make(chan bool)
	go func() {
		defer close(wishes)
		var b [1]byte
		for {
			if n, err := g.life.Read(b[:]); n == 0 || err != nil {
				return
			}
			wishes <- true
		}
	}()
	return wishes
}
