package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

func (in *invocation) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check workflows; print everything that is wrong",
		Long: `Checks workflow files and all that they reach, against the tools that culm has.
Everything wrong with a file is printed at once, with its place and how to mend it.
Nothing is written, and nothing is run. A folder stands for the workflows in it.

With -o json it prints one document: each file with its errors and warnings.`,
		Example: `  culm validate workflows/review.yaml
  culm validate workflows
  culm validate review.yaml -o json | jq '.files[].errors[]'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return in.runValidate(args) },
	}
}

// checked is what validate found out about one file.
type checked struct {
	File     string          `json:"file"`
	OK       bool            `json:"ok"`
	Workflow string          `json:"workflow,omitempty"` // id@revision
	Hash     string          `json:"hash,omitempty"`     // of the bundle
	Steps    int             `json:"steps,omitempty"`
	Errors   workflow.Errors `json:"errors"`
	Warnings []string        `json:"warnings"`

	unread *Failure // it could not be read at all
}

func (in *invocation) runValidate(targets []string) error {
	cfg, err := in.loadConfig()
	if err != nil {
		return err
	}
	registry, err := in.registry()
	if err != nil {
		return err
	}
	var files []checked
	for _, target := range targets {
		found, err := in.validateTarget(cfg, target, registry)
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	if in.global.json() {
		err = writeJSONDoc(in.Stdout, map[string]any{"files": files})
	} else {
		err = in.showChecked(files)
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		if !f.OK {
			return exit(ExitUsage)
		}
	}
	return nil
}

// validateTarget checks a file, or the workflows of a folder.
func (in *invocation) validateTarget(cfg *config, target string, registry *tool.Registry) ([]checked, error) {
	info, err := os.Stat(target)
	if err != nil {
		return nil, noFile(target, err)
	}
	if !info.IsDir() {
		return []checked{in.check(cfg, target, registry)}, nil
	}
	here, err := workflow.DirCatalog(target, filepath.Join(target, workflowsDir)).Snapshot()
	if err != nil {
		return nil, fmt.Errorf("read folder: %w", err)
	}
	var files []checked
	for _, src := range here.Sources() {
		files = append(files, in.check(cfg, src.Name(), registry))
	}
	for _, err := range here.Unreadable {
		files = append(files, unreadableFile(target, err))
	}
	if len(files) == 0 {
		return nil, &Failure{Exit: ExitUsage, Code: codeNotFound, Message: "no workflows in " + target}
	}
	return files, nil
}

func (in *invocation) check(cfg *config, path string, registry *tool.Registry) checked {
	src, catalog, err := in.locateFile(cfg, path)
	if err != nil {
		return unreadableFile(path, err)
	}
	found := checked{File: path, Errors: workflow.Errors{}, Warnings: []string{}}
	program, err := workflow.Compile(src, catalog, schemasOf(registry))
	if err != nil {
		return unreadableFile(path, err)
	}
	found.OK, found.Workflow, found.Hash = true, program.Root.Ref, program.Hash
	found.Steps = len(program.Root.Def.Steps)
	found.Warnings = append(found.Warnings, warnings(program, registry)...)
	return found
}

func unreadableFile(path string, err error) checked {
	found := checked{File: path, Errors: workflow.Errors{}, Warnings: []string{}}
	if !errors.As(err, &found.Errors) {
		found.unread = failureOf(err)
		found.Errors = workflow.Errors{{Code: workflow.Code(found.unread.Code), File: path, Message: found.unread.Message}}
	}
	return found
}

// warnings are what a valid definition will be refused for when it is run here.
func warnings(p *workflow.Program, registry *tool.Registry) []string {
	var list []string
	for _, n := range p.Root.Nodes {
		if n.Step == nil {
			continue
		}
		if w := stepWarning(n.Step.Def, registry); w != "" {
			list = append(list, w)
		}
	}
	return list
}

func stepWarning(step *workflow.Step, registry *tool.Registry) string {
	switch step.Type {
	case workflow.ToolStep:
		if _, ok := registry.Lookup(step.Tool); ok {
			return ""
		}
		if near := registry.Near(step.Tool); near != "" {
			return fmt.Sprintf("step %s: culm has no tool %q; did you mean %q?", step.ID, step.Tool, near)
		}
		return fmt.Sprintf("step %s: culm has no tool %q", step.ID, step.Tool)
	case workflow.AgentStep, workflow.ApprovalStep, workflow.InputStep, workflow.EventStep:
		return fmt.Sprintf("step %s: this version of culm cannot run steps of type %s", step.ID, step.Type)
	}
	return ""
}

// showChecked prints what is wrong to standard error, and what is right to
// standard output.
func (in *invocation) showChecked(files []checked) error {
	wrong, count := 0, 0
	for _, f := range files {
		if f.OK {
			if _, err := fmt.Fprintf(in.Stdout, "%s: ok  %s, %d steps\n", f.File, f.Workflow, f.Steps); err != nil {
				return err
			}
		} else {
			wrong, count = wrong+1, count+len(f.Errors)
			in.showErrors(f)
		}
		for _, w := range f.Warnings {
			in.note(fmt.Sprintf("%s: %s %s", f.File, in.palette.Warn("warning:"), term.Clean(w)))
		}
	}
	if wrong > 0 {
		in.note("", fmt.Sprintf("%s in %s", counted(count, "error"), counted(wrong, "file")))
	}
	return nil
}

func (in *invocation) showErrors(f checked) {
	if f.unread != nil {
		f.unread.write(in.Stderr, in.palette)
		return
	}
	_ = f.Errors.Render(in.Stderr, in.palette.On())
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
