package cli

import (
	"context"

	"github.com/spf13/cobra"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/run"
)

type cancelOptions struct {
	run     string
	session string
}

func (in *invocation) cancelCommand() *cobra.Command {
	var opts cancelOptions
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "End a run for good, from any process",
		Long: `Asks that a run be cancelled. That is on disk before this returns; a process that
works on the run takes it within a moment, lets calls in flight end or gives them
their grace, runs the cleanups of what was begun, and ends the run. If nobody works
on the run, it is ended at once; where there is something to clean up, that is left
to "culm continue", which then does only that.

A run with a step in doubt is ended too; the step is named, and the exit status is
4, since it may have happened.`,
		Example: `  culm cancel 7d1e9f
  culm cancel 7d1e9f && culm wait 7d1e9f`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.run = args[0]
			return in.runCancel(cmd.Context(), opts)
		},
	}
	cmd.Flags().StringVar(&opts.session, "session", "", "`NAME` of the run's session (default: any)")
	return cmd
}

func (in *invocation) runCancel(ctx context.Context, opts cancelOptions) (err error) {
	o, err := in.open(ctx)
	if err != nil {
		return err
	}
	defer o.close(ctx, &err)
	id, err := o.find(ctx, opts.run)
	if err != nil {
		return err
	}
	receipt, err := o.Cancel(ctx, id, culm.CancelOptions{Session: anyUnless(opts.session)})
	if err != nil {
		return err
	}
	return in.acknowledgeCancel(receipt)
}

func (in *invocation) acknowledgeCancel(r *culm.Receipt) error {
	if in.global.json() {
		if err := writeJSONDoc(in.Stdout, r.View); err != nil {
			return err
		}
		return exitOfCancel(r)
	}
	id := r.View.RunID
	switch {
	case r.View.Status.Terminal():
		in.note("Run " + id + " is " + outcome(r.View) + ".")
	case r.Continue:
		in.note("Recorded. What the run began is still to be cleaned up. To do that, and end it:", in.indented("continue", short(id)))
	case r.Live:
		in.note("Recorded. The process that works on the run ends it; to wait for that:", in.indented("wait", short(id)))
	default:
		in.note("Recorded.")
	}
	for _, step := range r.InDoubt {
		in.note("Step " + term.Clean(step) + " is in doubt: it may have happened.")
	}
	return exitOfCancel(r)
}

// noteOwedCleanup says of a run that was cancelled by restarting it that it is still to
// be cleaned up after.
func (in *invocation) noteOwedCleanup(v *run.View) {
	if v.Status != run.StatusSuspended || v.CancelRequested == "" {
		return
	}
	in.note("What run "+v.RunID+" began is still to be cleaned up. To do that, and end it:", in.indented("continue", short(v.RunID)))
}

// exitOfCancel is the exit status: a run that ended in doubt is to be noticed.
func exitOfCancel(r *culm.Receipt) error {
	if len(r.InDoubt) > 0 && r.View.Status.Terminal() {
		return exit(ExitCancelled)
	}
	return nil
}
