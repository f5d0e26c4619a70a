package workflow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/workflow"
)

const outer = `workflow_schema: 1
id: outer
revision: 3
steps: [{id: s, type: workflow, workflow_id: nested, revision: 1, args: {n: 1}}, {id: t, type: tool, tool: t}]
`

func compile(t *testing.T, doc string, catalog ...string) *workflow.Program {
	t.Helper()
	var others []*workflow.Source
	for _, other := range catalog {
		others = append(others, load(t, other))
	}
	p, err := workflow.Compile(load(t, doc), workflow.NewSnapshot(others...), nil)
	if err != nil {
		t.Fatalf("compile:\n%s\n%v", doc, err)
	}
	return p
}

func TestABundleIsCompiledAgainFromItsBytesAlone(t *testing.T) {
	t.Parallel()
	p := compile(t, outer, taking)
	raw, err := p.Bundle.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	if got := canon.Hash(raw); got != p.Hash {
		t.Errorf("the program's hash is %s, that of the bytes %s", p.Hash, got)
	}
	parsed, err := workflow.ParseBundle(raw)
	if err != nil {
		t.Fatal(err)
	}
	again, err := workflow.CompileBundle(parsed, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again.Hash != p.Hash || again.Root.Ref != "outer@3" || again.Depth != 1 || len(again.Workflows) != 2 {
		t.Errorf("got %+v", again)
	}
	nested := again.Root.Nodes[1].Step.Nested
	if nested == nil || nested != again.Workflows["nested@1"] {
		t.Errorf("the nested workflow is not linked: %v", nested)
	}
	if diff := cmp.Diff(shape(p.Root), shape(again.Root)); diff != "" {
		t.Errorf("the plan changed:\n%s", diff)
	}
}

func TestABundlePutTogetherByHandCompiles(t *testing.T) {
	t.Parallel()
	def := load(t, ab).Definition()
	p, err := workflow.CompileBundle(&workflow.Bundle{
		PublicationRevision: 4, RootID: "w", RootRevision: 1, Definitions: map[string]*workflow.Definition{"w@1": def},
	}, nil)
	if err != nil || p.Bundle.PublicationRevision != 4 {
		t.Errorf("got %+v, %v", p, err)
	}
}

// foreign is a bundle as other engines write them: with defaults spelled out,
// empty lists, and null where something is absent.
const foreign = `{"publication_revision": 12, "root_id": "deploy", "root_revision": 2, "definitions": {"deploy@2": {
 "workflow_schema": 1, "id": "deploy", "revision": 2, "description": null,
 "input_schema": {"type": "object", "additionalProperties": true, "x-bamboo-secret": false}, "output_schema": null,
 "steps": [
  {"id": "a", "type": "tool", "tool": "build", "args": null, "capabilities": [], "failure": "fail_fast", "timeout_ms": null},
  {"id": "b", "type": "agent", "agent": "w", "prompt": {"from": "args", "pointer": ""}, "capabilities": [], "structured_output_attempts": 2, "failure": "fail_fast"}],
 "plan": {"type": "sequence", "nodes": [
  {"type": "retry", "node": {"type": "step", "step": "a"}, "max_attempts": 2, "delay_ms": 0},
  {"type": "choice", "condition": {"from": "args", "pointer": "/ask"}, "then_branch": {"type": "step", "step": "b"}, "else_branch": null}]},
 "budgets": {"max_concurrency": 4, "max_agents": 8, "max_steps": 256, "max_retries": 8, "max_nesting_depth": 4, "wall_time_ms": 900000, "max_tokens": null}}}}`

func TestForeignBundlesKeepEveryField(t *testing.T) {
	t.Parallel()
	want, err := canon.Canonicalize([]byte(foreign))
	if err != nil {
		t.Fatal(err)
	}
	b, err := workflow.ParseBundle([]byte(foreign))
	if err != nil {
		t.Fatal(err)
	}
	p, err := workflow.CompileBundle(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Hash != canon.Hash(want) {
		t.Errorf("the hash changed")
	}
	got, err := json.Marshal(p.Bundle)
	if err != nil || string(got) != string(want) {
		t.Errorf("got %s (%v)\nwant %s", got, err, want)
	}
	if a := p.Root.Named["a"].Step; a.Args != nil || a.Def.TimeoutMS != nil {
		t.Errorf("null is not read as absent: %+v", a)
	}
}

func TestWrongBundlesAreRefused(t *testing.T) {
	t.Parallel()
	def := `{"workflow_schema":1,"id":"w","revision":1,"steps":[{"id":"a","type":"tool","tool":"t"}]%s}`
	bundle := func(key, def string) string {
		return `{"publication_revision":1,"root_id":"w","root_revision":1,"definitions":{"` + key + `":` + def + `}}`
	}
	for name, c := range map[string]struct {
		raw  string
		code workflow.Code
	}{
		"not JSON":            {"nonsense", workflow.InvalidSyntax},
		"not an object":       {"[]", workflow.WrongType},
		"an unknown field":    {strings.Replace(bundle("w@1", fmt.Sprintf(def, "")), `"root_id"`, `"x":1,"root_id"`, 1), workflow.UnknownField},
		"a missing field":     {`{"root_id":"w","root_revision":1,"definitions":{}}`, workflow.MissingField},
		"another name":        {bundle("v@1", fmt.Sprintf(def, "")), workflow.InvalidBundle},
		"no root":             {strings.Replace(bundle("w@1", fmt.Sprintf(def, "")), `"root_id":"w"`, `"root_id":"v"`, 1), workflow.InvalidBundle},
		"shorthand":           {bundle("w@1", fmt.Sprintf(def, `,"plan":"a"`)), workflow.WrongType},
		"shorthand objects":   {bundle("w@1", fmt.Sprintf(def, `,"plan":{"parallel":["a"]}`)), workflow.MissingField},
		"a duplicate field":   {bundle("w@1", fmt.Sprintf(def, `,"id":"w"`)), workflow.DuplicateKey},
		"null for what must":  {bundle("w@1", strings.Replace(fmt.Sprintf(def, ""), `"tool":"t"`, `"tool":null`, 1)), workflow.MissingField},
		"a fractional number": {strings.Replace(bundle("w@1", fmt.Sprintf(def, "")), `"root_revision":1`, `"root_revision":1.5`, 1), workflow.WrongType},
		"more than it holds":  {bundle("w@1", fmt.Sprintf(def, `,"description":"`+strings.Repeat("x", workflow.MaxBundleBytes)+`"`)), workflow.BundleTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := workflow.ParseBundle([]byte(c.raw))
			var errs workflow.Errors
			if b != nil || !errors.As(err, &errs) || !errs.Has(c.code) {
				t.Errorf("got %v, want %s", err, c.code)
			}
		})
	}
}

func TestABundleIsCompiledFromWhatIsPinnedOnly(t *testing.T) {
	t.Parallel()
	def := load(t, outer).Definition()
	_, err := workflow.CompileBundle(&workflow.Bundle{
		RootID: "outer", RootRevision: 3, Definitions: map[string]*workflow.Definition{"outer@3": def},
	}, nil)
	var errs workflow.Errors
	if !errors.As(err, &errs) || !errs.Has(workflow.UnknownWorkflow) || errs[0].File != "outer@3" {
		t.Errorf("got %v", err)
	}
}

func TestAtMostThirtyTwoDefinitionsArePinned(t *testing.T) {
	t.Parallel()
	chain := func(n int) (string, []string) {
		var docs []string
		for i := range n {
			steps := "steps: [{id: a, type: tool, tool: t}]\n"
			if i+1 < n {
				steps = fmt.Sprintf("steps: [{id: a, type: workflow, workflow_id: w%d, revision: 1}]\n", i+1)
			}
			docs = append(docs, fmt.Sprintf("workflow_schema: 1\nid: w%d\nrevision: 1\n%s", i, steps))
		}
		return docs[0], docs[1:]
	}
	root, rest := chain(workflow.MaxDefinitions)
	if p := compile(t, root, rest...); p.Depth != workflow.MaxDefinitions-1 || p.Root.Plan.Leaves != workflow.MaxDefinitions {
		t.Errorf("depth %d, leaves %d", p.Depth, p.Root.Plan.Leaves)
	}
	root, rest = chain(workflow.MaxDefinitions + 1)
	var sources []*workflow.Source
	for _, doc := range rest {
		sources = append(sources, load(t, doc))
	}
	_, err := workflow.Compile(load(t, root), workflow.NewSnapshot(sources...), nil)
	var errs workflow.Errors
	if !errors.As(err, &errs) || len(errs) != 1 || errs[0].Code != workflow.TooManyDefinitions {
		t.Errorf("got %v", err)
	}
}

func TestABundleOfTooManyDefinitionsIsRefused(t *testing.T) {
	t.Parallel()
	defs := map[string]*workflow.Definition{}
	for i := range workflow.MaxDefinitions + 1 {
		def := *load(t, ab).Definition()
		def.Revision = i + 1
		defs[def.Ref()] = &def
	}
	_, err := workflow.CompileBundle(&workflow.Bundle{RootID: "w", RootRevision: 1, Definitions: defs}, nil)
	var errs workflow.Errors
	if !errors.As(err, &errs) || !errs.Has(workflow.TooManyDefinitions) {
		t.Errorf("got %v", err)
	}
	delete(defs, "w@2")
	if _, err := workflow.CompileBundle(&workflow.Bundle{RootID: "w", RootRevision: 1, Definitions: defs}, nil); err != nil {
		t.Errorf("one fewer: %v", err)
	}
}

func TestAtMostHalfAMebibyteIsPinned(t *testing.T) {
	t.Parallel()
	doc := ab + "description: " + strings.Repeat("x", workflow.MaxBundleBytes) + "\n"
	_, err := workflow.Compile(load(t, doc), nil, nil)
	var errs workflow.Errors
	if !errors.As(err, &errs) || len(errs) != 1 || errs[0].Code != workflow.BundleTooLarge {
		t.Errorf("got %v", err)
	}
}

func TestErrorsOfNestedDefinitionsNameTheirFile(t *testing.T) {
	t.Parallel()
	nested, err := workflow.Load("lib/nested.yaml", []byte(taking+"outptu: 1\noutput: {from: step, step: b}\n"))
	if err == nil {
		t.Fatal("a typo was not found")
	}
	root, err := workflow.Load("test.yaml", []byte(outer+"zzz: 1\n"))
	if err == nil {
		t.Fatal("a typo was not found")
	}
	_, err = workflow.Compile(root, workflow.NewSnapshot(nested), nil)
	var errs workflow.Errors
	if !errors.As(err, &errs) {
		t.Fatal(err)
	}
	var got []string
	for _, e := range errs {
		got = append(got, fmt.Sprintf("%s %s", e.Place(), e.Code))
	}
	want := []string{
		"test.yaml:5:1 unknown_field",
		"lib/nested.yaml:10:1 unknown_field",
		"lib/nested.yaml:11:28 unknown_step",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNestedDefinitionsStayWithinTheRootsBudget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		root, nested string
		want         bool
	}{
		{"", "", true},
		{"", "{max_steps: 256}", true},
		{"", "{max_steps: 257}", false}, // the root's default
		{"{max_steps: 300}", "{max_steps: 257}", true},
		{"{max_tokens: 5}", "{max_tokens: 6}", false},
		{"", "{max_tokens: 6}", true},
		{"{max_tokens: 0}", "{max_tokens: 0}", true},
	} {
		with := func(doc, budgets string) string {
			if budgets == "" {
				return doc
			}
			return doc + "budgets: " + budgets + "\n"
		}
		_, err := workflow.Compile(load(t, with(outer, c.root)), workflow.NewSnapshot(load(t, with(taking, c.nested))), nil)
		var errs workflow.Errors
		errors.As(err, &errs)
		if ok := err == nil; ok != c.want || !ok && !errs.Has(workflow.NestedBudget) {
			t.Errorf("root %q, nested %q: %v", c.root, c.nested, err)
		}
	}
}

func TestALongCycleIsShownWhole(t *testing.T) {
	t.Parallel()
	doc := func(id, next string) string {
		return fmt.Sprintf("workflow_schema: 1\nid: %s\nrevision: 1\nsteps: [{id: s, type: workflow, workflow_id: %s, revision: 1}]\n", id, next)
	}
	_, err := workflow.Compile(load(t, doc("a", "b")), workflow.NewSnapshot(load(t, doc("b", "c")), load(t, doc("c", "b"))), nil)
	var errs workflow.Errors
	if !errors.As(err, &errs) || len(errs) != 1 || errs[0].Code != workflow.NestingCycle || !strings.Contains(errs[0].Message, "b@1 -> c@1 -> b@1") {
		t.Errorf("got %v", err)
	}
}

// shape writes a plan as one line a node.
func shape(w *workflow.Workflow) []string {
	var lines []string
	for _, n := range w.Nodes {
		parent := -1
		if n.Parent != nil {
			parent = n.Parent.Index
		}
		lines = append(lines, fmt.Sprintf("%d %s %s %q parent %d slot %d scope %d leaves %d", n.Index, n.Path, n.Type, n.ID, parent, n.Slot, n.ScopeDepth, n.Leaves))
	}
	return slices.Clip(lines)
}
