package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	embedded "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/builtin"
	"github.com/culm-dev/culm/workflow"
)

// section is what stands under a heading, up to the next of its level or above.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	level := regexp.MustCompile(`^#+ `)
	var text strings.Builder
	in := ""
	fence := false
	for line := range strings.Lines(read(t, page)) {
		fence = fence != strings.HasPrefix(line, "```")
		mark := level.FindString(line)
		switch {
		case strings.TrimSpace(line) == heading && !fence:
			in = mark
		case in != "" && !fence && mark != "" && len(mark) <= len(in):
			return text.String()
		case in != "":
			text.WriteString(line)
		}
	}
	if in == "" {
		t.Fatalf("%s has no heading %q", page, heading)
	}
	return text.String()
}

// rows are the cells of the last table in a text, without its head.
func rows(text string) [][]string {
	var found [][]string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "\x00"), "|")
		for i, cell := range cells {
			cells[i] = strings.TrimSpace(strings.ReplaceAll(cell, "\x00", "|"))
		}
		if strings.HasPrefix(cells[0], "---") || strings.HasPrefix(cells[0], "--:") {
			found = nil // what came before was the head
			continue
		}
		found = append(found, cells)
	}
	return found
}

// names are the code spans of the first cells of a text's tables.
func names(text string) []string {
	var found []string
	span := regexp.MustCompile("`([^`]+)`")
	for _, table := range strings.Split(text, "\n\n") {
		for _, cells := range rows(table) {
			for _, m := range span.FindAllStringSubmatch(cells[0], -1) {
				found = append(found, m[1])
			}
		}
	}
	return found
}

// constants are the values of a Go file's string constants whose names begin so,
// in the order of the file.
func constants(t *testing.T, file, prefix string) []string {
	t.Helper()
	syntax, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(file)), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(syntax, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		kind, _ := spec.Type.(*ast.Ident)
		if !strings.HasPrefix(spec.Names[0].Name, prefix) && (kind == nil || kind.Name != prefix) {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			value, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, value)
		}
		return true
	})
	if len(found) == 0 {
		t.Fatalf("%s has no constants %s", file, prefix)
	}
	return found
}

