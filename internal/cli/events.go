package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/cli/plain"
	"github.com/culm-dev/culm/run"
)

type eventsOptions struct {
	run    string
	since  uint64
	follow bool
}

func (in *invocation) eventsCommand() *cobra.Command {
	var opts eventsOptions
	cmd := &cobra.Command{
		Use:   "events RUN [flags]",
		Short: "Print a run's journal, one event a line",
		Long: `Prints the events of a run's journal in order: the sequence, the time (UTC), the
type, the step, and what else there is. With -o json each line is the event as it
is stored.`,
		Example: `  culm events 7d1e9f --since 40
  culm events 7d1e9f --follow
  culm events 7d1e9f -o json | jq -r 'select(.type == "step_failed")'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.run = args[0]
			return in.runEvents(cmd.Context(), opts)
		},
	}
	f := cmd.Flags()
	f.Uint64Var(&opts.since, "since", 0, "only events after this `SEQUENCE`")
	f.BoolVarP(&opts.follow, "follow", "f", false, "go on with events as they come, until the run ends")
	return cmd
}

func (in *invocation) runEvents(ctx context.Context, opts eventsOptions) (err error) {
	o, err := in.open(ctx)
	if err != nil {
		return err
	}
	defer o.close(ctx, &err)
	id, err := o.find(ctx, opts.run)
	if err != nil {
		return err
	}
	if opts.follow {
		_, err := o.some(ctx, id, opts.since, 0, in.printEvent)
		return err
	}
	v, err := o.Progress(ctx, id, culm.ProgressOptions{Session: culm.AnySession})
	if err != nil {
		return err
	}
	err = o.each(ctx, id, opts.since, v.LastSequence, in.printEvent)
	if err == nil && v.Damaged != "" {
		return damagedFailure(v)
	}
	return err
}

// each hands the events after since, up to and with until, to a function.
func (o *opened) each(ctx context.Context, id string, since, until uint64, do func(run.Event) error) error {
	for since < until {
		last, err := o.some(ctx, id, since, until, do)
		if err != nil {
			return err
		}
		if last == since {
			return fmt.Errorf("read events: the journal ends at %d, not at %d", last, until)
		}
		since = last
	}
	return nil
}

// some takes one subscription's events, up to and with until (0: all), and says
// how far it came.
func (o *opened) some(ctx context.Context, id string, since, until uint64, do func(run.Event) error) (uint64, error) {
	for ev, err := range o.Subscribe(ctx, id, since) {
		if err != nil && ctx.Err() != nil {
			return since, context.Cause(ctx)
		}
		if err != nil {
			return since, err
		}
		if err := do(ev); err != nil {
			return since, err
		}
		if since = ev.Sequence; since == until {
			break
		}
	}
	return since, nil
}

func (in *invocation) printEvent(ev run.Event) error {
	if in.global.json() {
		line, err := ev.Encode()
		if err != nil {
			return err
		}
		_, err = in.Stdout.Write(append(line, '\n'))
		return err
	}
	_, err := fmt.Fprintf(in.Stdout, "%4d %s\n", ev.Sequence, plain.EventAndValues(ev))
	return err
}

// damagedFailure is the end of what can be read of a run.
func damagedFailure(v *run.View) *Failure {
	return &Failure{
		Exit: ExitRefused, Code: culm.CodeDamaged, Message: fmt.Sprintf("run %s is damaged: %s", v.RunID, v.Damaged),
		Details: map[string]any{"run_id": v.RunID},
	}
}
