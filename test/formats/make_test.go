package formats_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culm-dev/culm/test/formats/sample"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == sample.DieArg {
		fmt.Fprintln(os.Stderr, sample.Die(context.Background(), os.Args[2], sample.Death(os.Args[3])))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// Samples can be made of what this version keeps, and are never written over.
func TestSamplesAreMade(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	made, err := sample.MakeAll(t.Context(), dir, sample.DiesAs(self))
	if err != nil || len(made) != 3 {
		t.Fatalf("made %v, %v", made, err)
	}
	for _, folder := range made {
		if _, err := os.Stat(filepath.Join("testdata", filepath.Base(folder))); err != nil {
			t.Errorf("%s is made, and no such sample is committed: %v", filepath.Base(folder), err)
		}
	}
	if _, err := sample.MakeAll(t.Context(), dir, sample.DiesAs(self)); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("made twice: %v", err)
	}
}
