package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

type continueOptions struct {
	run     string
	session string
	rerun   []string
	extend  time.Duration
	detach  bool
	take    bool
	grant   grant
}

func (in *invocation) continueCommand() *cobra.Command {
	var opts continueOptions
	cmd := &cobra.Command{
		Use:   "continue RUN [flags]",
		Short: "Go on with a run where it was left",
		Long: `Goes on with a run that is suspended, or whose process is gone. What is finished
is not run again. If the process is gone, the run is recovered first, which runs
nothing: its open steps are marked as suspended.

A step in doubt (a call that began and whose outcome nobody knows) refuses this
with step_in_doubt until it is resolved. What was granted when the run began still
holds; --trust and --allow add to it.

A run that was imported, or that came with a restored backup, may go on where it was
copied from as well, and do everything twice. It is refused (copied) until --takeover
says that it does not.`,
		Example: `  culm continue 0198c2
  culm continue 7d1e9f --rerun read,idempotent   # enter such steps in doubt again
  culm continue 7d1e9f --extend 10m              # its time is over: grant more
  culm continue 7d1e9f --takeover                # it was copied, and goes on nowhere else`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.run = args[0]
			return in.runContinue(cmd.Context(), opts)
		},
	}
	f := cmd.Flags()
	opts.grant.register(f)
	f.StringSliceVar(&opts.rerun, "rerun", nil, "enter steps in doubt again whose calls have these `EFFECTS`: read, idempotent")
	f.DurationVar(&opts.extend, "extend", 0, "grant this much time from now on, such as 10m")
	f.BoolVar(&opts.take, "takeover", false, "go on with a run that was copied from another store: it will not go on there")
	f.StringVar(&opts.session, "session", "", "`NAME` of the run's session (default: any)")
	f.BoolVar(&opts.detach, "detach", false, "go on in the background; print the run's id once that is durable")
	return cmd
}

func (in *invocation) runContinue(ctx context.Context, opts continueOptions) (err error) {
	rerun, err := effectsOf(opts.rerun)
	if err != nil {
		return err
	}
	if opts.extend < 0 {
		return usage("--extend %s: time can only be granted", opts.extend)
	}
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
	recovered, err := o.recoverFirst(ctx, id)
	if err != nil {
		return err
	}
	v, err := o.Continue(ctx, id, culm.ContinueOptions{
		Session: anyUnless(opts.session), Authority: opts.grant.authority(), Rerun: rerun, Extend: opts.extend,
		Takeover: opts.take,
	})
	if err != nil {
		return o.refusedContinue(ctx, id, recovered, err)
	}
	return o.own(ctx, v, follower{
		display: in.display(o.program(ctx, id)), owned: true, seen: max(v.LastSequence, 1) - 1,
	})
}

func effectsOf(words []string) ([]tool.Effect, error) {
	var effects []tool.Effect
	for _, word := range words {
		e, err := rerunnable(word)
		if err != nil {
			return nil, usage("--rerun %s: %v", word, err)
		}
		effects = append(effects, e)
	}
	return slices.Compact(slices.Sorted(slices.Values(effects))), nil
}

// recoverFirst recovers a run whose owner is dead, in a commit of its own, and
// says so. It returns nil if there was nothing to recover.
func (o *opened) recoverFirst(ctx context.Context, id string) (*run.View, error) {
	v, err := o.RecoverRun(ctx, id)
	if err != nil || v == nil {
		return nil, err
	}
	o.in.note(recoveredLine(v))
	return v, nil
}

func recoveredLine(v *run.View) string {
	line := fmt.Sprintf("Recovered run %s, whose process is gone: it is suspended at event %d.", v.RunID, v.LastSequence)
	if doubts := inDoubt(v); len(doubts) > 0 {
		line += " In doubt: " + stepList(doubts) + "."
	}
	return line
}

// refusedContinue adds what to type next. Programs get what was recovered, since
// that did happen.
func (o *opened) refusedContinue(ctx context.Context, id string, recovered *run.View, err error) error {
	if o.in.global.json() && recovered != nil {
		if err := writeJSONDoc(o.in.Stdout, recovered); err != nil {
			return err
		}
	}
	f := failureOf(err)
	switch f.Code {
	case culm.CodeStepInDoubt, culm.CodeDeadlinePassed, culm.CodeCopied:
		if v, err := o.Progress(ctx, id, culm.ProgressOptions{Session: culm.AnySession}); err == nil {
			f.Help = o.in.advice(v)
		}
	case culm.CodeOwnedElsewhere:
		f.Help = []string{"To follow it: " + o.in.command("wait", short(id))}
	case culm.CodePolicyDenied:
		o.in.adviseGrant(f)
	}
	return f
}

// program is the pinned workflow of a run, for showing it; nil if it cannot be
// compiled here.
func (o *opened) program(ctx context.Context, id string) *workflow.Program {
	v, err := o.Progress(ctx, id, culm.ProgressOptions{Values: true, Session: culm.AnySession})
	if err != nil {
		return nil
	}
	return o.in.pinned(v)
}

func (in *invocation) pinned(v *run.View) *workflow.Program {
	bundle, err := workflow.ParseBundle(v.Bundle)
	if err != nil {
		return nil
	}
	registry, err := in.registry()
	if err != nil {
		return nil
	}
	program, err := workflow.CompileBundle(bundle, schemasOf(registry))
	if err != nil {
		return nil
	}
	return program
}
