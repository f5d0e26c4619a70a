package cli

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/internal/cli/tree"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// complete gives every command what completes its arguments and flags. What an
// argument is, the command's usage line says: RUN, STEP, FILE.
func (in *invocation) complete(root *cobra.Command) {
	in.completeFlags(root)
	for _, c := range root.Commands() {
		in.completeFlags(c)
		if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
			c.ValidArgsFunction = in.argumentCompleter(argumentWords(c.Use))
		}
	}
}

// argumentWords are the words of a usage line that stand for arguments.
func argumentWords(use string) []string {
	words := strings.Fields(use)[1:]
	if flag := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") || w == "[flags]" }); flag >= 0 {
		words = words[:flag]
	}
	return words
}

type completer = cobra.CompletionFunc

func (in *invocation) argumentCompleter(words []string) completer {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(words) == 0 || in.global.complete(cmd, in.Env) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		at := len(args)
		if at >= len(words) && strings.Contains(words[len(words)-1], "...") {
			at = len(words) - 1
		}
		if at >= len(words) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		switch word := strings.Trim(words[at], "[]."); word {
		case "FILE", "FILE|DIR":
			return workflowFiles()
		case "FILE|DIR|ID":
			return in.completeWorkflows(begun)
		case "FILE|DIR|ID|RUN":
			workflows, how := in.completeWorkflows(begun)
			runs, _ := in.completeRuns(cmd, begun)
			return append(workflows, runs...), how
		case "RUN":
			return in.completeRuns(cmd, begun)
		case "STEP":
			return in.completeSteps(cmd, args[0])
		case "DIR":
			return nil, cobra.ShellCompDirectiveFilterDirs
		default:
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
}

func workflowFiles() ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeWorkflows gives the ids of the catalog and the workflow files here;
// below another folder only files.
func (in *invocation) completeWorkflows(begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if strings.ContainsRune(begun, filepath.Separator) {
		return workflowFiles()
	}
	var list []cobra.Completion
	for _, src := range in.catalogSources() {
		def := src.Definition()
		list = append(list, described(def.ID, def.Description))
	}
	list = slices.Compact(list)
	entries, err := os.ReadDir(".")
	if err != nil {
		return list, cobra.ShellCompDirectiveDefault
	}
	for _, e := range entries {
		if !e.IsDir() && looksLikePath(e.Name()) && e.Name() != configFile && !strings.Contains(e.Name(), ".test.") {
			list = append(list, e.Name())
		}
	}
	return list, cobra.ShellCompDirectiveDefault
}

func (in *invocation) catalogSources() []*workflow.Source {
	cfg, err := in.loadConfig()
	if err != nil {
		return nil
	}
	catalog, err := workflow.DirCatalog(in.catalogDirs(cfg)...).Snapshot()
	if err != nil {
		return nil
	}
	return catalog.Sources()
}

// described is a candidate with what a shell may show beside it.
func described(word, description string) cobra.Completion {
	if description = term.Clean(strings.Join(strings.Fields(description), " ")); description == "" {
		return word
	}
	return cobra.CompletionWithDesc(word, description)
}

// maxCompleted is how many runs are offered: the latest.
const maxCompleted = 40

// completionTime bounds how long a shell waits for a store.
const completionTime = 2 * time.Second

// completeRuns gives the runs that a command makes sense for, by the ends of
// their ids, or by their whole ids if that is how the word begins.
func (in *invocation) completeRuns(cmd *cobra.Command, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const how = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	var page *culm.Page
	err := in.withEngine(cmd.Context(), func(ctx context.Context, o *opened) (err error) {
		page, err = o.List(ctx, store.Query{Kind: "run", Limit: maxCompleted, Status: statusesFor(cmd.Name())})
		return err
	})
	if err != nil {
		return nil, how
	}
	var list []cobra.Completion
	for _, r := range page.Runs {
		id := short(r.RunID)
		if begun != "" && strings.HasPrefix(r.RunID, begun) {
			id = r.RunID
		}
		about := r.Workflow + ", " + string(r.Status)
		if r.InDoubt {
			about += ", in doubt"
		}
		list = append(list, described(id, about+", "+tree.Age(in.Now().Sub(r.CreatedAt))+" ago"))
	}
	return list, how
}

// statusesFor are the statuses of the runs that a command is for; nil is all.
func statusesFor(command string) []string {
	switch command {
	case "continue", "resolve":
		return []string{string(run.StatusQueued), string(run.StatusRunning), string(run.StatusSuspended)}
	case "cancel", "wait":
		return []string{string(run.StatusQueued), string(run.StatusRunning), string(run.StatusSuspended)}
	}
	return nil
}

// completeSteps gives the steps of a run, as they are typed most easily: for
// resolve those that wait for a decision.
func (in *invocation) completeSteps(cmd *cobra.Command, name string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const how = cobra.ShellCompDirectiveNoFileComp
	var v *run.View
	err := in.withEngine(cmd.Context(), func(ctx context.Context, o *opened) error {
		id, err := o.find(ctx, name)
		if err == nil {
			v, err = o.Progress(ctx, id, culm.ProgressOptions{Session: culm.AnySession})
		}
		return err
	})
	if err != nil {
		return nil, how
	}
	var list []cobra.Completion
	for _, id := range slices.Sorted(maps.Keys(v.Steps)) {
		st := v.Steps[id]
		switch {
		case st.InDoubt:
			list = append(list, described(shortest(v, id), "in doubt, effect: "+st.Effect))
		case cmd.Name() != "resolve":
			list = append(list, described(shortest(v, id), string(st.Status)))
		}
	}
	return list, how
}

// completeFrom gives the steps at which a run may begin again.
func (in *invocation) completeFrom(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 || in.global.complete(cmd, in.Env) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return in.completeSteps(cmd, args[0])
}

// withEngine looks into the store for a completion, for a moment only.
func (in *invocation) withEngine(ctx context.Context, look func(context.Context, *opened) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	o, err := in.open(ctx)
	if err != nil {
		return err
	}
	defer o.close(ctx, &err)
	return look(ctx, o)
}

// completeFlags gives the flags of a command what completes their values.
func (in *invocation) completeFlags(c *cobra.Command) {
	fixed := func(values ...cobra.Completion) completer {
		return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
	}
	flags := map[string]completer{
		"output-format": fixed("text", "json"),
		"rerun":         listOf(string(tool.Read), string(tool.Idempotent)),
		"allow": func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return listOf(in.capabilities()...)(cmd, args, begun)
		},
		"status":   listOf("queued", "running", "suspended", "succeeded", "failed", "cancelled"),
		"since":    fixed("1h", "24h", "7d"),
		"workflow": in.completeWorkflowIDs,
		"arg":      in.completeArguments,
		"from":     in.completeFrom,
		"data":     dirs, "workspace": dirs,
		"config": func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return []cobra.Completion{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		},
		"store": func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return []cobra.Completion{"sqlite:", "file:"}, cobra.ShellCompDirectiveNoSpace
		},
	}
	if c.Name() == "plan" {
		flags["format"] = fixed(planFormats()...)
	}
	for name, complete := range flags {
		flag := c.Flags().Lookup(name)
		if flag == nil {
			flag = c.PersistentFlags().Lookup(name)
		}
		if flag != nil && flag.Value.Type() != "bool" {
			_ = c.RegisterFlagCompletionFunc(name, complete) // fails for flags that there are not
		}
	}
}

