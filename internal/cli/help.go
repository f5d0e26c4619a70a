package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// help writes what a command is for, and how it is used, to standard output.
func (in *invocation) help(c *cobra.Command, groups []group) {
	text := c.Long
	if text == "" {
		text = c.Short
	}
	if c.IsAdditionalHelpTopicCommand() {
		fmt.Fprintln(in.Stdout, strings.Trim(text, "\n"))
		return
	}
	fmt.Fprintf(in.Stdout, "%s\n\n", strings.TrimSpace(text))
	_ = writeUsage(in.Stdout, c, groups)
}

func writeUsage(w io.Writer, c *cobra.Command, groups []group) error {
	var b strings.Builder
	if c.HasParent() {
		fmt.Fprintf(&b, "Usage:\n  %s\n", c.UseLine())
	} else {
		b.WriteString("Usage:\n  culm COMMAND [flags]\n")
	}
	if c.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	switch {
	case !c.HasParent():
		writeGroups(&b, c, groups)
	case c.HasAvailableSubCommands():
		writeGroups(&b, c, []group{{"Commands", nil}})
	}
	if flags := c.LocalFlags().FlagUsages(); flags != "" {
		fmt.Fprintf(&b, "\nFlags:\n%s", flags)
	}
	if c.HasParent() {
		b.WriteString("\nFlags of every command (--data, --store, --workspace, --config, -o): culm --help\n")
	} else {
		b.WriteString(rootEpilogue)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeGroups lists all commands below parent, those in no group at the end.
func writeGroups(b *strings.Builder, parent *cobra.Command, groups []group) {
	groups = slices.Clone(groups)
	last := &groups[len(groups)-1]
	last.commands = slices.Clone(last.commands)
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() && !slices.ContainsFunc(groups, func(g group) bool { return slices.Contains(g.commands, c) }) {
			last.commands = append(last.commands, c)
		}
	}
	for _, g := range groups {
		fmt.Fprintf(b, "\n%s:\n", g.title)
		for _, c := range g.commands {
			fmt.Fprintf(b, "  %-11s %s\n", c.Name(), c.Short)
		}
	}
}

// topics are texts that culm help shows, and that are about no one command.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What the exit statuses mean", Long: exitStatuses},
		{Use: "environment", Short: "The variables that culm reads", Long: environment},
	}
}

const exitStatuses = `Exit status:
    0  succeeded                        4  the run was cancelled
    1  the run failed                   5  refused; the code that is printed says why
    2  usage, definition or arguments   6  the store could not be read or written
    3  suspended: something waits     130  left by Ctrl-C
`

const environment = `A flag wins over its variable, that over culm.yaml, and that over the default.

    CULM_DATA            --data           the directory that holds the runs
    CULM_STORE           --store          the URL of the store
    CULM_WORKSPACE       --workspace      the directory that tools may touch
    CULM_CONFIG          --config         the file of settings
    CULM_OUTPUT_FORMAT   -o               text or json
    XDG_DATA_HOME, HOME  say where runs are kept if nothing else does
    NO_COLOR, TERM       say whether there are colours
`

const rootEpilogue = `
Each of --data, --store, --workspace, --config may come from the environment
instead: CULM_DATA, CULM_STORE, CULM_WORKSPACE, CULM_CONFIG.

` + exitStatuses + `
"culm COMMAND --help" shows examples. There is also: culm help exit-codes,
culm help environment. To complete commands and runs: culm completion --help.
`
