package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// globals are the flags that every command takes.
type globals struct {
	data, store, workspace, config, server, output string

	typed  []string // flags for the commands that are recommended
	chosen bool     // data was chosen, so that the store of culm.yaml does not count
}

func (g *globals) json() bool { return g.output == "json" }

func (g *globals) register(f *pflag.FlagSet) {
	f.StringVar(&g.data, "data", "", "`DIR` that holds the runs (default: culm in $XDG_DATA_HOME or ~/.local/share)")
	f.StringVar(&g.store, "store", "", "`URL` of the store (default: culm.db in the --data directory)")
	f.StringVar(&g.workspace, "workspace", "", "`DIR` that tools may touch (default: the current directory)")
	f.StringVar(&g.config, "config", "", "`FILE` of settings (default: culm.yaml in the workspace, if there is one)")
	f.StringVar(&g.server, "server", "", "`URL` of a server to ask (not in this version)")
	f.StringVarP(&g.output, "output-format", "o", "text", "`text|json`: how results and errors are printed")
}

// complete fills in what flags leave open: environment, then default. Flags win.
func (g *globals) complete(cmd *cobra.Command, env func(string) string) error {
	flags := cmd.Root().PersistentFlags()
	for _, name := range []string{"data", "store", "workspace", "config"} {
		if f := flags.Lookup(name); f.Changed {
			g.typed = append(g.typed, "--"+name, f.Value.String())
		}
	}
	if flags.Changed("data") && flags.Changed("store") {
		return usage("--data and --store exclude each other: --store says where the runs are")
	}
	for name, variable := range globalVariables() {
		if f := flags.Lookup(name); !f.Changed && env(variable) != "" {
			if err := f.Value.Set(env(variable)); err != nil {
				return usage("%s: %v", variable, err)
			}
		}
	}
	if flags.Changed("data") {
		g.store = "" // the flag wins over the environment's store
	}
	return g.check(env)
}

// globalVariables are the environment's names of the global flags.
func globalVariables() map[string]string {
	return map[string]string{
		"data": "CULM_DATA", "store": "CULM_STORE", "workspace": "CULM_WORKSPACE",
		"config": "CULM_CONFIG", "server": "CULM_SERVER", "output-format": "CULM_OUTPUT_FORMAT",
	}
}

func (g *globals) check(env func(string) string) error {
	if g.output != "text" && g.output != "json" {
		wrong := g.output
		g.output = "text"
		return usage("-o %s: expected text or json", wrong)
	}
	if g.server != "" {
		return &Failure{
			Exit: ExitUsage, Code: codeUnsupportedServer,
			Message: "--server: this version works on the store directly, and knows no server",
			Help:    []string{"Leave --server (or CULM_SERVER) out; choose the runs with --data or --store."},
		}
	}
	workspace, err := filepath.Abs(g.workspace)
	if err != nil {
		return fmt.Errorf("find workspace: %w", err)
	}
	if info, err := os.Stat(workspace); err != nil || !info.IsDir() {
		return usage("--workspace %s: no such directory", g.workspace)
	}
	g.workspace = workspace
	if g.data != "" {
		g.chosen = true
		return nil
	}
	g.data, err = defaultData(env)
	return err
}

// defaultData follows the XDG Base Directory Specification.
func defaultData(env func(string) string) (string, error) {
	if base := env("XDG_DATA_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "culm"), nil
	}
	home := env("HOME")
	if home == "" {
		return "", usage("neither --data nor XDG_DATA_HOME nor HOME says where the runs are").help("Give a directory: --data DIR")
	}
	return filepath.Join(home, ".local", "share", "culm"), nil
}

// storeURL is where the runs are: the flag or environment, the file, the default.
func (g *globals) storeURL(c *config) (string, error) {
	url := g.store
	if url == "" && !g.chosen && c.Store != "" {
		url = c.Store
	}
	if url == "" {
		url = "sqlite:" + filepath.Join(g.data, "culm.db")
	}
	scheme, path, ok := strings.Cut(url, ":")
	switch {
	case !ok:
		return "", unsupportedStore(url, "a store is named by a URL, such as sqlite:./runs/culm.db")
	case scheme == "sqlite" && path == "":
		return "", unsupportedStore(url, "sqlite: needs the path of its file, such as sqlite:./runs/culm.db")
	case scheme == "file" && path == "":
		return "", unsupportedStore(url, "file: needs the path of its folder, such as file:./runs")
	case scheme == "sqlite" || scheme == "file":
		path, err := filepath.Abs(path)
		return scheme + ":" + path, err
	case url == "memory:":
		return url, nil
	}
	return "", unsupportedStore(url, "this version knows sqlite:FILE, file:DIR and memory:")
}

func unsupportedStore(url, why string) *Failure {
	return &Failure{
		Exit: ExitUsage, Code: codeUnsupportedStore, Message: fmt.Sprintf("store %q: %s", url, why),
		Details: map[string]any{"store": url},
	}
}

// command is a culm command line to type, with the global flags of this one.
func (in *invocation) command(words ...string) string {
	all := append([]string{"culm"}, words...)
	all = append(all, in.global.typed...)
	return line(all...)
}

// line is a command line of words.
func line(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(word)
	}
	return strings.Join(quoted, " ")
}

// quote makes a word safe to paste into a POSIX shell.
func quote(word string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_./:,+=@%", c)
	}
	if word != "" && strings.IndexFunc(word, func(c rune) bool { return !plain(c) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
