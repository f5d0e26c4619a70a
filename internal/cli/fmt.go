package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/culm-dev/culm/workflow"
)

type fmtOptions struct {
	write, check, canonical bool
}

func (in *invocation) fmtCommand() *cobra.Command {
	var opts fmtOptions
	cmd := &cobra.Command{
		Use:   "fmt FILE...",
		Short: "Print workflows in their tidy form, or tidy the files",
		Long: `Prints workflow files in their tidy form: fields in the order of the documentation
(the plan above the steps or below them), two spaces for each level, one blank line
at most. Comments, quotes, shorthand and the line breaks of long values stay as they
are. YAML stays YAML, JSON stays JSON, and what a file means, and so its hash, never
changes. A folder stands for the workflows in it, - for standard input.

As with gofmt, files are only changed with -w. --check changes nothing either: it
lists the files that are not tidy, and exits with 1 if there are any.`,
		Example: `  culm fmt review.yaml                  # print it
  culm fmt -w workflows                 # tidy the files
  culm fmt --check workflows            # for CI
  culm fmt --canonical review.yaml | jq .steps`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return in.runFmt(args, opts) },
	}
	f := cmd.Flags()
	f.BoolVarP(&opts.write, "write", "w", false, "write the tidy form to the files, if they differ from it")
	f.BoolVar(&opts.check, "check", false, "list the files that differ from their tidy form; exit with 1 if there are any")
	f.BoolVar(&opts.canonical, "canonical", false, "print the canonical form, as canonical JSON: what is hashed")
	return cmd
}

// formatted is one file and its tidy form.
type formatted struct {
	file string
	data []byte // as it is
	tidy []byte
}

func (f formatted) differs() bool { return !bytes.Equal(f.data, f.tidy) }

func (in *invocation) runFmt(targets []string, opts fmtOptions) error {
	if opts.write && opts.check || opts.write && opts.canonical || opts.check && opts.canonical {
		return usage("-w, --check and --canonical exclude each other")
	}
	files, err := formatTargets(targets)
	if err != nil {
		return err
	}
	var list []formatted
	var wrong workflow.Errors
	for _, file := range files {
		f, err := in.format(file, opts)
		var errs workflow.Errors
		if errors.As(err, &errs) {
			wrong = append(wrong, errs...)
			continue
		}
		if err != nil {
			return err
		}
		list = append(list, f)
	}
	if len(wrong) > 0 {
		return wrong // before anything is written
	}
	return in.showFormatted(list, opts)
}

func (in *invocation) showFormatted(list []formatted, opts fmtOptions) error {
	changed := []string{}
	for _, f := range list {
		if f.differs() {
			changed = append(changed, f.file)
		}
		switch {
		case opts.check:
		case opts.write:
			if err := f.write(); err != nil {
				return err
			}
		case in.global.json() && !opts.canonical:
		default:
			if _, err := in.Stdout.Write(f.tidy); err != nil {
				return err
			}
		}
	}
	if err := in.listChanged(changed, list, opts); err != nil {
		return err
	}
	if opts.check && len(changed) > 0 {
		return exit(ExitFailed)
	}
	return nil
}

// listChanged names the files that differ: those that were written, or would be.
func (in *invocation) listChanged(changed []string, list []formatted, opts fmtOptions) error {
	if in.global.json() && !opts.canonical {
		doc := map[string]any{"files": len(list), "changed": changed}
		if !opts.check && !opts.write {
			texts := map[string]string{}
			for _, f := range list {
				texts[f.file] = string(f.tidy)
			}
			doc["tidy"] = texts
		}
		return writeJSONDoc(in.Stdout, doc)
	}
	if !opts.check && !opts.write {
		return nil
	}
	for _, file := range changed {
		if _, err := fmt.Fprintln(in.Stdout, file); err != nil {
			return err
		}
	}
	return nil
}

// formatTargets are the files to format: those given, and the workflows of the
// folders given.
func formatTargets(targets []string) ([]string, error) {
	var files []string
	for _, target := range targets {
		info, err := os.Stat(target)
		switch {
		case target == "-":
			files = append(files, target)
			continue
		case err != nil:
			return nil, noFile(target, err)
		case !info.IsDir():
			files = append(files, target)
			continue
		}
		found, err := workflowsIn(target)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// workflowsIn are the workflow files in a folder, and in its folder of workflows.
func workflowsIn(dir string) ([]string, error) {
	here, err := workflow.DirCatalog(dir, filepath.Join(dir, workflowsDir)).Snapshot()
	if err != nil {
		return nil, fmt.Errorf("read folder: %w", err)
	}
	if err := errors.Join(here.Unreadable...); err != nil {
		return nil, err
	}
	var files []string
	for _, src := range here.Sources() {
		files = append(files, src.Name())
	}
	if len(files) == 0 {
		return nil, &Failure{Exit: ExitUsage, Code: codeNotFound, Message: "no workflows in " + dir}
	}
	return files, nil
}

func (in *invocation) format(file string, opts fmtOptions) (formatted, error) {
	f := formatted{file: file}
	var err error
	if file == "-" {
		f.data, err = io.ReadAll(in.Stdin)
		if opts.write {
			err = usage("-w: standard input cannot be written; leave -w out to get its tidy form on standard output")
		}
		f.file = "standard input"
	} else {
		f.data, err = os.ReadFile(file)
	}
	if err != nil {
		return f, unreadable(file, err)
	}
	if opts.canonical {
		f.tidy, err = canonicalLine(f.file, f.data)
		return f, err
	}
	f.tidy, err = workflow.Format(f.file, f.data)
	if errors.Is(err, workflow.ErrLayout) {
		return f, &Failure{Exit: ExitFailed, Code: codeUntidy, Message: fmt.Sprintf("%s: %v", f.file, err)}
	}
	return f, err
}

func canonicalLine(name string, data []byte) ([]byte, error) {
	src, err := workflow.Load(name, data)
	if err != nil {
		return nil, err
	}
	raw, err := src.Definition().Canonical()
	return append(raw, '\n'), err
}

// write replaces a file by its tidy form, all of it or nothing. A link stays a
// link, and the file keeps its permissions.
func (f formatted) write() error {
	if !f.differs() {
		return nil
	}
	path, err := filepath.EvalSymlinks(f.file)
	if err != nil {
		return tidyFailure(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return tidyFailure(err)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".culm-fmt-*")
	if err != nil {
		return tidyFailure(err)
	}
	_, err = temp.Write(f.tidy)
	err = errors.Join(err, temp.Chmod(info.Mode().Perm()), temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return tidyFailure(errors.Join(err, os.Remove(temp.Name())))
	}
	return nil
}

func tidyFailure(err error) *Failure {
	return &Failure{Exit: ExitStorage, Code: codeStorage, Message: "write tidy file: " + err.Error()}
}