func dirs(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// listOf completes the last of values that are separated by commas.
func listOf(values ...string) completer {
	return func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := begun[:strings.LastIndexByte(begun, ',')+1]
		var list []cobra.Completion
		for _, v := range values {
			if !slices.Contains(strings.Split(before, ","), v) {
				list = append(list, before+v)
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// capabilities are those that some tool here needs, beside reading.
func (in *invocation) capabilities() []string {
	registry, err := in.registry()
	if err != nil {
		return nil
	}
	var list []string
	for _, name := range registry.Names() {
		if spec, ok := registry.Spec(name); ok && spec.Capability != "" && spec.Capability != tool.CapRead {
			list = append(list, spec.Capability)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (in *invocation) completeWorkflowIDs(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var list []cobra.Completion
	if in.global.complete(cmd, in.Env) == nil {
		for _, src := range in.catalogSources() {
			list = append(list, described(src.Definition().ID, src.Definition().Description))
		}
	}
	return slices.Compact(list), cobra.ShellCompDirectiveNoFileComp
}

// completeArguments gives the names of a workflow's arguments, and of one whose
// values its schema lists, those.
func (in *invocation) completeArguments(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const how = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if len(args) == 0 || in.global.complete(cmd, in.Env) != nil {
		return nil, how
	}
	cfg, err := in.loadConfig()
	if err != nil {
		return nil, how
	}
	src, _, err := in.locate(cfg, args[0])
	if err != nil {
		return nil, how
	}
	properties := propertiesOf(src.Definition().InputSchema)
	name, _, valued := strings.Cut(begun, "=")
	var list []cobra.Completion
	for _, p := range properties {
		switch {
		case !valued:
			list = append(list, described(p.name+"=", p.description))
		case p.name == name:
			for _, value := range p.values {
				list = append(list, name+"="+value)
			}
		}
	}
	return list, how
}
