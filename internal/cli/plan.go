package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/internal/diagram"
	"github.com/culm-dev/culm/workflow"
)

type planOptions struct {
	format string
	depth  int
}

// planFormats are the ways of drawing a plan.
func planFormats() []string { return []string{"tree", "mermaid", "svg"} }

func (in *invocation) planCommand() *cobra.Command {
	var opts planOptions
	cmd := &cobra.Command{
		Use:   "plan FILE|DIR|ID|RUN",
		Short: "Show which step of a workflow runs when: as a tree, Mermaid or SVG",
		Long: `Shows the plan of a workflow: its steps and what they call, what runs at the same
time, several times or under a condition, and what it may spend. Of a run it shows the
definition that is pinned in it, and where each step stands.

mermaid is a flowchart that GitHub draws from a block of Markdown in that language;
svg is a picture that stands alone, for light and for dark pages.`,
		Example: `  culm plan review.yaml
  culm plan review.yaml --depth 0            # nested workflows as one line
  culm plan review.yaml --format svg > review.svg
  culm plan 7d1e9f                           # a run: what is done, what is not`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return in.runPlan(cmd.Context(), args[0], opts) },
	}
	f := cmd.Flags()
	f.StringVar(&opts.format, "format", "tree", "`FORMAT`: tree, mermaid or svg")
	f.IntVar(&opts.depth, "depth", -1, "open nested workflows down to `N` levels; all of them if negative")
	return cmd
}

func (in *invocation) runPlan(ctx context.Context, target string, opts planOptions) error {
	plan, err := in.planOf(ctx, target, opts)
	if err != nil {
		return err
	}
	var text string
	switch opts.format {
	case "tree":
		text = cleanText(plan.Text())
	case "mermaid":
		text = plan.Mermaid()
	case "svg":
		text = plan.SVG()
	default:
		return usage("--format %s: expected %s", opts.format, strings.Join(planFormats(), ", "))
	}
	if in.global.json() {
		return writeJSONDoc(in.Stdout, map[string]any{"workflow": plan.Ref, "format": opts.format, "text": text})
	}
	_, err = io.WriteString(in.Stdout, text)
	return err
}

// cleanText makes lines harmless to a terminal.
func cleanText(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = term.Clean(line)
	}
	return strings.Join(lines, "\n")
}

// planOf draws a workflow, or a run if there is no workflow of that name.
func (in *invocation) planOf(ctx context.Context, target string, opts planOptions) (*diagram.Plan, error) {
	cfg, err := in.loadConfig()
	if err != nil {
		return nil, err
	}
	program, _, err := in.compile(cfg, target)
	var missing *Failure
	if errors.As(err, &missing) && missing.Code == string(workflow.UnknownWorkflow) {
		plan, runErr := in.planOfRun(ctx, target, opts)
		if plan == nil && failureOf(runErr).Code == codeNotFound {
			return nil, missing.help("There is no run %s either.", target)
		}
		return plan, runErr
	}
	if err != nil {
		return nil, err
	}
	limits, err := workflow.Effective(program.Root.Def.Budgets, &cfg.Ceilings, nil)
	if err != nil {
		return nil, err
	}
	return diagram.Of(program, limits, diagram.Options{Depth: opts.depth}), nil
}

func (in *invocation) planOfRun(ctx context.Context, name string, opts planOptions) (plan *diagram.Plan, err error) {
	o, err := in.open(ctx)
	if err != nil {
		return nil, err
	}
	defer o.close(ctx, &err)
	id, err := o.find(ctx, name)
	if err != nil {
		return nil, err
	}
	v, err := o.Progress(ctx, id, culm.ProgressOptions{Values: true, Session: culm.AnySession})
	if err != nil {
		return nil, err
	}
	program := in.pinned(v)
	if program == nil {
		return nil, &Failure{Exit: ExitRefused, Code: culm.CodeBundleMismatch, Message: fmt.Sprintf("the definition that is pinned in run %s does not compile here", id)}
	}
	plan = diagram.Of(program, v.Budget, diagram.Options{Depth: opts.depth})
	plan.Mark(&v.Snapshot)
	return plan, nil
}
