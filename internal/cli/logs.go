package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/cli/plain"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/run"
)

type logsOptions struct {
	run, step      string
	follow         bool
	since          string
	tail           int // all, or how many lines
	stdout, stderr bool
	noPrefix       bool
}

// all, in place of a number of lines, is all there are.
const all = -1

func (in *invocation) logsCommand() *cobra.Command {
	var opts logsOptions
	cmd := &cobra.Command{
		Use:   "logs RUN [STEP] [flags]",
		Short: "Print what a run's tools print, while they run and afterwards",
		Long: `Prints what the programs of a run print and what its tools say about themselves,
a line each, behind the step's name. Any process's run can be read along.

STEP is a step, with all of its instances (build), one instance (build@root[2], or
build:2 for short), or a nested workflow with all that is in it.

Of each attempt of a step about the first and the last MiB are kept. The log is for
reading along: what a step gave is its output, which "culm show RUN --output STEP"
prints.`,
		Example: `  culm logs 7d1e9f --follow
  culm logs 7d1e9f build --tail 50
  culm logs 7d1e9f build:2 --stderr --no-prefix
  culm logs 7d1e9f --since 10m -o json | jq -r 'select(.stream == "stderr") | .text'`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.run = args[0]
			if len(args) > 1 {
				opts.step = args[1]
			}
			if !cmd.Flags().Changed("tail") {
				opts.tail = all
			} else if opts.tail < 0 {
				return usage("--tail %d: expected how many lines, 0 or more", opts.tail)
			}
			return in.runLogs(cmd.Context(), opts)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&opts.follow, "follow", "f", false, "go on with lines as they come, until nobody works on the run")
	f.StringVar(&opts.since, "since", "", "only lines since `TIME`: 10m, 24h, 7d, 2026-01-31 or RFC 3339")
	f.IntVar(&opts.tail, "tail", 0, "begin with the last `N` lines there are (default: all)")
	f.BoolVar(&opts.stdout, "stdout", false, "only what was printed to standard output")
	f.BoolVar(&opts.stderr, "stderr", false, "only what was printed to standard error")
	f.BoolVar(&opts.noPrefix, "no-prefix", false, "leave the names of steps away")
	return cmd
}

func (in *invocation) runLogs(ctx context.Context, opts logsOptions) (err error) {
	if opts.stdout && opts.stderr {
		return usage("--stdout and --stderr exclude each other: without them both are printed")
	}
	since, err := parseSince(opts.since, in.Now())
	if err != nil {
		return err
	}
	o, err := in.open(ctx)
	if err != nil {
		return err
	}
	defer o.close(ctx, &err)
	id, err := o.find(ctx, opts.run)
	if err != nil {
		return err
	}
	v, err := o.Progress(ctx, id, culm.ProgressOptions{Session: culm.AnySession})
	if err != nil {
		return err
	}
	if err := checkLogStep(v, opts); err != nil {
		return err
	}
	return o.printLogs(ctx, id, logWriter{in: in, opts: opts, since: since, open: map[logStream]bool{}, palette: in.stdoutPalette()})
}

func (in *invocation) stdoutPalette() term.Palette {
	return term.NewPalette(term.WantsColour(in.Stdout, in.Env))
}

// checkLogStep refuses a step that is not there, and will not come.
func checkLogStep(v *run.View, opts logsOptions) error {
	if opts.step == "" {
		return nil
	}
	var steps []string
	for id := range v.Steps {
		if stepMatches(opts.step, id) {
			return nil
		}
		steps = append(steps, id)
	}
	if opts.follow && !v.Status.Terminal() {
		return nil
	}
	return noStep(v, opts.step, steps)
}

// printLogs prints the lines there are, as many as were asked for, then those that
// come.
func (o *opened) printLogs(ctx context.Context, id string, w logWriter) error {
	last, err := o.printKept(ctx, id, &w)
	if err != nil {
		return err
	}
	if w.opts.follow {
		follow := culm.LogOptions{Session: culm.AnySession, After: last, Follow: true}
		for line, err := range o.Logs(ctx, id, follow) {
			if err == nil {
				err = w.print(line)
			}
			if err != nil {
				return orCause(ctx, err)
			}
		}
	}
	return o.logsEnd(ctx, id, &w)
}

