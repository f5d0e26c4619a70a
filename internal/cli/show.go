package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/cli/plain"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/internal/cli/tree"
	"github.com/culm-dev/culm/run"
)

type showOptions struct {
	run, step string
	output    bool
}

func (in *invocation) showCommand() *cobra.Command {
	var opts showOptions
	cmd := &cobra.Command{
		Use:   "show RUN [--output [STEP]]",
		Short: "Show one run: its steps, results, and what it waits for",
		Long: `Shows where a run stands: its steps as a tree, what failed, what is in doubt, what
it waits for, and what to type next. With -o json it is the whole snapshot, with
definitions, arguments and outputs, and what is possible now under "actions".

With --output it prints one output and nothing else: that of the run, or of a STEP.
A string is printed byte for byte, anything else as JSON.

RUN is a run's id, or any beginning or end of it that only one run has.`,
		Example: `  culm show 7d1e9f
  culm show 7d1e9f --output > result.txt
  culm show 7d1e9f --output build | jq -r .stdout
  culm show 7d1e9f -o json | jq .steps.review.output`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.run = args[0]
			if len(args) > 1 {
				opts.step = args[1]
			}
			return in.runShow(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.output, "output", false, "print only the output, of the run or of STEP")
	return cmd
}

func (in *invocation) runShow(ctx context.Context, opts showOptions) (err error) {
	if opts.step != "" && !opts.output {
		return usage("culm show takes a STEP only with --output").
			help("To see its output: %s", in.command("show", opts.run, "--output", opts.step))
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
	v, err := o.Progress(ctx, id, culm.ProgressOptions{Values: true, Session: culm.AnySession})
	if err != nil {
		return err
	}
	switch {
	case opts.output:
		return in.writeOneOutput(v, opts.step)
	case in.global.json():
		return writeJSONDoc(in.Stdout, v)
	}
	return in.page(v, o.model(ctx, v))
}

// model is the run's tree. The journal knows more than the snapshot, such as how
// many items a map has; a damaged one is shown as far as the snapshot goes.
func (o *opened) model(ctx context.Context, v *run.View) *tree.Model {
	program := o.in.pinned(v)
	outline := func() *tree.Item {
		if program == nil {
			return nil
		}
		return tree.Outline(program)
	}
	m := tree.NewModel(outline())
	if v.Damaged == "" && o.replay(ctx, v, m) == nil {
		return m
	}
	m = tree.NewModel(outline())
	m.Load(&v.Snapshot)
	return m
}

func (o *opened) replay(ctx context.Context, v *run.View, m *tree.Model) error {
	return o.each(ctx, v.RunID, 0, v.LastSequence, m.Apply)
}

// page writes a run as a page to read.
func (in *invocation) page(v *run.View, m *tree.Model) error {
	p := term.NewPalette(term.WantsColour(in.Stdout, in.Env))
	columns, _ := term.Size(in.Stdout)
	var b strings.Builder
	in.pageHead(&b, v, p)
	now := in.Now()
	if stands(v) {
		now = v.UpdatedAt
	}
	b.WriteString("\n")
	for _, line := range tree.Lines(m.Rows(now), tree.Pen{Palette: p, Width: max(columns, 60)}) {
		b.WriteString(line + "\n")
	}
	if v.Failure != nil {
		fmt.Fprintf(&b, "\n%s %s\n", p.Bad("error["+string(v.Failure.Code)+"]:"), term.Clean(v.Failure.Message))
	}
	if v.Status == run.StatusSucceeded && len(v.Output) > 0 {
		b.WriteString("\n" + p.Faint("output") + "\n")
		in.pageOutput(&b, v)
	}
	if advice := in.advice(v); len(advice) > 0 {
		b.WriteString("\n" + strings.Join(advice, "\n") + "\n")
	}
	_, err := io.WriteString(in.Stdout, b.String())
	return err
}

func (in *invocation) pageHead(b *strings.Builder, v *run.View, p term.Palette) {
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "%s %s\n", p.Faint(fmt.Sprintf("%-10s", name)), value)
		}
	}
	field("run", v.RunID)
	if v.Definition.ID != "" {
		field("workflow", p.Bold(fmt.Sprintf("%s@%d", v.Definition.ID, v.Definition.Revision)))
	}
	field("status", paintStatus(p, v.Status, term.Clean(outcome(v))))
	if v.Damaged != "" {
		field("damaged", p.Bad(term.Clean(v.Damaged)))
	}
	if !v.CreatedAt.IsZero() {
		field("created", fmt.Sprintf("%s (%s ago)", v.CreatedAt.Local().Format(time.DateTime), tree.Age(in.Now().Sub(v.CreatedAt))))
		field("took", took(v, in.Now()))
	}
	field("owner", ownerText(v.Owner))
	if v.SessionID != "local" {
		field("session", term.Clean(v.SessionID))
	}
	field("labels", term.Clean(labelText(v.Labels)))
	field("granted", grantText(v.Authority))
	field("restarts", restartText(v))
	if v.Budget.MaxSteps > 0 {
		field("used", usageText(&v.Snapshot))
	}
	field("arguments", term.Clean(plain.Shorten(string(v.Args), 300)))
}

func restartText(v *run.View) string {
	if v.RestartedAtStep == "" {
		return v.RestartedFrom
	}
	return v.RestartedFrom + ", from step " + v.RestartedAtStep
}

func ownerText(o *run.Owner) string {
	switch {
	case o == nil || o.ID == "":
		return ""
	case o.Alive:
		return term.Clean(o.ID) + ", alive"
	}
	return term.Clean(o.ID) + ", gone"
}

func grantText(a run.Authority) string {
	var parts []string
	if a.Trusted {
		parts = append(parts, "trusted")
	}
	if len(a.Allow) > 0 {
		parts = append(parts, strings.Join(a.Allow, ", "))
	}
	return term.Clean(strings.Join(parts, "; "))
}

func usageText(s *run.Snapshot) string {
	text := fmt.Sprintf("%d of %d steps", s.Usage.Steps, s.Budget.MaxSteps)
	if s.Usage.Retries > 0 {
		text += fmt.Sprintf(", %d of %d retries", s.Usage.Retries, s.Budget.MaxRetries)
	}
	return text
}
