package cli

import (
	"context"

	"github.com/spf13/cobra"

	culm "github.com/culm-dev/culm"
)

func (in *invocation) waitCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "wait RUN",
		Short: "Follow a run, whichever process works on it",
		Long: `Shows a run until it ends or is suspended, then prints what "culm run" would have
printed, with the same exit status. If the process that works on it dies, this
says so and returns 3. Ctrl-C ends the waiting, and leaves the run alone.`,
		Example: `  culm run long.yaml --detach
  culm wait 7d1e9f`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return in.runWait(cmd.Context(), args[0])
		},
	}
}

func (in *invocation) runWait(ctx context.Context, name string) (err error) {
	o, err := in.open(ctx)
	if err != nil {
		return err
	}
	defer o.close(ctx, &err)
	id, err := o.find(ctx, name)
	if err != nil {
		return err
	}
	v, err := o.Progress(ctx, id, culm.ProgressOptions{Values: true, Session: culm.AnySession})
	if err != nil {
		return err
	}
	if v.Damaged != "" {
		return damagedFailure(v)
	}
	f := &follower{opened: o, display: in.display(in.pinned(v)), seen: v.LastSequence}
	final, err := f.follow(ctx, id)
	if err != nil {
		return err
	}
	return in.finish(final)
}
