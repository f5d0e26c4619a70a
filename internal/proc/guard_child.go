//go:build unix

package proc

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// Child is a program to run with all that it starts.
type Child struct {
	// Guard is the command that makes a guard, usually the culm binary and
	// [GuardArg]. Without it the program runs directly under this process: then
	// nothing ends it when this process is killed, but the step lock still tells.
	Guard []string

	Path string   // absolute path of the program
	Argv []string // with the program's name first
	Env  []string // all of it
	Dir  string   // absolute

	Stdin []byte
	// Stdout and Stderr are written by one goroutine each. They must not block.
	Stdout, Stderr io.Writer

	// LockPath, when not empty, is locked for as long as any of it lives.
	LockPath string
}

// Exit is how a program ended.
type Exit struct {
	// Code is its exit status, meaningless if Signal is not 0.
	Code   int
	Signal syscall.Signal
	// Cancelled says that it ended after the context was done and it was told to.
	Cancelled bool
}

// StartError says that the program was not started: it is known that nothing
// happened.
type StartError struct{ Err error }

func (e *StartError) Error() string { return "could not start: " + e.Err.Error() }

// Unwrap returns the cause, [ErrStepLockHeld] among others.
func (e *StartError) Unwrap() error { return e.Err }

// outputPatience is how long Run still reads when the tree is gone: only a
// process that escaped can hold the other end.
const outputPatience = time.Second

// Run starts the program and returns when it and all its descendants are gone.
// When ctx is done, the tree gets SIGTERM and 2 s later SIGKILL. The error is a
// [StartError] if nothing was started; any other error means that the end is not
// known. Processes that no signal reaches (another user's) are left to hold the
// step lock.
func (c Child) Run(ctx context.Context) (Exit, error) {
	if err := ctx.Err(); err != nil {
		return Exit{}, &StartError{context.Cause(ctx)}
	}
	s, err := openStreams(c.Stdin, c.Stdout, c.Stderr)
	if err != nil {
		return Exit{}, &StartError{err}
	}
	defer s.finish()
	if len(c.Guard) == 0 {
		return c.runDirect(ctx, s)
	}
	return c.runGuarded(ctx, s)
}

// streams are the program's standard streams: its ends, and the goroutines that
// move bytes at ours.
type streams struct {
	theirs []*os.File // stdin, stdout, stderr
	ours   []*os.File
	moving sync.WaitGroup
}

func openStreams(stdin []byte, stdout, stderr io.Writer) (*streams, error) {
	s := &streams{}
	err := s.openStdin(stdin)
	if err == nil {
		err = s.openOutput(stdout)
	}
	if err == nil {
		err = s.openOutput(stderr)
	}
	if err != nil {
		s.finish()
		return nil, err
	}
	return s, nil
}

func (s *streams) openStdin(data []byte) error {
	if len(data) == 0 {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return fmt.Errorf("open standard input: %w", err)
		}
		s.theirs = append(s.theirs, null)
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("open standard input: %w", err)
	}
	s.theirs, s.ours = append(s.theirs, r), append(s.ours, w)
	s.moving.Go(func() {
		_, _ = w.Write(data) // a program need not read its input
		_ = w.Close()
	})
	return nil
}

func (s *streams) openOutput(to io.Writer) error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("open output pipe: %w", err)
	}
	s.theirs, s.ours = append(s.theirs, w), append(s.ours, r)
	s.moving.Go(func() { _, _ = io.Copy(to, r) })
	return nil
}

// started gives up the program's ends after it, or its guard, was started.
func (s *streams) started() {
	for _, f := range s.theirs {
		_ = f.Close()
	}
	s.theirs = nil
}

// finish waits until all output was read, but not for a process that escaped with
// the other end. It may be called more than once.
func (s *streams) finish() {
	s.started()
	done := make(chan struct{})
	go func() {
		s.moving.Wait()
		close(done)
	}()
	patience := time.NewTimer(outputPatience)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
	}
	for _, f := range s.ours { // ends goroutines that still read or write
		_ = f.Close()
	}
	s.ours = nil
	<-done
}
