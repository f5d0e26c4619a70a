package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/culm-dev/culm/internal/canon"
)

// shell is one that completions are made for.
type shell struct {
	name    string
	install string // what to type, once
	write   func(root *cobra.Command, w io.Writer) error
}

func shells() []shell {
	return []shell{
		{"bash", "culm completion bash > ~/.local/share/bash-completion/completions/culm",
			func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
		{"zsh", `culm completion zsh > "${fpath[1]}/_culm"`,
			func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) }},
		{"fish", "culm completion fish > ~/.config/fish/completions/culm.fish",
			func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
		{"powershell", "culm completion powershell >> $PROFILE",
			func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) }},
	}
}

func shellNames() []string {
	var names []string
	for _, s := range shells() {
		names = append(names, s.name)
	}
	return names
}

func (in *invocation) completionCommand() *cobra.Command {
	install := ""
	for _, s := range shells() {
		install += fmt.Sprintf("    %-11s %s\n", s.name, s.install)
	}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print what makes a shell complete commands, runs and workflows",
		Long: `Prints a script that makes a shell complete commands, flags and their values, the ids
of runs (with their workflow and status), steps in doubt, workflows and their arguments.
bash needs its package bash-completion. To install it, once:

` + install + `
To try it in this shell only:

    source <(culm completion bash)`,
		Example:   "  source <(culm completion bash)",
		Args:      cobra.ExactArgs(1),
		ValidArgs: shellNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range shells() {
				if s.name == args[0] {
					return s.write(cmd.Root(), in.Stdout)
				}
			}
			err := usage("there is no completion for %s", args[0])
			if near := canon.Near(args[0], shellNames()); near != "" {
				return err.help("Did you mean culm completion %s?", near)
			}
			return err.help("There is for bash, zsh, fish and powershell.")
		},
	}
}
