package workflow_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/workflow"
)

var update = flag.Bool("update", false, "write golden files")

// The files of testdata that end in .yaml are rendered as their .golden says.
func TestErrorsAreRenderedAsGoodCompilersDo(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ten", "odd"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, err := workflow.LoadFile("testdata/" + name + ".yaml")
			if src == nil {
				t.Fatal(err)
			}
			_, err = workflow.Compile(src, nil, nil)
			var errs workflow.Errors
			if !errors.As(err, &errs) {
				t.Fatalf("got %v", err)
			}
			golden := "testdata/" + name + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(errs.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), errs.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTenMistakesInOneFileAreAllReported(t *testing.T) {
	t.Parallel()
	src, _ := workflow.LoadFile("testdata/ten.yaml")
	_, err := workflow.Compile(src, nil, nil)
	var errs workflow.Errors
	if !errors.As(err, &errs) {
		t.Fatal(err)
	}
	kinds, last := map[workflow.Code]bool{}, 0
	for _, e := range errs {
		if e.Line < last || e.Line == 0 || e.Col == 0 {
			t.Errorf("%s is out of order or without a place", e.Error())
		}
		kinds[e.Code], last = true, e.Line
	}
	if len(kinds) < 10 {
		t.Errorf("%d kinds of mistakes: %v", len(kinds), kinds)
	}
}

func TestColoursAreOnlyAddedToThePlainText(t *testing.T) {
	t.Parallel()
	_, err := workflow.Load("w.yaml", []byte("id: [\n"))
	var errs workflow.Errors
	if !errors.As(err, &errs) {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := errs.Render(&b, true); err != nil {
		t.Fatal(err)
	}
	colour := b.String()
	if !strings.Contains(colour, "\x1b[1;31m") {
		t.Errorf("no colour in %q", colour)
	}
	for _, code := range []string{"\x1b[0m", "\x1b[1m", "\x1b[1;31m", "\x1b[1;32m", "\x1b[1;34m"} {
		colour = strings.ReplaceAll(colour, code, "")
	}
	if diff := cmp.Diff(errs.String(), colour); diff != "" {
		t.Errorf("(-plain +coloured):\n%s", diff)
	}
}

// A file must not be able to write to a terminal by being wrong.
func TestRenderingShowsNoControlCharacters(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{"id: \x1b[31mx\n", "{\"id\": \"\\u001b[31m\", \"steps\": [], \"\\u001b]0;x\\u0007\": 1}"} {
		_, err := workflow.Load("\x1b[2Jw", []byte(doc))
		var errs workflow.Errors
		if !errors.As(err, &errs) {
			t.Fatalf("%q: %v", doc, err)
		}
		if out := errs.String(); strings.ContainsAny(out, "\x1b\x07") {
			t.Errorf("rendered %q", out)
		}
	}
}

func TestRenderingShowsNoSecrets(t *testing.T) {
	t.Parallel()
	const key = "-----BEGIN RSA PRIVATE KEY-----"
	for name, doc := range map[string]string{
		"on one line": head + "steps: [{id: a, type: tool, tool: t, args: {token: 'hunter2hunter2', x: {from: step, step: zzz}}}]\n",
		"in a block":  head + "steps:\n- id: a\n  type: tool\n  tool: t\n  args:\n    x: |\n      " + key + "\n      hunter2hunter2\n    y: {from: step, step: zzz}\n",
		"in JSON":     `{"workflow_schema":1,"id":"w","revision":1,"steps":[{"id":"a","type":"tool","tool":"t","args":{"token":"hunter2hunter2","x":{"from":"step","step":"zzz"}}}]}`,
	} {
		src := load(t, doc)
		_, err := workflow.Compile(src, nil, nil)
		var errs workflow.Errors
		if !errors.As(err, &errs) || !errs.Has(workflow.SecretMaterial) || !errs.Has(workflow.UnknownStep) {
			t.Fatalf("%s: %v", name, err)
		}
		if out := errs.String(); strings.Contains(out, "hunter2") {
			t.Errorf("%s:\n%s", name, out)
		}
	}
}

func TestAnErrorIsOneLineAndHasItsPlace(t *testing.T) {
	t.Parallel()
	_, err := workflow.Load("w.yaml", []byte(head+"steps: [{id: a, type: tool, tool: t, arg: 1}]\nwords: 1\n"))
	want := `w.yaml:4:38: unknown_field: a tool step has no field "arg"; expected one of id, type, description, failure, output_schema, timeout_ms, on_unknown, tool, args, capabilities; did you mean "args"?
w.yaml:5:1: unknown_field: a definition has no field "words"; expected one of workflow_schema, id, revision, description, input_schema, output_schema, steps, plan, output, budgets`
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
