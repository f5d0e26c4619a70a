package cli

import (
	"context"

	"github.com/spf13/cobra"

	culm "github.com/culm-dev/culm"
)

type runOptions struct {
	target  string
	args    string
	pairs   []string
	session string
	key     string
	detach  bool
	dryRun  bool
	labels  labels
	grant   grant
}

func (in *invocation) runCommand() *cobra.Command {
	var opts runOptions
	cmd := &cobra.Command{
		Use:   "run FILE|DIR|ID [flags]",
		Short: "Run a workflow and print its output",
		Long: `Runs a workflow: a file, a folder that holds just one, or the id of one in
workflows/ (the highest revision, or ID@REVISION).

The output goes to standard output, a string as it is and anything else as JSON;
all else goes to standard error. Tools may read inside the workspace; anything
more needs --trust, and --allow with the tool's capability.

--dry-run shows what would be run, what each step may do and what refuses it, and
the budget; it writes nothing and calls nothing. Its exit status is 0 if the run
would start, and 5 if it would be refused.

Ctrl-C stops the run so that it can be continued; a second one leaves at once.`,
		Example: `  culm run hello -a name=Ada
  culm run workflows/review.yaml --args @args.json
  culm run deploy --trust --allow exec,write
  culm run nightly --key "$(date +%F)"   # at most one run a day
  culm run long.yaml --detach            # prints the run's id and returns
  culm run deploy --trust --allow exec --dry-run
  culm run deploy --label env=prod       # culm list --label env=prod finds it`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.target = args[0]
			return in.runRun(cmd.Context(), opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.args, "args", "", "arguments: `JSON`, @FILE, or - for standard input")
	f.StringArrayVarP(&opts.pairs, "arg", "a", nil, "one argument, `NAME=VALUE`; JSON, unless the workflow says it is a string")
	opts.grant.register(f)
	f.StringVar(&opts.session, "session", "", "`NAME` that only who knows it can use the run by (default: local)")
	f.StringVar(&opts.key, "key", "", "start at most one run under this `KEY`: the same request again follows the first")
	opts.labels.register(f, "label the run, `NAME=VALUE`, so that lists can be filtered by it")
	f.BoolVar(&opts.detach, "detach", false, "run in the background; print the run's id once it is durable")
	f.BoolVar(&opts.dryRun, "dry-run", false, "only show what would be run, and what would be refused; write nothing")
	return cmd
}

func (in *invocation) runRun(ctx context.Context, opts runOptions) (err error) {
	if opts.dryRun && opts.detach {
		return usage("--dry-run starts nothing that --detach could leave in the background")
	}
	if opts.detach && !in.handed.under {
		return in.detach(ctx, opts.args == "-")
	}
	cfg, err := in.loadConfig()
	if err != nil {
		return err
	}
	program, notes, err := in.compile(cfg, opts.target)
	if err != nil {
		return err
	}
	in.note(notes...)
	args, err := in.runArgs(opts.args, opts.pairs, program.Root.Def.InputSchema)
	if err != nil {
		return err
	}
	start := culm.Start{
		Program: program, Args: args, SessionID: opts.session, Key: opts.key, Authority: opts.grant.authority(),
	}
	if start.Labels, err = opts.labels.parse(); err != nil {
		return err
	}
	if opts.dryRun {
		return in.dryRun(ctx, cfg, program, start)
	}
	o, err := in.open(ctx)
	if err != nil {
		return err
	}
	defer o.close(ctx, &err)
	v, err := o.Start(ctx, start)
	if err != nil {
		return in.refusedRun(err)
	}
	f := follower{display: in.display(program), owned: true}
	if v.Repeated {
		in.note("This key was used before: this is the run that it started.")
		f.owned, f.seen = false, v.LastSequence
	}
	return o.own(ctx, v, f)
}

// refusedRun adds what to type to a refusal for want of a grant.
func (in *invocation) refusedRun(err error) error {
	f := failureOf(err)
	if f.Code == culm.CodePolicyDenied {
		in.adviseGrant(f)
	}
	return f
}
