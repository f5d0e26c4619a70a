package workflow_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/workflow"
)

func TestDocument(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "d.yaml")
	content := "name: a\ntags: [x, y]\ndeep: {n: 7, yes: true, any: [1, no]}\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	doc, err := workflow.LoadDocumentFile(file)
	if err != nil {
		t.Fatal(err)
	}
	root := doc.Root()
	if !root.Fields("a document", []string{"name", "tags", "deep"}, []string{"more"}) || root.Get("more").Present() {
		t.Errorf("fields: %v", doc.Errors())
	}
	deep := root.Get("deep")
	var names []string
	for _, m := range deep.Members() {
		names = append(names, m.Name)
	}
	got := []any{
		root.Get("name").OneOf("letter", "a", "b"), root.Get("tags").Texts(), len(root.Get("tags").Items()), names,
		deep.Get("n").Whole(0, 9), deep.Get("yes").Bool(), string(deep.Get("any").JSON()),
		root.IsObject(), root.Get("tags").IsList(), root.Get("name").IsString(), doc.Errors() == nil,
	}
	want := []any{"a", []string{"x", "y"}, 2, []string{"n", "yes", "any"}, int64(7), true, `[1,"no"]`, true, true, true, true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Everything that does not fit is reported, with its place.
func TestDocumentErrors(t *testing.T) {
	t.Parallel()
	doc, err := workflow.LoadDocument("d.yaml", []byte("nam: a\nn: 99\nlist: {}\nflag: 1\nletter: c\nname: ''\n"))
	if err != nil {
		t.Fatal(err)
	}
	root := doc.Root()
	root.Fields("a document", []string{"name", "gone"}, []string{"n", "list", "flag", "letter"})
	root.Get("n").Whole(0, 9)
	root.Get("list").Items()
	root.Get("flag").Bool()
	root.Get("letter").OneOf("letter", "a", "b")
	root.Get("name").Text()
	root.Get("n").Fields("n", nil, nil)
	root.RefuseName("n", workflow.InvalidValue, "no")
	root.Get("flag").Refuse(workflow.InvalidValue, "neither")
	var got []string
	for _, e := range doc.Errors() {
		got = append(got, e.Place()+" "+string(e.Code)+" "+e.Path)
	}
	want := []string{
		"d.yaml:1:1 unknown_field /nam", "d.yaml:1:1 missing_field ",
		"d.yaml:2:1 invalid_value /n", "d.yaml:2:4 invalid_value /n", "d.yaml:2:4 wrong_type /n",
		"d.yaml:3:7 wrong_type /list", "d.yaml:4:7 wrong_type /flag", "d.yaml:4:7 invalid_value /flag",
		"d.yaml:5:9 invalid_value /letter", "d.yaml:6:7 invalid_value /name",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// An absent value is the zero value of everything, and no error.
func TestAbsentValueOfADocument(t *testing.T) {
	t.Parallel()
	doc, err := workflow.LoadDocument("d.yaml", []byte("a: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	v := doc.Root().Get("b").Get("c")
	if v.Present() || v.IsObject() || v.IsList() || v.IsString() || v.Fields("b", []string{"x"}, nil) || v.Text() != "" ||
		v.Bool() || v.Whole(3, 4) != 0 || v.OneOf("b", "x") != "" || v.JSON() != nil || v.Items() != nil || v.Members() != nil || v.Texts() != nil {
		t.Error("an absent value is something")
	}
	if errs := doc.Errors(); errs != nil {
		t.Error(errs)
	}
}

func TestDocumentsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]workflow.Code{
		"":                workflow.EmptyDocument,
		"a: [":            workflow.InvalidSyntax,
		"a: 1\na: 2\n":    workflow.DuplicateKey,
		"a: 1\n---\nb: 2": workflow.MultipleDocuments,
		"a: &x 1\n":       workflow.AliasRefused,
	} {
		_, err := workflow.LoadDocument("d.yaml", []byte(content))
		var errs workflow.Errors
		if !errors.As(err, &errs) || !errs.Has(want) {
			t.Errorf("%q: %v, want %s", content, err, want)
			continue
		}
		if slices.ContainsFunc(errs, func(e workflow.Error) bool { return e.Expected == "a workflow definition" }) {
			t.Errorf("%q: it asks for a workflow: %v", content, err)
		}
	}
	if _, err := workflow.LoadDocumentFile(filepath.Join(t.TempDir(), "gone.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
