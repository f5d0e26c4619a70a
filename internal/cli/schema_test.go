package cli_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/culm-dev/culm/internal/cli"
)

func configSchema(t *testing.T) (raw string, compiled *jsonschema.Schema) {
	t.Helper()
	status, raw := culm(t, t.TempDir(), &console{}, nil, "schema", "config")
	if status != cli.ExitSucceeded {
		t.Fatalf("exit status %d", status)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err = c.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	return raw, compiled
}

// fieldsRead are the fields that the settings may have, below a place: it asks for
// one that there is not, and reads what is said to be expected.
func fieldsRead(t *testing.T, dir, before, after string) []string {
	t.Helper()
	file := filepath.Join(dir, "settings.yaml")
	if err := os.WriteFile(file, []byte(before+"qqqqqqqqqqqqqqqq: 1"+after), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs console
	if status, _ := culm(t, dir, &errs, nil, "list", "--config", file); status != cli.ExitUsage {
		t.Fatalf("exit status %d: %s", status, &errs)
	}
	expected := regexp.MustCompile(`= expected (.*)`).FindStringSubmatch(errs.String())
	if expected == nil {
		t.Fatalf("it does not say what is expected:\n%s", &errs)
	}
	return strings.Split(expected[1], ", ")
}

// The schema of the settings has exactly the fields that are read, at any depth.
func TestConfigSchemaHasTheFieldsThatAreRead(t *testing.T) {
	t.Parallel()
	raw, _ := configSchema(t)
	type object struct {
		Properties map[string]object `json:"properties"`
	}
	var schema object
	if err := json.Unmarshal([]byte(raw), &schema); err != nil {
		t.Fatal(err)
	}
	var check func(s object, before, after string)
	check = func(s object, before, after string) {
		want := fieldsRead(t, t.TempDir(), before, after)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(s.Properties))); diff != "" {
			t.Errorf("below %q (-read +schema):\n%s", before, diff)
		}
		for name, inner := range s.Properties {
			if len(inner.Properties) > 0 {
				check(inner, before+name+": {", "}"+after)
			}
		}
	}
	check(schema, "{", "}\n")
}

// What is read is what the schema takes.
func TestConfigSchemaAgreesWithWhatIsRead(t *testing.T) {
	t.Parallel()
	_, schema := configSchema(t)
	for _, text := range []string{
		"", "# nothing\n", "store: sqlite:./culm.db\n", "store: [1]\n", "store: ''\n", "stor: x\n",
		"ceilings: {max_steps: 1}\n", "ceilings: {max_steps: 0}\n", "ceilings: {max_agents: 0}\n", "ceilings: {max_steps: many}\n",
		"ceilings: {max_step: 1}\n", "ceilings: 1\n", "continue: {rerun: [read, idempotent]}\n", "continue: {rerun: [write]}\n", "continue: {rerun: read}\n",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "culm.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		status, _ := culm(t, dir, &console{}, nil, "list")
		var v any
		if err := yaml.Load([]byte(text), &v); err != nil && strings.TrimSpace(text) != "" && text[0] != '#' {
			t.Fatal(err)
		}
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if taken := schema.Validate(instance) == nil; taken != (status == cli.ExitSucceeded) {
			t.Errorf("%q: exit status %d, and the schema takes it: %v", text, status, taken)
		}
	}
}

func TestPublishedConfigSchema(t *testing.T) {
	t.Parallel()
	raw, _ := configSchema(t)
	published, err := os.ReadFile("../../docs/schema/config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(published), raw); diff != "" {
		t.Errorf("docs/schema/config.schema.json is not what culm schema config prints (-file +command):\n%s", diff)
	}
}
