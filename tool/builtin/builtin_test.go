package builtin_test

import (
	"slices"
	"testing"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/builtin"
)

func TestBuiltinsSayWhatTheyDo(t *testing.T) {
	t.Parallel()
	registry, err := tool.NewRegistry(builtin.Tools(builtin.Options{})...)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		effect     tool.Effect
		capability string
	}{
		"echo": {tool.Read, "read"}, "exec": {tool.Write, "exec"}, "git": {tool.Read, "read"}, "glob": {tool.Read, "read"},
		"grep": {tool.Read, "read"}, "json": {tool.Read, "read"}, "list_dir": {tool.Read, "read"},
		"read_file": {tool.Read, "read"}, "write_file": {tool.Write, "write"}, "edit_file": {tool.Write, "write"},
	}
	if names := registry.Names(); len(names) != len(want) {
		t.Errorf("got %v", names)
	}
	for name, w := range want {
		spec, ok := registry.Spec(name)
		if !ok || spec.Effect != w.effect || spec.Capability != w.capability || spec.Description == "" || spec.Input == nil {
			t.Errorf("%s: %+v", name, spec)
		}
	}
	if !slices.IsSorted(registry.Names()) {
		t.Error("names are not sorted")
	}
}
