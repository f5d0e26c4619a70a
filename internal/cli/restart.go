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
	grant       grant
}

func (in *invocation) restartCommand() *cobra.Command {
	var opts restartOptions
	cmd := &cobra.Command{
		Use:   "restart RUN [flags]",
		Short: "Begin anew, with the same definition and arguments",
		Long: `Starts a new run of the very definition and arguments that RUN was started with,
and a fresh budget. Every step is run again. A suspended run is cancelled by this;
with steps in doubt that needs --accept-doubt, since they may have happened.`,
		Example: `  culm restart 0198c2
  culm restart 7d1e9f --accept-doubt --allow write`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.run = args[0]
			return in.runRestart(cmd.Context(), opts)
		},
	}
	f := cmd.Flags()
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
	})
	if err != nil {
		f := failureOf(err)
		switch f.Code {
		case culm.CodeStepInDoubt:
			f.Help = []string{"To restart all the same: " + in.command("restart", short(id), "--accept-doubt")}
		case culm.CodePolicyDenied:
			in.adviseGrant(f)
		}
		return f
	}
	return o.own(ctx, v, follower{display: in.display(o.program(ctx, v.RunID)), owned: true})
}
