package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func (in *invocation) manCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "man [COMMAND] [--dir DIR]",
		Short: "Print or write manual pages",
		Long: `Prints the manual page of culm, or of one of its commands, as man reads it; with --dir
it writes all of them into a folder. The pages are those of this version.`,
		Example: `  culm man | man -l -
  culm man run | man -l -
  culm man --dir ~/.local/share/man/man1   # then: man culm-run`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir != "" && len(args) > 0 {
				return usage("--dir writes all pages: leave %s out", args[0])
			}
			if dir != "" {
				return in.writeManual(dir)
			}
			return in.printManual(args)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var names []cobra.Completion
			for _, c := range cmd.Root().Commands() {
				if c.IsAvailableCommand() && len(args) == 0 {
					names = append(names, described(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write all pages into `DIR`")
	_ = cmd.MarkFlagDirname("dir") // the flag is there
	return cmd
}

func (in *invocation) printManual(args []string) error {
	root := in.manualRoot()
	page := root
	if len(args) > 0 {
		found, _, err := root.Find(args)
		if err != nil || found == root {
			return unknownCommand(root, args[0])
		}
		page = found
	}
	text, err := manualPage(page)
	if err != nil {
		return err
	}
	_, err = in.Stdout.Write(text)
	return err
}

// writeManual writes a page for culm and one for each command.
func (in *invocation) writeManual(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return manualFailure(err)
	}
	root := in.manualRoot()
	var files []string
	for _, c := range append([]*cobra.Command{root}, root.Commands()...) {
		if c != root && !c.IsAvailableCommand() {
			continue
		}
		text, err := manualPage(c)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
		if err := os.WriteFile(file, text, 0o666); err != nil {
			return manualFailure(err)
		}
		files = append(files, file)
	}
	if in.global.json() {
		return writeJSONDoc(in.Stdout, map[string]any{"files": files})
	}
	_, err := fmt.Fprintln(in.Stdout, strings.Join(files, "\n"))
	return err
}

func manualFailure(err error) *Failure {
	return &Failure{Exit: ExitStorage, Code: codeStorage, Message: "write manual: " + err.Error()}
}

// manualRoot is the tree of commands with help as a manual has it: examples and
// lists, which stand in by two spaces, are set as they are.
func (in *invocation) manualRoot() *cobra.Command {
	root := in.root()
	root.Long += "\n" + strings.TrimRight(rootEpilogue, "\n")
	for _, c := range append([]*cobra.Command{root}, root.Commands()...) {
		c.DisableAutoGenTag = true
		c.Long = setAsWritten(c.Long)
	}
	return root
}

// setAsWritten makes what stands in by two spaces a block of Markdown that is set
// as it is: four spaces, and a blank line above.
func setAsWritten(text string) string {
	var lines []string
	block := false
	for line := range strings.SplitSeq(text, "\n") {
		in := strings.HasPrefix(line, "  ")
		if in && !block && len(lines) > 0 && lines[len(lines)-1] != "" {
			lines = append(lines, "")
		}
		if block = in; in {
			line = "  " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// manualPage is one page. Its date is that of what culm was built from, not that
// of the day on which it is printed.
func manualPage(c *cobra.Command) ([]byte, error) {
	b := thisBuild()
	header := &doc.GenManHeader{Section: "1", Source: "Culm " + b.Version, Manual: "Culm", Date: &b.Time}
	var page bytes.Buffer
	if err := doc.GenMan(c, header, &page); err != nil {
		return nil, fmt.Errorf("make manual page: %w", err)
	}
	if b.Time.IsZero() {
		return bytes.Replace(page.Bytes(), []byte(`"`+b.Time.Format("Jan 2006")+`"`), []byte(`""`), 1), nil
	}
	return page.Bytes(), nil
}
