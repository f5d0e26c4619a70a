package workflow_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/workflow"
)

// folder makes a folder of files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func snapshot(t *testing.T, dirs ...string) *workflow.Snapshot {
	t.Helper()
	s, err := workflow.DirCatalog(dirs...).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func revision(doc, n string) string { return strings.Replace(doc, "revision: 1", "revision: "+n, 1) }

func TestACatalogHoldsTheWorkflowsOfItsFolders(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"a.yaml": ab, "b.yml": revision(ab, "12"), "c.json": `{"workflow_schema":1,"id":"j","revision":1,"steps":[{"id":"a","type":"tool","tool":"t"}]}`,
		"culm.yaml": "store: memory\n", "package.json": `{"name":"x"}`, "broken.json": "{", "notes.txt": ab, "list.yaml": "- 1\n",
		"sub/d.yaml": taking,
	})
	s := snapshot(t, dir, filepath.Join(dir, "none"), dir+"/.")
	var got []string
	for _, src := range s.Sources() {
		got = append(got, src.Definition().Ref()+" "+filepath.Base(src.Name()))
	}
	if diff := cmp.Diff([]string{"j@1 c.json", "w@1 a.yaml", "w@12 b.yml"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(s.Unreadable) > 0 {
		t.Errorf("unreadable: %v", s.Unreadable)
	}
	src, err := s.Highest("w")
	if err != nil || src.Definition().Revision != 12 {
		t.Errorf("the highest revision is %v, %v", src, err)
	}
	if diff := cmp.Diff([]string{"j", "w"}, s.IDs()); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

func TestTheOnlyWorkflowOfAFolder(t *testing.T) {
	t.Parallel()
	src, err := snapshot(t, folder(t, map[string]string{"a.yaml": ab, "b.yaml": revision(ab, "2")})).Only()
	if err != nil || src.Definition().Ref() != "w@2" {
		t.Errorf("got %v, %v", src, err)
	}
	for want, files := range map[string]map[string]string{
		"more than one workflow here: nested, w": {"a.yaml": ab, "b.yaml": taking},
		"no workflow here":                       {},
		"not YAML":                               {"a.yaml": "workflow_schema: 1\nid: [\n"},
	} {
		_, err := snapshot(t, folder(t, files)).Only()
		var refused *workflow.NotOneError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestWhatACatalogDoesNotHave(t *testing.T) {
	t.Parallel()
	s := workflow.NewSnapshot(load(t, taking), load(t, revision(taking, "4")))
	for ref, want := range map[string]workflow.LookupError{
		"nestd 1":  {Code: workflow.UnknownWorkflow, Ref: "nestd@1", Near: "nested"},
		"zzz 1":    {Code: workflow.UnknownWorkflow, Ref: "zzz@1"},
		"nested 2": {Code: workflow.RevisionMismatch, Ref: "nested@2", Revisions: []int{1, 4}},
	} {
		id, number, _ := strings.Cut(ref, " ")
		_, err := s.Find(id, int(number[0]-'0'))
		var got *workflow.LookupError
		if !errors.As(err, &got) {
			t.Fatalf("%s: %v", ref, err)
		}
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", ref, diff)
		}
		if !strings.Contains(err.Error(), want.Ref) {
			t.Errorf("%v does not name %s", err, want.Ref)
		}
	}
	if _, err := s.Highest("zzz"); err == nil {
		t.Error("a workflow that does not exist has a highest revision")
	}
}

func TestTheSameRevisionWithOtherContentIsAConflict(t *testing.T) {
	t.Parallel()
	other := strings.Replace(taking, "tool: t", "tool: u", 1)
	dir := folder(t, map[string]string{"a.yaml": taking, "same.yaml": "# a comment\n" + taking, "b.yaml": other})
	s := snapshot(t, dir)
	_, err := s.Find("nested", 1)
	var conflict *workflow.LookupError
	if !errors.As(err, &conflict) || conflict.Code != workflow.DefinitionConflict || len(conflict.Files) != 2 {
		t.Errorf("got %v", err)
	}
	src := load(t, taking)
	found := s.Conflicts(src)
	if len(found) != 1 || filepath.Base(found[0].Name()) != "b.yaml" {
		t.Errorf("conflicts %v", found)
	}
	if found := snapshot(t, folder(t, map[string]string{"a.yaml": taking})).Conflicts(src); len(found) > 0 {
		t.Errorf("the same content conflicts: %v", found)
	}
}

func TestABrokenFileIsNamedWhereAWorkflowIsMissed(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"nested.yaml": "workflow_schema: 1\nid: nested\n\trevision: 1\n"})
	_, err := workflow.Compile(load(t, outer), workflow.DirCatalog(dir), nil)
	var errs workflow.Errors
	if !errors.As(err, &errs) || errs[0].Code != workflow.UnknownWorkflow || !strings.Contains(errs[0].Hint, "nested.yaml") {
		t.Errorf("got %v", err)
	}
}

type catalogFunc func() (*workflow.Snapshot, error)

func (f catalogFunc) Snapshot() (*workflow.Snapshot, error) { return f() }

func TestTheCatalogIsReadOnceAndOnlyWhereItIsNeeded(t *testing.T) {
	t.Parallel()
	burning := errors.New("the catalog is on fire")
	failing := catalogFunc(func() (*workflow.Snapshot, error) { return nil, burning })
	if _, err := workflow.Compile(load(t, ab), failing, nil); err != nil {
		t.Errorf("without nesting: %v", err)
	}
	if _, err := workflow.Compile(load(t, outer), failing, nil); !errors.Is(err, burning) {
		t.Errorf("with nesting: %v", err)
	}
	reads := 0
	twice := strings.Replace(outer, "{id: t, type: tool, tool: t}", "{id: t, type: workflow, workflow_id: nested, revision: 1, args: {n: 2}}", 1)
	counting := catalogFunc(func() (*workflow.Snapshot, error) {
		reads++
		return workflow.NewSnapshot(load(t, taking)), nil
	})
	if _, err := workflow.Compile(load(t, twice), counting, nil); err != nil || reads != 1 {
		t.Errorf("%d reads, %v", reads, err)
	}
}