func TestDefinitionCodes(t *testing.T) {
	t.Parallel()
	var want [][]string
	for _, c := range workflow.Codes() {
		want = append(want, []string{"`" + string(c.Code) + "`", c.Doc})
	}
	got := rows(section(t, "docs/definition.md", "## Error codes"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/definition.md, Error codes (-code +page):\n%s", diff)
	}
}

// The refusals of continue stand in the order in which they are looked for.
func TestRefusalCodes(t *testing.T) {
	t.Parallel()
	want := constants(t, "internal/engine/errors.go", "Code")
	got := names(section(t, "docs/cli.md", "### Refusals"))
	cli := slices.Index(got, "usage")
	if cli < 0 {
		t.Fatal("docs/cli.md has no codes of the command line")
	}
	engine := slices.DeleteFunc(got[:cli:cli], func(code string) bool { return code == "budget_exceeded" })
	if diff := cmp.Diff(want, engine); diff != "" {
		t.Errorf("docs/cli.md, Refusals (-code +page):\n%s", diff)
	}
	known := append(constants(t, "internal/cli/failure.go", "code"), "unsupported_detach")
	for _, code := range known {
		if !slices.Contains(got, code) {
			t.Errorf("docs/cli.md does not have the command line's code %s", code)
		}
	}
	for _, code := range got[cli:] {
		if !slices.Contains(known, code) {
			t.Errorf("docs/cli.md has the code %s, which the command line has not", code)
		}
	}
}

func TestFailureCodes(t *testing.T) {
	t.Parallel()
	want := constants(t, "run/event.go", "Code")
	got := names(section(t, "docs/cli.md", "### Failures"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/cli.md, Failures (-code +page):\n%s", diff)
	}
}

// Every finding of the doctor stands in the page about operations.
func TestDoctorCodes(t *testing.T) {
	t.Parallel()
	want := append(constants(t, "store/keeper.go", "Found"), constants(t, "internal/doctor/doctor.go", "Code")...)
	got := names(section(t, "docs/operations.md", "## What is wrong?"))
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/operations.md, What is wrong? (-code +page):\n%s", diff)
	}
}

func TestEventTypes(t *testing.T) {
	t.Parallel()
	var want []string
	for _, file := range []string{"run/event_run.go", "run/event_step.go", "run/event_plan.go", "run/event_adopt.go"} {
		want = append(want, constants(t, file, "Type")...)
	}
	got := names(section(t, "docs/storage.md", "## Journal lines"))
	got = slices.DeleteFunc(got, func(name string) bool {
		return slices.Contains([]string{"run_id", "sequence", "at", "step_id", "type"}, name)
	})
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/storage.md, Journal lines (-code +page):\n%s", diff)
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	listed := rows(section(t, "docs/definition.md", "## Tools that ship with Culm"))
	tools := builtin.Tools(builtin.Options{})
	if len(tools) != len(listed) {
		t.Errorf("docs/definition.md lists %d tools, and there are %d", len(listed), len(tools))
	}
	for _, tt := range tools {
		spec := tt.Spec()
		i := slices.IndexFunc(listed, func(cells []string) bool { return cells[0] == "`"+spec.Name+"`" })
		if i < 0 {
			t.Errorf("docs/definition.md does not list tool %s", spec.Name)
			continue
		}
		effect, capability := listed[i][1], listed[i][2]
		if _, depends := tt.(tool.EffectOf); !strings.HasPrefix(effect, string(spec.Effect)) || depends != strings.Contains(effect, ", or ") {
			t.Errorf("docs/definition.md says that tool %s is %s, and it is %s (depends on arguments: %v)", spec.Name, effect, spec.Effect, depends)
		}
		want := spec.Capability
		if want == "" {
			want = tool.CapRead
		}
		if capability != want {
			t.Errorf("docs/definition.md says that tool %s needs %s, and it needs %s", spec.Name, capability, want)
		}
	}
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	defaults, ceilings := workflow.DefaultBudgets(), workflow.DefaultCeilings()
	show := func(v *int64) string {
		if v == nil {
			return ""
		}
		return fmt.Sprint(*v)
	}
	want := [][]string{
		{"`max_concurrency`", show(defaults.MaxConcurrency), show(ceilings.MaxConcurrency)},
		{"`max_agents`", show(defaults.MaxAgents), show(ceilings.MaxAgents)},
		{"`max_steps`", show(defaults.MaxSteps), show(ceilings.MaxSteps)},
		{"`max_retries`", show(defaults.MaxRetries), show(ceilings.MaxRetries)},
		{"`max_nesting_depth`", show(defaults.MaxNestingDepth), show(ceilings.MaxNestingDepth)},
		{"`wall_time_ms`", show(defaults.WallTimeMS), show(ceilings.WallTimeMS)},
		{"`cleanup_ms`", show(defaults.CleanupMS), show(ceilings.CleanupMS)},
		{"`max_tokens`", show(defaults.MaxTokens), show(ceilings.MaxTokens)},
		{"`max_cost_micros`", show(defaults.MaxCostMicros), show(ceilings.MaxCostMicros)},
	}
	var got [][]string
	for _, cells := range rows(section(t, "docs/definition.md", "## Budgets")) {
		got = append(got, cells[:3])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/definition.md, Budgets (-code +page):\n%s", diff)
	}
}

// Every field of a definition stands in the page about it.
func TestEveryFieldIsDocumented(t *testing.T) {
	t.Parallel()
	page := withoutBlocks(read(t, "docs/definition.md"))
	documented := map[string]bool{}
	for _, word := range regexp.MustCompile(`[a-z_]+`).FindAllString(strings.Join(regexp.MustCompile("`[^`]+`").FindAllString(page, -1), " "), -1) {
		documented[word] = true
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[workflow.Definition](), reflect.TypeFor[workflow.Step](), reflect.TypeFor[workflow.Node](), reflect.TypeFor[workflow.Budgets](),
	} {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if name != "" && !documented[name] {
				t.Errorf("docs/definition.md does not have the field %s of a %s", name, of.Name())
			}
		}
	}
}

// The table of settings for programs has every field of culm.Config.
func TestConfigFields(t *testing.T) {
	t.Parallel()
	var want []string
	for field := range reflect.TypeFor[embedded.Config]().Fields() {
		want = append(want, field.Name)
	}
	var got []string
	for _, cells := range rows(section(t, "docs/embedding.md", "## Configuration")) {
		got = append(got, strings.Trim(cells[0], "`"))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/embedding.md, Configuration (-code +page):\n%s", diff)
	}
}

// Every field of cases stands in the page about them, and no other.
func TestFieldsOfCases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for file, content := range map[string]string{
		"a.yaml":      "workflow_schema: 1\nid: a\nrevision: 1\nsteps: [{id: s, type: sleep, duration_ms: 1}]\n",
		"a.test.yaml": "test_schema: 1\nno: 1\ncases: [{name: a, no: 1, steps: {s: {no: 1, returns: 1}}, expect: {no: 1}}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := culm("test", dir)
	said := regexp.MustCompile(`= expected one of (.*)`).FindAllStringSubmatch(out, -1)
	if len(said) != 4 {
		t.Fatalf("culm test says:\n%s", out)
	}
	var want []string
	for _, m := range said {
		want = append(want, strings.Split(m[1], ", ")...)
	}
	got := names(section(t, "docs/testing.md", "## Every field"))
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/testing.md, Every field (-code +page):\n%s", diff)
	}
}

// Every command stands in the page about commands.
func TestEveryCommandIsDocumented(t *testing.T) {
	t.Parallel()
	help, _ := culm("--help")
	page := section(t, "docs/cli.md", "## Commands")
	found := regexp.MustCompile(`(?m)^  ([a-z]+) {2,}[A-Z]`).FindAllStringSubmatch(help, -1)
	if len(found) < 13 {
		t.Fatalf("found only %d commands in:\n%s", len(found), help)
	}
	for _, m := range found {
		if !strings.Contains(page, "`culm "+m[1]+" ") && !strings.Contains(page, "`culm "+m[1]+"`") {
			t.Errorf("docs/cli.md does not have culm %s", m[1])
		}
	}
}
