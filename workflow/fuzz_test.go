package workflow_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/culm-dev/culm/workflow"
)

// FuzzLoad feeds documents to the whole way from bytes to a program: nothing may
// panic, every error has a code and can be rendered, and what loads survives its
// canonical form with the same hash.
func FuzzLoad(f *testing.F) {
	for _, m := range mistakes() {
		if len(m.doc) < 4096 {
			f.Add([]byte(m.doc))
		}
	}
	f.Add([]byte(everything))
	f.Add([]byte(everythingCanonical))
	f.Add([]byte(foreign))
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if b, err := workflow.ParseBundle(data); err == nil {
			_, err := workflow.CompileBundle(b, tools)
			checkErrors(t, err)
		} else {
			checkErrors(t, err)
		}
		src, err := workflow.Load("fuzz", data)
		checkErrors(t, err)
		if src == nil {
			return
		}
		_, compileErr := workflow.Compile(src, nil, tools)
		checkErrors(t, compileErr)
		if err != nil {
			return
		}
		survives(t, src)
	})
}

func survives(t *testing.T, src *workflow.Source) {
	t.Helper()
	raw, err := src.Definition().Canonical()
	if err != nil {
		t.Fatal(err)
	}
	again, err := workflow.Load("again", raw)
	if err != nil {
		t.Fatalf("the canonical form does not load: %s\n%v", raw, err)
	}
	hash, _ := src.Definition().Hash()
	if other, err := again.Definition().Hash(); err != nil || other != hash {
		t.Fatalf("the hash of %s changed (%v)", raw, err)
	}
}

func checkErrors(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var errs workflow.Errors
	if !errors.As(err, &errs) || len(errs) == 0 {
		t.Fatalf("an error of another kind: %v", err)
	}
	for i := range errs {
		if errs[i].Code == "" || errs[i].Message == "" {
			t.Fatalf("an error that says nothing: %+v", errs[i])
		}
	}
	if err := errs.Render(io.Discard, true); err != nil {
		t.Fatal(err)
	}
}
