package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/culm-dev/culm/run"
)

// grant is what the operator lets a run do.
type grant struct {
	trust bool
	allow []string
}

func (g *grant) register(f *pflag.FlagSet) {
	f.BoolVar(&g.trust, "trust", false, "trust what is in the workspace")
	f.StringSliceVar(&g.allow, "allow", nil, "allow `CAPABILITIES`, separated by commas: write, exec, net or a tool's own")
}

func (g *grant) authority() run.Authority {
	allow := slices.Clone(g.allow)
	slices.Sort(allow)
	return run.Authority{Trusted: g.trust, Allow: slices.Compact(allow)}
}

// adviseGrant says how this very command line would be allowed.
func (in *invocation) adviseGrant(f *Failure) {
	words := append([]string{"culm"}, in.Args...)
	if trust, _ := f.Details["needs_trust"].(bool); trust {
		words = append(words, "--trust")
	}
	if allow, _ := f.Details["needs_allow"].([]string); len(allow) > 0 {
		words = append(words, "--allow", strings.Join(allow, ","))
	}
	if len(words) == 1+len(in.Args) {
		return
	}
	for i, word := range words {
		words[i] = quote(word)
	}
	f.Help = []string{"If the workflow may do that here:", "  " + strings.Join(words, " ")}
}
