// Package shell is the tool "exec": it runs a program.
//
// It is no sandbox: a program can do whatever the user can who runs Culm, and
// that is what its capability, exec, stands for.
package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/culm-dev/culm/internal/proc"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/internal/workspace"
)

// Options are the operator's choices. The zero value is usable.
type Options struct {
	// Guard is the command that makes a guard, which ends a step's processes
	// when Culm itself dies: the culm binary and proc.GuardArg. Without it they
	// go on, and only the step's lock shows it.
	Guard []string
	// Env names variables of this process that programs see beside the allowed
	// ones; a name may end in *.
	Env []string
	// AnyDir lets cwd lie outside the workspace.
	AnyDir bool
	// MaxOutput is how many bytes of stdout, and of stderr, are kept; 0 is 1 MiB.
	MaxOutput int
}

const defaultMaxOutput = 1 << 20

// New returns the tool "exec", with effect write and capability exec.
//
// A program is given as `argv`, without any shell, or as `shell`, a script for
// /bin/sh. It runs in `cwd` (the workspace by default), in a process group of its
// own, without a terminal. Its environment holds the allowed variables of this
// process (PATH, HOME, LANG, LC_*, TERM, TMPDIR, USER, LOGNAME, SHELL, TZ and
// those of [Options]), `env`, and CULM_RUN_ID, CULM_STEP_ID, CULM_ATTEMPT and
// CULM_IDEMPOTENCY_KEY. Secrets belong into `env` or `stdin`: arguments are
// visible to everybody on the machine.
//
// The result is {exit_code, stdout, stderr}. Of output beyond the limit the head
// and the tail are kept, with a line between them that says how much is missing,
// and `truncated` names the stream. Output that is not UTF-8 is {"base64": ...}.
// What the program prints is live output too ([tool.Call.Output]), as it comes.
// A call ends when all processes of it have ended: those that outlive the program
// get a second to finish, then SIGTERM, and two seconds later SIGKILL. Under a
// guard on Linux that finds every descendant; elsewhere, and without a guard, one
// that leaves the process group (setsid) escapes, and holds the step's lock for as
// long as it lives, unless it has closed the descriptors that it did not open.
//
// An exit status that is not among `ok_exit_codes` ([0] by default) is the
// definite failure "execution_failed", as is a program that could not be started
// ("not_found" if there is none, "still_running" if a process of an earlier
// attempt of the step still lives). It may be retried if the status is among
// `retry_exit_codes`. A program that a signal or a cancelled context ended returns
// a plain error: what it did is not known.
func New(o Options) tool.Tool {
	if o.MaxOutput <= 0 {
		o.MaxOutput = defaultMaxOutput
	}
	o.Guard, o.Env = slices.Clone(o.Guard), slices.Clone(o.Env)
	return tool.MustFunc("exec", "Runs a program (argument list, or a shell script) and returns its output.",
		tool.Write, o.call,
		tool.WithCapability(tool.CapExec),
		tool.WithInput(json.RawMessage(inputSchema)),
		tool.WithOutput(json.RawMessage(outputSchema)))
}

type args struct {
	Argv        []string          `json:"argv"`
	Shell       string            `json:"shell"`
	Cwd         string            `json:"cwd"`
	Env         map[string]string `json:"env"`
	Stdin       string            `json:"stdin"`
	OKExitCodes []int             `json:"ok_exit_codes"`
	RetryCodes  []int             `json:"retry_exit_codes"`
}

type output struct {
	ExitCode  int      `json:"exit_code"`
	Stdout    any      `json:"stdout"`
	Stderr    any      `json:"stderr"`
	Truncated []string `json:"truncated,omitempty"`
}

func (o Options) call(ctx context.Context, c tool.Call, in args) (output, error) {
	child, err := o.child(c, in)
	if err != nil {
		return output{}, err
	}
	stdout, stderr := newCapped(o.MaxOutput), newCapped(o.MaxOutput)
	child.Stdout = io.MultiWriter(stdout, c.Output(tool.Stdout))
	child.Stderr = io.MultiWriter(stderr, c.Output(tool.Stderr))
	exit, err := child.Run(ctx)
	if err != nil {
		return output{}, runFailure(ctx, child, err)
	}
	if err := exitFailure(ctx, in, exit, stderr); err != nil {
		return output{}, err
	}
	out := output{ExitCode: exit.Code, Stdout: stdout.value(), Stderr: stderr.value()}
	if stdout.truncated() {
		out.Truncated = append(out.Truncated, "stdout")
	}
	if stderr.truncated() {
		out.Truncated = append(out.Truncated, "stderr")
	}
	return out, nil
}

