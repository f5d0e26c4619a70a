package formats_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/runfiles"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/test/formats/sample"
)

// What is exported from an old store and imported into one of another kind is the same, with
// its commits; what has not ended waits to be taken over.
func TestRunsTravel(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(c *copied) {
		from := c.engine()
		other := map[string]string{"sqlite": "file", "file": "sqlite"}[c.kind]
		to := engineOver(c.T, sample.URL(other, filepath.Join(c.TempDir(), other)))
		for name, id := range ids(c.T, from) {
			x, err := from.Export(c.Context(), id)
			if err != nil {
				c.Fatalf("export %s: %v", name, err)
			}
			arrives(c.T, to, name, x.Extract)
		}
	})
}

// arrives imports a run, and compares what is there then.
func arrives(t *testing.T, to *culm.Engine, name string, x *store.Extract) {
	t.Helper()
	got, err := to.Import(t.Context(), x)
	if err != nil {
		t.Errorf("import %s: %v", name, err)
		return
	}
	ended := got.View.Status.Terminal()
	if (got.View.Copy == "imported") == ended || got.AlreadyThere {
		t.Errorf("run %s arrives as %s, a copy that is %q, there already: %v", name, got.View.Status, got.View.Copy, got.AlreadyThere)
	}
	there, err := to.Export(t.Context(), x.Stream)
	if err != nil {
		t.Errorf("export %s again: %v", name, err)
		return
	}
	now := *there.Extract
	if !ended { // it says now that it was imported
		now.Groups, now.Row = now.Groups[:len(now.Groups)-1], x.Row
	}
	if diff := cmp.Diff(x, &now, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(store.Extract{}, "Epoch")); diff != "" {
		t.Errorf("run %s changed (-before +after):\n%s", name, diff)
	}
}

// Exported runs of old are imported, are what they were, and go on when they are taken
// over.
func TestExportedRunsAreImported(t *testing.T) {
	t.Parallel()
	for _, name := range samples(t, "export") {
		for _, kind := range []string{"sqlite", "file", "memory"} {
			t.Run(name+" into "+kind, func(t *testing.T) {
				t.Parallel()
				importAll(t, copyOf(t, name).data, sample.URL(kind, filepath.Join(t.TempDir(), kind)))
			})
		}
	}
}

func importAll(t *testing.T, exported, url string) {
	folders, err := runfiles.Find(exported)
	if err != nil {
		t.Fatal(err)
	}
	e := engineOver(t, url)
	for _, folder := range folders {
		x, err := runfiles.Read(folder)
		if err != nil {
			t.Fatal(err)
		}
		arrives(t, e, x.Row.Labels[sample.Label], x)
		asPeopleSawIt(t, e, x.Stream, folder)
	}
	id := ids(t, e)
	if len(id) != len(folders) || len(folders) == 0 {
		t.Errorf("%d runs were imported, want %d", len(id), len(folders))
	}
	for _, way := range ways() {
		if id[way.run] == "" { // there is none of Long
			continue
		}
		if _, err := e.Continue(t.Context(), id[way.run], culm.ContinueOptions{}); !refused(err, culm.CodeCopied) {
			t.Errorf("continue %s: %v", way.run, err)
		}
		way.see(t, e, id[way.run], culm.ContinueOptions{Takeover: true})
	}
}

// asPeopleSawIt compares a run that has ended with what was exported for people.
func asPeopleSawIt(t *testing.T, e *culm.Engine, id, folder string) {
	t.Helper()
	x, err := e.Export(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if !x.Snapshot.Status.Terminal() {
		return
	}
	text, err := os.ReadFile(filepath.Join(folder, "snapshot.json"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := sample.Plain(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := sample.Plain(x.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	shownAs(t, id, want, got)
}

// An old store is examined, backed up and tidied.
func TestHouseIsKept(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(c *copied) {
		// Tools of the runs are none that the command has.
		c.doctorFinds("dead_owner", "in_doubt", "missing_tool")
		e := c.engine()
		c.recovers(e)
		c.doctorFinds("in_doubt", "missing_tool")
		id := ids(c.T, e)
		for _, way := range ways() {
			way.see(c.T, e, id[way.run], culm.ContinueOptions{})
		}
		c.doctorFinds()
		backup := filepath.Join(c.TempDir(), "backup")
		if a := c.culm("backup", backup); a.status != 0 {
			c.Errorf("backup: %+v", a)
		}
		if got := ids(c.T, engineOver(c.T, sample.URL(c.kind, backup))); !cmp.Equal(got, id) {
			c.Errorf("the backup has %v, want %v", got, id)
		}
		if a := c.culm("gc", "--older-than", "0s", "--in-doubt"); a.status != 0 {
			c.Errorf("gc: %+v", a)
		}
		if left := ids(c.T, e); len(left) != 0 {
			c.Errorf("%v are left", left)
		}
		c.doctorFinds()
	})
}

// doctorFinds checks what kinds of things are found, whatever this machine is like.
func (c *copied) doctorFinds(want ...string) {
	c.Helper()
	a := c.culm("doctor", "-o", "json")
	var report struct{ Findings []struct{ Code string } }
	if err := json.NewDecoder(bytes.NewReader([]byte(a.stdout))).Decode(&report); err != nil {
		c.Fatalf("doctor: %v: %+v", err, a)
	}
	var got []string
	for _, f := range report.Findings {
		if !slices.Contains([]string{"no_git", "no_guard", "low_space"}, f.Code) {
			got = append(got, f.Code)
		}
	}
	slices.Sort(got)
	got = slices.Compact(got)
	if !slices.Equal(got, want) {
		c.Errorf("doctor finds %v, want %v: %s", got, want, a.stdout)
	}
}
