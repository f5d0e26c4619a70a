package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/culm-dev/culm/internal/cli/term"
)

// Main is one invocation of culm. Tests start it in their own process.
type Main struct {
	Args           []string // without the program's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Env looks an environment variable up; "" if it is not set.
	Env func(name string) string
	// Interrupt delivers Ctrl-C and the like: the first asks to stop, the second
	// to leave at once. Nil never does.
	Interrupt <-chan os.Signal
	// Executable is the program to start as the guard of tools and as the owner
	// of detached runs. Empty means none: tools run unguarded, and nothing can be
	// detached.
	Executable string
	// Now is the clock for what is shown; nil is time.Now.
	Now func() time.Time
}

// errInterrupted is the cause of a context that an interrupt cancelled.
var errInterrupted = errors.New("interrupted")

// Run executes the command line and returns the exit status. After a second
// interrupt it returns at once, with the command still winding down: the caller
// is expected to exit.
func (m Main) Run(ctx context.Context) int {
	in := m.invocation()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	leave, stopped := in.watchInterrupts(cancel)
	defer stopped()
	done := make(chan int, 1)
	go func() { done <- in.execute(ctx) }()
	select {
	case status := <-done:
		return status
	case <-leave:
		in.sayLeft()
		return ExitInterrupted
	}
}

// sayLeft says what becomes of the run that this process left in the middle.
func (in *invocation) sayLeft() {
	if id := in.owned.Load(); id != nil && !in.global.json() {
		in.write([]string{"", "Left in the middle. To go on where it was left:", in.indented("continue", short(*id))})
	}
}

// invocation is what the commands share while one of them runs.
type invocation struct {
	Main
	global  globals
	palette term.Palette // of Stderr
	handed  handover
	// onInterrupt, when set, is what the first interrupt calls instead of
	// cancelling the command.
	onInterrupt atomic.Pointer[func()]

	owned atomic.Pointer[string] // the run that this process works on

	notes   sync.Mutex // guards Stderr and showing
	showing display    // takes notes while it is not nil
}

func (m Main) invocation() *invocation {
	if m.Env == nil {
		m.Env = func(string) string { return "" }
	}
	if m.Now == nil {
		m.Now = time.Now
	}
	if m.Stdin == nil {
		m.Stdin = eof{}
	}
	in := &invocation{Main: m, palette: term.NewPalette(term.WantsColour(m.Stderr, m.Env))}
	in.beginHandover()
	return in
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// execute runs the command and shows its error.
func (in *invocation) execute(ctx context.Context) int {
	status := in.report(in.root().ExecuteContext(ctx))
	in.endHandover(status)
	return status
}

func (in *invocation) report(err error) int {
	var silent exit
	switch {
	case err == nil:
		return ExitSucceeded
	case errors.As(err, &silent):
		return int(silent)
	}
	f := failureOf(err)
	if in.global.json() || asksForJSON(in.Args) {
		f.writeJSON(in.Stderr)
	} else {
		f.write(in.Stderr, in.palette)
	}
	return f.Exit
}

// asksForJSON finds -o json in a command line that could not be read to its end.
func asksForJSON(args []string) bool {
	line := " " + strings.Join(args, " ") + " "
	for _, spelling := range []string{" -o json ", " -o=json ", " -ojson ", " --output-format json ", " --output-format=json "} {
		if strings.Contains(line, spelling) {
			return true
		}
	}
	return false
}

// watchInterrupts lets the first interrupt stop the command and closes leave at
// the second. The returned function ends the watch.
func (in *invocation) watchInterrupts(cancel context.CancelCauseFunc) (leave <-chan struct{}, stop func()) {
	left, done, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for count := 1; ; count++ {
			select {
			case <-done:
				return
			case _, ok := <-in.Interrupt:
				if !ok {
					return
				}
			}
			if count > 1 {
				close(left)
				return
			}
			if stop := in.onInterrupt.Load(); stop != nil {
				(*stop)()
			} else {
				cancel(errInterrupted)
			}
		}
	}()
	return left, func() { close(done); <-ended }
}
