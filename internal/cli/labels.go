package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// labels are what --label says, each NAME=VALUE.
type labels []string

func (l *labels) register(f *pflag.FlagSet, usage string) {
	f.StringArrayVar((*[]string)(l), "label", nil, usage)
}

// parse reads them; nil if there are none.
func (l labels) parse() (map[string]string, error) {
	var parsed map[string]string
	for _, pair := range l {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usage("--label %s: expected NAME=VALUE", pair)
		}
		if _, twice := parsed[name]; twice {
			return nil, usage("--label %s: label %s is given twice", pair, name)
		}
		if parsed == nil {
			parsed = make(map[string]string, len(l))
		}
		parsed[name] = value
	}
	return parsed, nil
}

// labelText shows labels in the form in which they are typed.
func labelText(set map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		pairs = append(pairs, quote(name+"="+set[name]))
	}
	return strings.Join(pairs, " ")
}
