package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/culm-dev/culm/workflow"
)

// schemaKinds are the kinds of files that there are schemas of.
func schemaKinds() []string { return []string{"definition", "config"} }

func (in *invocation) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [definition|config]",
		Short: "Print the JSON Schema of workflow files or of culm.yaml, for editors",
		Long: `Prints the JSON Schema (2020-12) of workflow files, or of culm.yaml. With it an editor
completes fields, says what they mean, and marks mistakes. An editor with the YAML
language server finds it by the first line of the file, as culm init writes it:

  # yaml-language-server: $schema=../.culm/workflow.schema.json

culm validate finds more: what needs the whole definition to be seen.`,
		Example: `  culm schema > .culm/workflow.schema.json
  culm schema config > .culm/config.schema.json`,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1)),
		ValidArgs: schemaKinds(),
		RunE: func(_ *cobra.Command, args []string) error {
			schema, err := schemaOf(append(args, schemaKinds()[0])[0])
			if err != nil {
				return err
			}
			_, err = in.Stdout.Write(schema)
			return err
		},
	}
}

func schemaOf(kind string) (json.RawMessage, error) {
	switch kind {
	case "definition":
		return workflow.JSONSchema(), nil
	case "config":
		return configSchema()
	}
	return nil, usage("there is no schema of %q", kind).help("There are: culm schema definition, culm schema config")
}

// configSchema is the JSON Schema of culm.yaml. A test keeps its fields those that
// are read. Like that of workflows it keeps to keywords that draft 7 has too.
func configSchema() (json.RawMessage, error) {
	type object = map[string]any
	ceilings := object{}
	for _, b := range ceilingFields() {
		ceilings[b.name] = object{"type": "integer", "minimum": b.least, "description": b.doc}
	}
	closed := func(description string, properties object) object {
		return object{"type": "object", "description": description, "properties": properties, "additionalProperties": false}
	}
	schema := closed("The settings of a project of Culm.", object{
		"store": object{
			"type": "string", "minLength": 1,
			"description": "Where runs are kept: a URL such as sqlite:./culm.db, relative to this file. Your data folder if absent.",
		},
		"ceilings": closed("What a definition may ask for at most.", ceilings),
		"continue": closed("How runs go on whose process died.", object{
			"rerun": object{
				"type": "array", "items": object{"enum": []string{"read", "idempotent"}},
				"description": "Steps in doubt that any continue enters again, by the effect of their tool. A write is never among them.",
			},
		}),
	})
	schema["$schema"], schema["title"] = "https://json-schema.org/draft/2020-12/schema", "Settings of Culm (culm.yaml)"
	schema["type"] = []string{"object", "null"} // an empty file says nothing
	raw, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	return append(raw, '\n'), nil
}

// ceiling is a field of ceilings in culm.yaml.
type ceiling struct {
	name  string
	least int64
	of    func(*workflow.Budgets) **int64
	doc   string
}

func ceilingFields() []ceiling {
	return []ceiling{
		{"max_concurrency", 1, func(b *workflow.Budgets) **int64 { return &b.MaxConcurrency }, "Calls at a time; 8 if absent."},
		{"max_agents", 0, func(b *workflow.Budgets) **int64 { return &b.MaxAgents }, "Attempts of agents; 16 if absent."},
		{"max_steps", 1, func(b *workflow.Budgets) **int64 { return &b.MaxSteps }, "Attempts entered; 512 if absent."},
		{"max_retries", 0, func(b *workflow.Budgets) **int64 { return &b.MaxRetries }, "Rounds of retries; 16 if absent."},
		{"max_nesting_depth", 1, func(b *workflow.Budgets) **int64 { return &b.MaxNestingDepth }, "Levels of nested workflows; 8 if absent."},
		{"wall_time_ms", 1, func(b *workflow.Budgets) **int64 { return &b.WallTimeMS }, "Milliseconds; 3600000 if absent."},
		{"max_tokens", 0, func(b *workflow.Budgets) **int64 { return &b.MaxTokens }, "Tokens; no ceiling if absent."},
		{"max_cost_micros", 0, func(b *workflow.Budgets) **int64 { return &b.MaxCostMicros }, "Millionths of a US dollar; no ceiling if absent."},
	}
}