// child turns arguments into a program to run; its errors are definite failures.
func (o Options) child(c tool.Call, in args) (proc.Child, error) {
	argv, err := commandLine(in)
	if err != nil {
		return proc.Child{}, err
	}
	dir, err := o.dir(c, in.Cwd)
	if err != nil {
		return proc.Child{}, err
	}
	env, err := o.environment(c, in.Env, dir)
	if err != nil {
		return proc.Child{}, err
	}
	path, err := lookPath(argv[0], dir, env)
	if err != nil {
		return proc.Child{}, err
	}
	return proc.Child{
		Guard: o.Guard, Path: path, Argv: argv, Env: env, Dir: dir,
		Stdin: []byte(in.Stdin), LockPath: c.LockPath,
	}, nil
}

func commandLine(in args) ([]string, error) {
	argv := in.Argv
	if in.Shell != "" {
		if len(argv) > 0 {
			return nil, tool.Failed("invalid_input", false, "give either argv or shell, not both")
		}
		argv = []string{"/bin/sh", "-c", in.Shell}
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, tool.Failed("invalid_input", false, "give argv, a list that starts with the program, or shell, a script")
	}
	for _, a := range argv {
		if strings.ContainsRune(a, 0) {
			return nil, tool.Failed("invalid_input", false, "an argument cannot hold a NUL character")
		}
	}
	return argv, nil
}

// runFailure is the error of a program that did not end by itself: definite if
// it was not started.
func runFailure(ctx context.Context, child proc.Child, err error) error {
	if _, notStarted := errors.AsType[*proc.StartError](err); !notStarted {
		return fmt.Errorf("run %s: %w", child.Path, err)
	}
	code := "execution_failed"
	switch {
	case errors.Is(err, proc.ErrStepLockHeld):
		code = "still_running"
	case ctx.Err() != nil:
		code = "cancelled"
	}
	return tool.Failed(code, false, fmt.Sprintf("run %s: %v", child.Path, err))
}

// exitFailure says what an exit status means; nil is success. A program that was
// told to end and yet exits with success has succeeded.
func exitFailure(ctx context.Context, in args, exit proc.Exit, stderr *capped) error {
	if exit.Signal != 0 {
		err := fmt.Errorf("signal %d (%v) ended the program", int(exit.Signal), exit.Signal)
		if exit.Cancelled {
			err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
		return err
	}
	if exit.Code == 0 && len(in.OKExitCodes) == 0 || slices.Contains(in.OKExitCodes, exit.Code) {
		return nil
	}
	if exit.Cancelled {
		return fmt.Errorf("the program ended with exit status %d after it was told to: %w", exit.Code, context.Cause(ctx))
	}
	message := fmt.Sprintf("exit status %d", exit.Code)
	if tail := stderr.lastLines(); tail != "" {
		message += ": " + tail
	}
	return tool.Failed("execution_failed", slices.Contains(in.RetryCodes, exit.Code), message)
}

// dir is the folder that the program runs in.
func (o Options) dir(c tool.Call, cwd string) (string, error) {
	if o.AnyDir && filepath.IsAbs(cwd) {
		return filepath.Clean(cwd), nil
	}
	root, err := workspace.Open(c)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if o.AnyDir {
		return filepath.Join(c.Workspace, cwd), nil
	}
	rel, err := workspace.Rel(c, cwd)
	if err != nil {
		return "", err
	}
	info, err := root.Stat(rel)
	if err != nil {
		return "", workspace.Failure(c, "open cwd", cwd, err)
	}
	if !info.IsDir() {
		return "", tool.Failed("invalid_input", false, fmt.Sprintf("cwd %q is not a folder", cwd))
	}
	return filepath.Join(c.Workspace, rel), nil
}

// trimToRunes cuts incomplete characters from the ends of a piece of text.
func trimToRunes(b []byte, atStart, atEnd bool) []byte {
	for i := 0; atStart && i < utf8.UTFMax-1 && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
		b = b[1:]
	}
	if !atEnd {
		return b
	}
	for i := 1; i <= min(utf8.UTFMax, len(b)); i++ {
		if tail := b[len(b)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}
