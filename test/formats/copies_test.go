// Package formats_test reads what versions of the past have kept. Each folder of
// testdata is a sample: a store, or exported runs, as the version of its day left
// them (see test/formats/sample). None is ever made anew: what was kept once is read
// for ever.
package formats_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/cli"
	"github.com/culm-dev/culm/internal/testkit/checker"
	"github.com/culm-dev/culm/local"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/test/formats/sample"
)

// copied is a copy of a sample, to be worked on.
type copied struct {
	*testing.T
	name string // such as sqlite-1
	kind string // of store
	data string
	url  string
}

// onEachStore runs a test on a copy of each sample of a store.
func onEachStore(t *testing.T, test func(c *copied)) {
	for _, name := range samples(t, "sqlite", "file") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(copyOf(t, name))
		})
	}
}

// samples are the names of those of some kinds.
func samples(t *testing.T, kinds ...string) []string {
	t.Helper()
	var names []string
	for _, kind := range kinds {
		found, err := filepath.Glob(filepath.Join("testdata", kind+"-*"))
		if err != nil || len(found) == 0 {
			t.Fatalf("samples of %s: %v, %v", kind, found, err)
		}
		for _, f := range found {
			names = append(names, filepath.Base(f))
		}
	}
	return names
}

func copyOf(t *testing.T, name string) *copied {
	t.Helper()
	kind, _, _ := strings.Cut(name, "-")
	c := &copied{T: t, name: name, kind: kind, data: filepath.Join(t.TempDir(), "data")}
	if err := sample.Copy(c.data, filepath.Join("testdata", name, sample.DataFolder)); err != nil {
		t.Fatal(err)
	}
	c.url = sample.URL(kind, c.data)
	return c
}

// engine opens an engine over the copy, in a world that is mended.
func (c *copied) engine() *culm.Engine {
	c.Helper()
	return engineOver(c.T, c.url)
}

func engineOver(t *testing.T, url string) *culm.Engine {
	t.Helper()
	w := &sample.World{Now: sample.Later()}
	w.Mended.Store(true)
	e, err := w.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// ids are those of the runs, by name; every run must be there.
func ids(t *testing.T, e *culm.Engine) map[string]string {
	t.Helper()
	found, err := sample.IDs(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// journals are what is durable, read from outside.
func (c *copied) journals() []checker.Journal {
	c.Helper()
	journals, err := checker.Read(c.data)
	if err != nil {
		c.Fatal(err)
	}
	return journals
}

// check has the outside checker look at the journals.
func (c *copied) check() {
	c.Helper()
	for _, f := range checker.Check(c.journals(), nil) {
		c.Error(f)
	}
}

// withStore does something to the copy's store.
func (c *copied) withStore(do func(st store.Store) error) {
	c.Helper()
	st, err := local.OpenStore(c.Context(), c.url)
	if err != nil {
		c.Fatal(err)
	}
	if err := errors.Join(do(st), st.Close()); err != nil {
		c.Fatal(err)
	}
}

// answer is what a command line comes to.
type answer struct {
	status         int
	stdout, stderr string
}

// culm runs a command line over the copy in this process.
func (c *copied) culm(args ...string) answer {
	c.Helper()
	return culmWith(c.T, append(args, "--store", c.url, "--workspace", filepath.Dir(c.data)))
}

func culmWith(t *testing.T, args []string) answer {
	t.Helper()
	var out, errs bytes.Buffer
	home := map[string]string{"HOME": t.TempDir(), "USER": "ada"}
	status := cli.Main{
		Args: args, Stdout: &out, Stderr: &errs, Env: func(name string) string { return home[name] },
	}.Run(t.Context())
	return answer{status, out.String(), errs.String()}
}

// code is that of an error in JSON.
func (a answer) code(t *testing.T) string {
	t.Helper()
	var doc struct{ Error struct{ Code string } }
	if err := json.Unmarshal([]byte(a.stderr), &doc); err != nil {
		t.Fatalf("standard error is %q: %v", a.stderr, err)
	}
	return doc.Error.Code
}

// files are a folder's files, by their paths in it. SQLite's index of its log, and a
// log in which nothing is, come and go with who reads.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if index := strings.HasSuffix(path, ".db-shm"); !index && !(len(data) == 0 && strings.HasSuffix(path, ".db-wal")) {
			all[strings.TrimPrefix(path, folder)] = string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// unchanged checks that a folder's files are what they were.
func unchanged(t *testing.T, folder string, before map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, files(t, folder)); diff != "" {
		t.Errorf("files of %s changed (-before +after):\n%s", folder, diff)
	}
}
