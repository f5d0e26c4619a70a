package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/cli/term"
)

func (in *invocation) recoverCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "recover",
		Short: "Mark the runs of dead processes as suspended; runs nothing",
		Long: `Marks every run whose process is gone as suspended, and its open steps with it.
Nothing is run. A run that a living process works on is not touched, and damaged
runs are reported and left alone. "culm continue" does this for its one run.`,
		Example: `  culm recover
  culm recover -o json | jq -r .run_id`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return in.runRecover(cmd.Context()) },
	}
}

func (in *invocation) runRecover(ctx context.Context) (err error) {
	o, err := in.open(ctx)
	if err != nil {
		return err
	}
	defer o.close(ctx, &err)
	recovered, err := o.Recover(ctx)
	if err != nil {
		return err
	}
	for _, r := range recovered {
		if err := in.showRecovered(r); err != nil {
			return err
		}
	}
	if len(recovered) == 0 {
		in.note("Nothing to recover.")
	}
	return nil
}

func (in *invocation) showRecovered(r culm.Recovered) error {
	switch {
	case in.global.json() && r.View != nil:
		return writeJSONLine(in.Stdout, r.View)
	case in.global.json():
		return writeJSONLine(in.Stdout, damagedRun{r.RunID, r.Damaged})
	case r.View == nil:
		_, err := fmt.Fprintf(in.Stdout, "Run %s is damaged and was left alone: %s\n", r.RunID, term.Clean(r.Damaged))
		return err
	}
	if _, err := fmt.Fprintln(in.Stdout, term.Clean(recoveredLine(r.View))); err != nil {
		return err
	}
	in.note(in.advice(r.View)...)
	return nil
}

// damagedRun is what recover says of a run that it cannot read.
type damagedRun struct {
	RunID   string `json:"run_id"`
	Damaged string `json:"damaged"`
}
