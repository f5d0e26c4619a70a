package docs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culm-dev/culm/internal/cli"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/builtin"
	"github.com/culm-dev/culm/workflow"
)

// identity completes parts of definitions that the pages show.
const identity = "workflow_schema: 1\nid: part\nrevision: 1\n"

// YAML in the pages is a definition that compiles, settings that are read, or cases
// that are right.
func TestYAML(t *testing.T) {
	t.Parallel()
	for _, b := range blocks(t, "yaml") {
		if strings.HasPrefix(b.text, "# culm.yaml\n") {
			checkSettings(t, b)
			continue
		}
		if first, _, _ := strings.Cut(b.text, "\n"); strings.HasSuffix(first, ".test.yaml") {
			checkCases(t, b, strings.TrimPrefix(first, "# "))
			continue
		}
		text := b.text
		if !strings.Contains(text, "workflow_schema:") {
			text = identity + text
		}
		checkDefinition(t, b, text)
	}
}

func checkDefinition(t *testing.T, b block, text string) {
	t.Helper()
	known := schemas(t)
	src, err := workflow.Load(b.String(), []byte(text))
	var program *workflow.Program
	if err == nil {
		program, err = workflow.Compile(src, nil, known)
	}
	if err != nil {
		t.Errorf("%s: %v", b, err)
		return
	}
	for _, step := range program.Root.Def.Steps {
		if step.Type != workflow.ToolStep {
			continue
		}
		if _, _, ok := known(step.Tool); !ok {
			t.Errorf("%s: there is no tool %s", b, step.Tool)
		}
	}
}

// checkCases runs cases beside the workflow of an example that they are about.
func checkCases(t *testing.T, b block, name string) {
	t.Helper()
	about := strings.TrimSuffix(name, ".test.yaml") + ".yaml"
	found, err := filepath.Glob(filepath.Join(root, "examples", "*", about))
	if err != nil {
		t.Fatal(err)
	}
	nested, err := filepath.Glob(filepath.Join(root, "examples", "*", "*", about))
	if err != nil {
		t.Fatal(err)
	}
	if found = append(found, nested...); len(found) != 1 {
		t.Fatalf("%s: the examples have %d workflows %s, want one", b, len(found), about)
	}
	definition, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for file, content := range map[string]string{about: string(definition), name: b.text} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, status := culm("test", dir); status != 0 {
		t.Errorf("%s: exit status %d:\n%s", b, status, out)
	}
}

func schemas(t *testing.T) workflow.ToolSchemas {
	t.Helper()
	registry, err := tool.NewRegistry(builtin.Tools(builtin.Options{})...)
	if err != nil {
		t.Fatal(err)
	}
	return func(name string) (input, output json.RawMessage, ok bool) {
		spec, ok := registry.Spec(name)
		return spec.Input, spec.Output, ok
	}
}

func checkSettings(t *testing.T, b block) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "culm.yaml")
	if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, status := culm("list", "--config", file, "--store", "memory:"); status != 0 {
		t.Errorf("%s: exit status %d:\n%s", b, status, out)
	}
}

// culm runs a command in this process.
func culm(args ...string) (out string, status int) {
	var b bytes.Buffer
	status = cli.Main{
		Args: args, Stdout: &b, Stderr: &b,
		Env: func(name string) string {
			if name == "HOME" {
				return os.TempDir()
			}
			return ""
		},
	}.Run(context.Background())
	return b.String(), status
}
