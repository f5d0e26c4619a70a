package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culm-dev/culm/internal/app"
	"github.com/culm-dev/culm/internal/cases"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/workflow"
)

func (in *invocation) testCommand() *cobra.Command {
	var only string
	cmd := &cobra.Command{
		Use:   "test [FILE|DIR...] [flags]",
		Short: "Run workflows against scripted tools, in no time",
		Long: `Runs the cases that stand beside workflows: those of hello.yaml in hello.test.yaml.
Tools do what a case says, nothing real is called unless the case names a tool
that only reads, and sleeps, retries and timeouts take no time. A case may let
the process die at an event, or everywhere, once each.

A FILE holds cases, or is a workflow with cases beside it; a DIR stands for all
such files in it. The default is the current directory. Nothing is written.

Exit status 1 if a case is not as it says, 2 if a file cannot be read.`,
		Example: `  culm test
  culm test workflows/review.yaml
  culm test --run 'crash|retry'
  culm test -o json | jq '.files[].cases[] | select(.ok | not)'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return in.runTest(cmd.Context(), args, only)
		},
	}
	cmd.Flags().StringVar(&only, "run", "", "only cases whose name matches this `REGEXP`")
	return cmd
}

// tested is what came of one file of cases.
type tested struct {
	File     string          `json:"file"`
	Workflow string          `json:"workflow,omitempty"` // id@revision
	Cases    []testedCase    `json:"cases"`
	Errors   workflow.Errors `json:"errors"`

	unread *Failure // it could not be read at all
}

type testedCase struct {
	Name     string   `json:"name"`
	OK       bool     `json:"ok"`
	Problems []string `json:"problems"`
	// PassedMS is the time that passed for the run, in milliseconds.
	PassedMS int64 `json:"passed_ms"`
	// Crashes is at how many places the process died.
	Crashes int `json:"crashes"`
}

func (in *invocation) runTest(ctx context.Context, targets []string, only string) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return usage("--run: %v", err)
	}
	if len(targets) == 0 {
		targets = []string{"."}
	}
	paths, err := caseFiles(targets)
	if err != nil {
		return err
	}
	cfg, err := in.loadConfig()
	if err != nil {
		return err
	}
	loader := cases.Loader{Tools: app.Tools(in.Executable), Compile: func(path string) (*workflow.Program, error) {
		program, _, err := in.compile(cfg, path)
		return program, err
	}}
	all := make([]tested, 0, len(paths))
	for _, path := range paths {
		file := in.testFile(ctx, loader, path, match)
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if !in.global.json() {
			if err := in.showTested(file); err != nil {
				return err
			}
		}
		all = append(all, file)
	}
	return in.concludeTest(all, only)
}

func (in *invocation) testFile(ctx context.Context, loader cases.Loader, path string, match *regexp.Regexp) tested {
	found := tested{File: path, Cases: []testedCase{}, Errors: workflow.Errors{}}
	file, err := loader.Load(path)
	if err != nil {
		if !errors.As(err, &found.Errors) {
			found.unread = failureOf(err)
			found.Errors = workflow.Errors{{Code: workflow.Code(found.unread.Code), File: path, Message: found.unread.Message}}
		}
		return found
	}
	found.Workflow = file.Program.Root.Ref
	for _, c := range file.Cases {
		if !match.MatchString(c.Name) || ctx.Err() != nil {
			continue
		}
		r := file.Run(ctx, c, in.global.workspace)
		found.Cases = append(found.Cases, testedCase{
			Name: r.Name, OK: r.OK(), Problems: slices.Concat([]string{}, r.Problems),
			PassedMS: r.Passed.Milliseconds(), Crashes: r.Crashes,
		})
	}
	return found
}

// caseFiles finds the files of cases that files and folders stand for.
func caseFiles(targets []string) ([]string, error) {
	var paths []string
	for _, target := range targets {
		info, err := os.Stat(target)
		if err != nil {
			return nil, noFile(target, err)
		}
		found := []string{target}
		switch {
		case info.IsDir():
			found, err = casesIn(target)
		case !cases.IsFile(target):
			found = cases.Beside(target)
		}
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, noCases(target, info.IsDir())
		}
		for _, path := range found {
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths, nil
}

// casesIn finds the files of cases below a folder, but for hidden folders.
func casesIn(dir string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.IsDir() && cases.IsFile(path):
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		return nil, &Failure{Exit: ExitUsage, Code: codeNotFound, Message: "look for cases: " + err.Error()}
	}
	return found, nil
}

func noCases(target string, dir bool) *Failure {
	f := &Failure{Exit: ExitUsage, Code: codeNotFound, Message: "there are no cases for " + target}
	if dir {
		f.Message = "there are no cases in " + target
		return f.help("Those of a workflow hello.yaml stand beside it, in hello.test.yaml.")
	}
	base := strings.TrimSuffix(target, filepath.Ext(target))
	return f.help("They stand beside it, in %s.test.yaml.", base)
}

// concludeTest says what came of all, and gives the exit status.
func (in *invocation) concludeTest(all []tested, only string) error {
	ok, failed, unread := 0, 0, 0
	for _, file := range all {
		if len(file.Errors) > 0 {
			unread++
		}
		for _, c := range file.Cases {
			if c.OK {
				ok++
			} else {
				failed++
			}
		}
	}
	if in.global.json() {
		err := writeJSONDoc(in.Stdout, map[string]any{"files": all, "ok": ok, "failed": failed})
		if err != nil {
			return err
		}
	} else if ok+failed+unread > 0 {
		in.note("", summaryOf(ok, failed, unread, len(all)))
	}
	switch {
	case unread > 0:
		return exit(ExitUsage)
	case failed > 0:
		return exit(ExitFailed)
	case ok == 0:
		return usage("no case has a name that matches %s", only)
	}
	return nil
}

func summaryOf(ok, failed, unread, files int) string {
	text := fmt.Sprintf("%s in %s: %d ok", counted(ok+failed, "case"), counted(files, "file"), ok)
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if unread > 0 {
		text += fmt.Sprintf("; %s could not be read", counted(unread, "file"))
	}
	return text
}

// showTested prints what came of a file: its cases to standard output, what is
// wrong with the file itself to standard error.
func (in *invocation) showTested(file tested) error {
	if len(file.Errors) > 0 {
		if file.unread != nil {
			file.unread.write(in.Stderr, in.palette)
			return nil
		}
		return file.Errors.Render(in.Stderr, in.palette.On())
	}
	if len(file.Cases) == 0 {
		return nil
	}
	var b strings.Builder
	palette := term.NewPalette(term.WantsColour(in.Stdout, in.Env))
	fmt.Fprintf(&b, "%s  %s\n", file.File, palette.Faint(file.Workflow))
	for _, c := range file.Cases {
		c.show(&b, palette)
	}
	_, err := fmt.Fprint(in.Stdout, b.String())
	return err
}
