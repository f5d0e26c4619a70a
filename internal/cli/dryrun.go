package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/cli/plain"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/internal/cli/tree"
	"github.com/culm-dev/culm/workflow"
)

// dryRun shows what a start would do. It opens no store but one in memory, so that
// not even the data directory is made.
func (in *invocation) dryRun(ctx context.Context, cfg *config, program *workflow.Program, start culm.Start) (err error) {
	o, err := in.openStore(ctx, cfg, "memory:")
	if err != nil {
		return err
	}
	defer o.close(ctx, &err)
	pv, err := o.Preview(ctx, start)
	if err != nil {
		return err
	}
	if in.global.json() {
		err = writeJSONDoc(in.Stdout, pv)
	} else {
		err = in.previewPage(program, pv, start.Key)
	}
	if err == nil && pv.Err() != nil {
		return in.refusedRun(pv.Err())
	}
	return err
}

// previewPage writes a preview as a page to read.
func (in *invocation) previewPage(program *workflow.Program, pv *culm.Preview, key string) error {
	p := term.NewPalette(term.WantsColour(in.Stdout, in.Env))
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s %s\n", p.Faint(fmt.Sprintf("%-10s", name)), term.Clean(value))
		}
	}
	field("workflow", fmt.Sprintf("%s@%d", pv.Definition.ID, pv.Definition.Revision))
	field("bundle", pv.BundleHash)
	field("arguments", plain.Shorten(string(pv.Args), 300))
	if pv.SessionID != culm.DefaultSession {
		field("session", pv.SessionID)
	}
	field("labels", labelText(pv.Labels))
	field("workspace", pv.Workspace)
	field("granted", grantText(pv.Authority))
	if key != "" {
		field("key", key+" (whether it was used before was not looked up)")
	}
	b.WriteString("\n")
	columns, _ := term.Size(in.Stdout)
	for _, line := range tree.Lines(previewRows(program, pv), tree.Pen{Palette: p, Width: max(columns, 100)}) {
		b.WriteString(line + "\n")
	}
	b.WriteString("\n" + p.Faint("budget") + "\n")
	for _, bound := range pv.Budget {
		line := fmt.Sprintf("  %-17s %10s  %s", strings.TrimSuffix(bound.Field, "_ms"), boundText(bound), p.Faint(originText(bound)))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if pv.Refusal == nil {
		b.WriteString("\n" + p.Good("It would start.") + " Nothing was written, and nothing was run.\n")
	} else {
		b.WriteString("\n" + p.Bad("It would be refused: "+pv.Refusal.Code+".") + " Nothing was written, and nothing was run.\n")
	}
	_, err := fmt.Fprint(in.Stdout, b.String())
	return err
}

func previewRows(program *workflow.Program, pv *culm.Preview) []tree.Row {
	steps := make(map[string]culm.PreviewStep, len(pv.Steps))
	for _, st := range pv.Steps {
		steps[st.ID] = st
	}
	width := effectWidth(pv.Steps)
	return tree.Planned(tree.Outline(program), func(key string) (tree.Mark, string) {
		st, listed := steps[key]
		switch {
		case !listed:
			return tree.Pending, ""
		case st.Refusal != nil:
			return tree.Failed, refusedStep(st, width)
		}
		return tree.Pending, allowedStep(st, width)
	})
}

// effectWidth is that of the widest effect that is known.
func effectWidth(steps []culm.PreviewStep) int {
	width := 0
	for _, st := range steps {
		if st.Type == workflow.ToolStep && !st.EffectDepends {
			width = max(width, len(st.Effect))
		}
	}
	return width
}

func refusedStep(st culm.PreviewStep, width int) string {
	if st.Refusal.Code != culm.CodePolicyDenied {
		return st.Refusal.Code + ": " + st.Refusal.Message
	}
	return effectText(st, width) + "  refused: needs " + grantsText(st.Refusal)
}

func allowedStep(st culm.PreviewStep, width int) string {
	switch {
	case st.Type != workflow.ToolStep:
		return ""
	case st.AtWorst != nil:
		return effectText(st, width) + "  allowed if it reads; else it needs " + grantsText(st.AtWorst)
	}
	return effectText(st, width) + "  allowed"
}

// effectText is what a step's call does to the world, as far as that is known, so wide
// that what follows stands in a column.
func effectText(st culm.PreviewStep, width int) string {
	if st.EffectDepends {
		return "by its arguments, at worst " + string(st.Effect)
	}
	return fmt.Sprintf("%-*s", width, st.Effect)
}

func grantsText(r *culm.PreviewRefusal) string {
	var flags []string
	if r.NeedsTrust {
		flags = append(flags, "--trust")
	}
	if len(r.NeedsAllow) > 0 {
		flags = append(flags, "--allow "+strings.Join(r.NeedsAllow, ","))
	}
	return strings.Join(flags, " ")
}

func boundText(b workflow.Bound) string {
	switch {
	case b.Value == nil:
		return "no limit"
	case strings.HasSuffix(b.Field, "_ms"):
		return tree.Duration(time.Duration(*b.Value) * time.Millisecond)
	}
	return fmt.Sprint(*b.Value)
}

func originText(b workflow.Bound) string {
	text := map[workflow.BoundOrigin]string{
		workflow.BoundDefinition: "set by the definition", workflow.BoundCaller: "asked for",
		workflow.BoundDefault: "default", workflow.BoundCeiling: "the ceiling", workflow.BoundSteps: "no more than max_steps",
	}[b.From]
	if b.Ceiling != nil && b.From != workflow.BoundCeiling {
		ceiling := boundText(workflow.Bound{Field: b.Field, Value: b.Ceiling})
		return text + "; ceiling " + ceiling
	}
	return text
}