// printKept prints what there is, and says up to which line that was.
func (o *opened) printKept(ctx context.Context, id string, w *logWriter) (last uint64, err error) {
	var tail []run.LogLine
	for line, err := range o.Logs(ctx, id, culm.LogOptions{Session: culm.AnySession}) {
		if err != nil {
			return 0, orCause(ctx, err)
		}
		last = line.N
		switch {
		case !w.wants(line):
		case w.opts.tail == all:
			if err := w.print(line); err != nil {
				return 0, err
			}
		case w.opts.tail > 0:
			tail = append(tail[max(0, len(tail)+1-w.opts.tail):], line)
		}
	}
	for _, line := range tail {
		if err := w.print(line); err != nil {
			return 0, err
		}
	}
	return last, nil
}

// orCause is why ctx was cancelled, if it was, else the error.
func orCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// logsEnd says what an empty answer means, and how a run that was followed stands.
func (o *opened) logsEnd(ctx context.Context, id string, w *logWriter) error {
	if w.opts.follow {
		v, err := o.Progress(ctx, id, culm.ProgressOptions{Session: culm.AnySession})
		if err != nil {
			return err
		}
		o.in.note(fmt.Sprintf("run %s %s", v.RunID, term.Clean(outcome(v))))
		return nil
	}
	switch {
	case w.printed || w.opts.tail == 0:
	case w.seen:
		o.in.note("Nothing of what run " + short(id) + " printed is like that.")
	default:
		o.in.note("No tool of run " + short(id) + " printed anything, or its log was not kept.")
	}
	return nil
}

// logStream is one stream of one attempt.
type logStream struct {
	step    string
	attempt int
	stream  string
}

// logWriter prints the lines that are wanted.
type logWriter struct {
	in      *invocation
	opts    logsOptions
	since   time.Time
	palette term.Palette
	open    map[logStream]bool // the last line of a stream goes on

	seen, printed bool
}

func (w *logWriter) wants(line run.LogLine) bool {
	w.seen = true
	switch {
	case w.opts.step != "" && !stepMatches(w.opts.step, line.Step):
		return false
	case line.At.Before(w.since):
		return false
	case line.Cut > 0:
		return true
	case w.opts.stdout:
		return line.Stream == run.LogStdout
	case w.opts.stderr:
		return line.Stream == run.LogStderr
	}
	return true
}

func (w *logWriter) print(line run.LogLine) error {
	if !w.wants(line) {
		return nil
	}
	w.printed = true
	if w.in.global.json() {
		return writeJSONLine(w.in.Stdout, line)
	}
	stream := logStream{line.Step, line.Attempt, line.Stream}
	goesOn := w.open[stream]
	w.open[stream] = line.Open
	if goesOn && !line.Open && line.Text == "" && line.Cut == 0 { // the end of a line that was shown
		return nil
	}
	_, err := fmt.Fprintln(w.in.Stdout, w.prefix(line)+w.text(line))
	return err
}

func (w *logWriter) prefix(line run.LogLine) string {
	if w.opts.noPrefix {
		return ""
	}
	name := line.Step
	if line.Attempt > 1 {
		name += fmt.Sprintf(" (attempt %d)", line.Attempt)
	}
	return w.palette.Tint(line.Step)(term.Clean(name)+" |") + " "
}

// text is the line as it is, or on a terminal as it may be shown there.
func (w *logWriter) text(line run.LogLine) string {
	switch {
	case line.Cut > 0:
		return w.palette.Faint("… " + plain.Bytes(line.Cut) + " were not kept …")
	case !term.IsTerminal(w.in.Stdout, w.in.Env):
		return line.Text
	}
	return term.Clean(term.LastShown(line.Text))
}

// stepMatches reports whether a word means a step instance: by its id, its short
// form, the step's name without scopes, or that of a nested workflow around it.
func stepMatches(word, id string) bool {
	for ; id != ""; id = outer(id) {
		if word == id || word == shortStep(id) || word == withoutScopes(id) {
			return true
		}
	}
	return false
}

// outer is the step that nests the one with this id; "" if none does.
func outer(id string) string {
	return id[:max(strings.LastIndexByte(id, '/'), 0)]
}

// withoutScopes is a step instance's id without its places: outer/inner of
// outer@root[1]/inner@root#0.
func withoutScopes(id string) string {
	parts := strings.Split(id, "/")
	for i, part := range parts {
		parts[i], _, _ = strings.Cut(part, "@")
	}
	return strings.Join(parts, "/")
}
