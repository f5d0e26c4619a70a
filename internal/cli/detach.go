package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/culm-dev/culm/run"
)

// A detached run is owned by a second culm process in a session of its own. It is
// given the same command line, and a pipe on which it says, once, how far it came:
// the durable running snapshot, or the error that it ended with before that.
const (
	handoverVariable = "CULM_INTERNAL_HANDOVER"
	handoverFD       = 3
)

// handover is the background process's side.
type handover struct {
	under  bool // this process is the background one
	pipe   *os.File
	stderr bytes.Buffer
}

// handedOver is what the background process says.
type handedOver struct {
	Exit   int       `json:"exit"`
	Stderr string    `json:"stderr,omitempty"`
	View   *run.View `json:"view,omitempty"`
}

// beginHandover finds out whether this process is to run in the background.
func (in *invocation) beginHandover() {
	if in.Env(handoverVariable) == "" {
		return
	}
	pipe := os.NewFile(handoverFD, "handover")
	if info, err := pipe.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return
	}
	in.handed.under, in.handed.pipe = true, pipe
	in.Stdout, in.Stderr = io.Discard, &in.handed.stderr
}

// handOver tells the waiting process that the run is durable. It reports whether
// there is one; from then on nobody sees what this process writes.
func (in *invocation) handOver(v *run.View) bool {
	if !in.handed.under {
		return false
	}
	in.tell(handedOver{View: v})
	return true
}

// endHandover tells a process that still waits how this one ended.
func (in *invocation) endHandover(status int) {
	if in.handed.under {
		in.tell(handedOver{Exit: status})
	}
}

// tell writes the one message. A reader that is gone does not matter: the run
// goes on all the same.
func (in *invocation) tell(h handedOver) {
	in.notes.Lock()
	defer in.notes.Unlock()
	if in.handed.pipe == nil {
		return
	}
	h.Stderr = in.handed.stderr.String()
	in.Stderr = io.Discard
	_ = writeJSONLine(in.handed.pipe, h)
	_ = in.handed.pipe.Close()
	in.handed.pipe = nil
}

// detach starts the background process and waits until it has handed over.
func (in *invocation) detach(ctx context.Context, needsStdin bool) error {
	session := ownSession()
	if in.Executable == "" || session == nil {
		return &Failure{Exit: ExitUsage, Code: "unsupported_detach", Message: "--detach: cannot start a background process here"}
	}
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	defer read.Close()
	cmd := exec.Command(in.Executable, in.Args...)
	cmd.Env = append(os.Environ(), handoverVariable+"=1")
	cmd.ExtraFiles = []*os.File{write} // becomes handoverFD
	cmd.SysProcAttr = session
	if needsStdin {
		cmd.Stdin = in.Stdin
	}
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start background process: %w", err), write.Close())
	}
	if err := write.Close(); err != nil {
		return fmt.Errorf("close pipe: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(os.Interrupt) })
	defer stop()
	return in.receive(cmd, read)
}

// receive passes on what the background process said.
func (in *invocation) receive(cmd *exec.Cmd, from io.Reader) error {
	data, err := io.ReadAll(from)
	if err != nil {
		return fmt.Errorf("wait for background process: %w", err)
	}
	var h handedOver
	if err := json.Unmarshal(data, &h); err != nil {
		return fmt.Errorf("the background process ended without a word: %w", cmd.Wait())
	}
	if _, err := io.WriteString(in.Stderr, h.Stderr); err != nil {
		return err
	}
	if h.View == nil {
		_ = cmd.Wait() // it ended: its status is in the message
		return exit(h.Exit)
	}
	if err := cmd.Process.Release(); err != nil {
		return fmt.Errorf("release background process: %w", err)
	}
	if in.global.json() {
		return writeJSONDoc(in.Stdout, h.View)
	}
	if _, err := fmt.Fprintln(in.Stdout, h.View.RunID); err != nil {
		return err
	}
	if h.View.Status.Terminal() { // it was started before, under the same key
		in.note("It has ended ("+outcome(h.View)+"). To look at it:", in.indented("show", short(h.View.RunID)))
		return nil
	}
	in.note("It runs in the background. To follow it:", in.indented("wait", short(h.View.RunID)))
	return nil
}
