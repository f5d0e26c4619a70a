package cli

import (
	"context"

	"github.com/spf13/cobra"

	culm "github.com/culm-dev/culm"
)

type restartOptions struct {
	run         string
	session     string
	acceptDoubt bool
	detach      bool
	from        string
	labels      labels
	grant       grant
}

func (in *invocation) restartCommand() *cobra.Command {
	var opts restartOptions
	cmd := &cobra.Command{
		Use:   "restart RUN [flags]",
		Short: "Begin anew, or from a step, with the same definition and arguments",
		Long: `Starts a new run of the very definition and arguments that RUN was started with,
and a fresh budget. A suspended run is cancelled by this; with steps in doubt that
needs --accept-doubt, since they may have happened.

Every step is run again, unless --from names one to begin at: then what finished
before that step and beside it is taken over, with its recorded output, and the step
and all that follows it are run. STEP is as culm show names it: charge, charge:2 in a
map or repeat, outer/charge in a nested workflow.

The new run has the labels of the old one; --label adds to them.`,
		Example: `  culm restart 0198c2
  culm restart 7d1e9f --from publish
  culm restart 7d1e9f --accept-doubt --allow write`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.run = args[0]
			return in.runRestart(cmd.Context(), opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.from, "from", "", "begin at this `STEP`, and take over what finished before it and beside it")
	opts.labels.register(f, "add a label, `NAME=VALUE`, to those of the run")
	opts.grant.register(f)
	f.BoolVar(&opts.acceptDoubt, "accept-doubt", false, "restart although steps of the run are in doubt")
	f.StringVar(&opts.session, "session", "", "`NAME` of the run's session (default: any)")
	f.BoolVar(&opts.detach, "detach", false, "run in the background; print the run's id once it is durable")
	return cmd
}

func (in *invocation) runRestart(ctx context.Context, opts restartOptions) (err error) {
	if opts.detach && !in.handed.under {
		return in.detach(ctx, false)
	}
	labels, err := opts.labels.parse()
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
	// A damaged run cannot be recovered, but it can be restarted.
	if _, err := o.recoverFirst(ctx, id); err != nil && failureOf(err).Code != culm.CodeDamaged {
		return err
	}
	v, err := o.Restart(ctx, id, culm.RestartOptions{
		Session: anyUnless(opts.session), AcceptDoubt: opts.acceptDoubt, Authority: opts.grant.authority(),
		From: opts.from, Labels: labels,
	})
	if err != nil {
		f := failureOf(err)
		switch f.Code {
		case culm.CodeStepInDoubt:
			words := []string{"restart", short(id), "--accept-doubt"}
			if opts.from != "" {
				words = append(words, "--from", opts.from)
			}
			f.Help = []string{"To restart all the same: " + in.command(words...)}
		case culm.CodePolicyDenied:
			in.adviseGrant(f)
		}
		return f
	}
	if old, err := o.Progress(ctx, id, culm.ProgressOptions{Session: culm.AnySession}); err == nil {
		in.noteOwedCleanup(old)
	}
	return o.own(ctx, v, follower{display: in.display(o.program(ctx, v.RunID)), owned: true})
}
