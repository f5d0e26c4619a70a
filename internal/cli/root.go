package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/culm-dev/culm/internal/canon"
)

// root makes the tree of commands.
func (in *invocation) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "culm",
		Short: "Runs workflows that survive crashes without repeating or losing a step",
		Long: `Culm runs workflows of tools so that a crash, a kill or a lost connection never
repeats a side effect and never loses a result. Every step is on disk before it
is entered and after it ends; a step whose outcome nobody knows is shown as in
doubt and waits for your decision.`,
		Example: `  culm init hello && cd hello   # a project that runs at once
  culm run hello                # run it: the output is on stdout
  culm list                     # all runs, and whether anybody works on them
  culm continue RUN             # go on where a run was left`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return in.global.complete(cmd, in.Env)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetArgs(in.Args)
	root.SetIn(in.Stdin)
	root.SetOut(in.Stdout)
	root.SetErr(in.Stderr)
	in.global.register(root.PersistentFlags())
	groups := in.groups()
	for _, g := range groups {
		root.AddCommand(g.commands...)
	}
	root.AddCommand(topics()...)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { in.help(c, groups) })
	root.SetUsageFunc(func(c *cobra.Command) error { return writeUsage(c.OutOrStdout(), c, groups) })
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.DisableDefaultCmd = true
	wrapUsage(root)
	in.complete(root)
	return root
}

// group is a heading of the help, and the commands below it in that order.
type group struct {
	title    string
	commands []*cobra.Command
}

func (in *invocation) groups() []group {
	return []group{
		{"Write workflows", []*cobra.Command{in.initCommand(), in.validateCommand(), in.testCommand(), in.fmtCommand(), in.planCommand(), in.schemaCommand()}},
		{"Run them", []*cobra.Command{
			in.runCommand(), in.continueCommand(), in.resolveCommand(), in.cancelCommand(), in.restartCommand(), in.recoverCommand(),
		}},
		{"Look at runs", []*cobra.Command{in.listCommand(), in.showCommand(), in.eventsCommand(), in.logsCommand(), in.waitCommand()}},
		{"Keep house", []*cobra.Command{
			in.doctorCommand(), in.backupCommand(), in.exportCommand(), in.importCommand(), in.gcCommand(),
		}},
		{"Other", []*cobra.Command{in.completionCommand(), in.manCommand(), in.versionCommand()}},
	}
}

func flagError(cmd *cobra.Command, err error) error {
	return usage("%v", err).help("To see what it takes: %s --help", cmd.CommandPath())
}

// wrapUsage turns cobra's errors about arguments into failures with advice.
func wrapUsage(root *cobra.Command) {
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return nil
	}
	for _, c := range root.Commands() {
		check := c.Args
		c.DisableFlagsInUseLine = true
		c.Args = func(cmd *cobra.Command, args []string) error {
			if check == nil || check(cmd, args) == nil {
				return nil
			}
			return wrongArguments(cmd, args)
		}
	}
}

// wrongArguments says what a command takes, by the words of its usage line.
func wrongArguments(cmd *cobra.Command, args []string) *Failure {
	words := strings.Fields(strings.TrimSuffix(cmd.Use, " [flags]"))[1:]
	takes := "no arguments"
	if len(words) > 0 {
		takes = strings.Join(words, " ")
	}
	given := "nothing was given"
	if len(args) > 0 {
		given = "it was given: " + strings.Join(args, " ")
	}
	return usage("%s takes %s; %s", cmd.CommandPath(), takes, given).help("To see examples: %s --help", cmd.CommandPath())
}

func unknownCommand(root *cobra.Command, word string) error {
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	f := usage("no command %q", word)
	if near := canon.Near(word, names); near != "" {
		return f.help("Did you mean culm %s?", near)
	}
	return f.help("To see all commands: culm --help")
}
