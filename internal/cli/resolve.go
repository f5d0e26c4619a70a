package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/run"
)

type resolveOptions struct {
	run, step string
	session   string
	output    string
	fail      string
	rerun     bool
	force     bool
}

func (in *invocation) resolveCommand() *cobra.Command {
	var opts resolveOptions
	cmd := &cobra.Command{
		Use:   "resolve RUN STEP --output JSON | --fail MESSAGE | --rerun",
		Short: "Decide on a step in doubt",
		Long: `Says what became of a step in doubt: a call that began, and whose outcome nobody
knows. Who decided, when and what is recorded. It runs nothing: continue does.

STEP is a step instance as "culm show" names it: charge, charge@root[2], or
charge:2 for short.`,
		Example: `  culm resolve 7d1e9f charge --output '{"id": "ch_9"}'   # it happened
  culm resolve 7d1e9f charge --fail "no such order"      # it did not, and failed
  culm resolve 7d1e9f charge:2 --rerun                   # enter it again`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.run, opts.step = args[0], args[1]
			if n := changed(cmd.Flags(), "output", "fail", "rerun"); n != 1 {
				return usage("say one of --output JSON, --fail MESSAGE and --rerun").help("To see examples: culm resolve --help")
			}
			return in.runResolve(cmd.Context(), opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.output, "output", "", "it happened, and this is its output: `JSON`, @FILE, or - for standard input")
	f.StringVar(&opts.fail, "fail", "", "it did not happen: the step failed with this `MESSAGE`")
	f.BoolVar(&opts.rerun, "rerun", false, "enter it again, whatever happened")
	f.BoolVar(&opts.force, "force", false, "decide although a process of the call still lives")
	f.StringVar(&opts.session, "session", "", "`NAME` of the run's session (default: any)")
	return cmd
}

// changed counts the flags that were given.
func changed(flags *pflag.FlagSet, names ...string) int {
	n := 0
	for _, name := range names {
		if flags.Changed(name) {
			n++
		}
	}
	return n
}

func (in *invocation) runResolve(ctx context.Context, opts resolveOptions) (err error) {
	resolution, err := in.resolution(opts)
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
	if _, err := o.recoverFirst(ctx, id); err != nil {
		return err
	}
	v, err := o.Progress(ctx, id, culm.ProgressOptions{Session: anyUnless(opts.session)})
	if err != nil {
		return err
	}
	step, err := matchStep(v, opts.step)
	if err != nil {
		return err
	}
	receipt, err := o.Resolve(ctx, id, step, resolution)
	if err != nil {
		f := failureOf(err)
		if f.Code == culm.CodeStillRunning {
			f.Help = []string{"Wait until they are gone, or decide all the same with --force."}
		}
		return f
	}
	return in.acknowledge(receipt, fmt.Sprintf("Recorded: step %s %s.", step, verdictWords(resolution.Verdict)))
}

func (in *invocation) resolution(opts resolveOptions) (culm.Resolution, error) {
	r := culm.Resolution{Session: anyUnless(opts.session), Force: opts.force}
	switch {
	case opts.rerun:
		r.Verdict = run.VerdictRerun
	case opts.output != "":
		raw, err := in.jsonFlag("--output", opts.output)
		if err != nil {
			return r, err
		}
		r.Verdict, r.Output = run.VerdictSucceeded, raw
	case opts.fail != "":
		r.Verdict, r.Message = run.VerdictFailed, opts.fail
	default:
		return r, usage("--output and --fail need a value: JSON, or why the step failed")
	}
	return r, nil
}

func verdictWords(v run.Verdict) string {
	switch v {
	case run.VerdictSucceeded:
		return "succeeded"
	case run.VerdictFailed:
		return "failed"
	}
	return "is to be entered again"
}

// acknowledge says that something was recorded, and what it leads to.
func (in *invocation) acknowledge(r *culm.Receipt, what string) error {
	if in.global.json() {
		return writeJSONDoc(in.Stdout, r.View)
	}
	in.note(what)
	if r.Live {
		in.note("The process that works on the run has taken it.")
	}
	if r.Continue {
		in.note(in.advice(r.View)...)
	}
	return nil
}

// matchStep finds the step instance that a word means: its id, or its short form
// with colons.
func matchStep(v *run.View, word string) (string, error) {
	if v.Steps[word] != nil {
		return word, nil
	}
	var matches, all []string
	for id := range v.Steps {
		all = append(all, id)
		if shortStep(id) == word {
			matches = append(matches, id)
		}
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return "", noStep(v, word, all)
	}
	return "", &Failure{
		Exit: ExitRefused, Code: codeAmbiguous, Message: fmt.Sprintf("%s means several steps: %s", word, strings.Join(matches, ", ")),
	}
}

func noStep(v *run.View, word string, all []string) *Failure {
	f := &Failure{
		Exit: ExitRefused, Code: culm.CodeStepNotFound,
		Message: fmt.Sprintf("run %s has not entered a step %q", v.RunID, word),
	}
	if doubts := inDoubt(v); len(doubts) > 0 {
		return f.help("In doubt: %s", stepList(doubts))
	}
	if instances := instancesOf(word, all); len(instances) > 0 {
		return f.help("It runs in several places. Name one: %s", strings.Join(instances, ", "))
	}
	if near := canon.Near(word, all); near != "" {
		return f.help("Did you mean %s?", near)
	}
	return f
}

// instancesOf lists the instances of a step that is named without a place, the first
// few if there are many.
func instancesOf(word string, all []string) []string {
	const most = 5
	var found []string
	for _, id := range all {
		if withoutScopes(id) == word {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	if len(found) > most {
		found = append(found[:most], "…")
	}
	return found
}

// shortStep is a step instance's id with colons: charge@root[2]#0 is charge:2:0.
func shortStep(id string) string {
	return strings.NewReplacer("@root", "", "[", ":", "]", "", "#", ":").Replace(id)
}
