package formats_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/cli"
	"github.com/culm-dev/culm/internal/runfiles"
	"github.com/culm-dev/culm/local"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/test/formats/sample"
)

// A store of a format to come is refused by every command, and not a byte of it is
// changed.
func TestNewerStoreIsRefused(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(c *copied) {
		before := c.ofTheFuture()
		for _, open := range []func() (store.Store, error){
			func() (store.Store, error) { return local.OpenStore(c.Context(), c.url) },
			func() (store.Store, error) { return local.OpenDamaged(c.Context(), c.url) },
		} {
			if st, err := open(); !errors.Is(err, store.ErrNewerFormat) {
				c.Errorf("opened: %v, %v", st, err)
			}
		}
		flow := filepath.Join(c.TempDir(), "w.json")
		if err := os.WriteFile(flow, []byte(`{"workflow_schema":1,"id":"w","revision":1,"steps":[{"id":"s","type":"sleep","duration_ms":0}]}`), 0o600); err != nil {
			c.Fatal(err)
		}
		exported, err := filepath.Abs("testdata/export-1/data")
		if err != nil {
			c.Fatal(err)
		}
		run, to := strings.Repeat("a", 12), filepath.Join(c.TempDir(), "to")
		for _, args := range [][]string{
			{"run", flow}, {"list"}, {"show", run}, {"events", run}, {"logs", run}, {"wait", run}, {"continue", run}, {"restart", run},
			{"cancel", run}, {"resolve", run, "s", "--rerun"}, {"recover"}, {"export", "--all", "--to", to}, {"import", exported}, {"gc"}, {"backup", to},
		} {
			a := c.culm(append(args, "-o", "json")...)
			if a.status != cli.ExitRefused || a.code(c.T) != culm.CodeNewerFormat || !strings.Contains(a.stderr, "Use the version that wrote it") {
				c.Errorf("culm %s: %+v", args[0], a)
			}
		}
		if a := c.culm("doctor", "-o", "json"); a.status != cli.ExitStorage || !strings.Contains(a.stdout, `"newer_format"`) {
			c.Errorf("culm doctor: %+v", a)
		}
		if a := c.culm("doctor", "--salvage", to); a.status == 0 {
			c.Errorf("culm doctor --salvage: %+v", a)
		}
		unchanged(c.T, c.data, before)
	})
}

// ofTheFuture makes the copy a store of the next format, and gives its files.
func (c *copied) ofTheFuture() map[string]string {
	c.Helper()
	if c.kind == "sqlite" {
		db, err := sql.Open("sqlite", "file:"+filepath.Join(c.data, "culm.db"))
		if err != nil {
			c.Fatal(err)
		}
		_, err = db.ExecContext(c.Context(), `UPDATE meta SET format = format + 1; PRAGMA wal_checkpoint(TRUNCATE)`)
		if err = errors.Join(err, db.Close()); err != nil {
			c.Fatal(err)
		}
		return files(c.T, c.data)
	}
	nextFormat(c.T, filepath.Join(c.data, "format.json"), "culm_file_store")
	return files(c.T, c.data)
}

// nextFormat makes a number in a JSON file one greater.
func nextFormat(t *testing.T, path, member string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.MustCompile(`("` + member + `": ?)([0-9]+)`)
	m := number.FindSubmatch(text)
	if m == nil {
		t.Fatalf("%s has no %s", path, member)
	}
	var n int
	if _, err := fmt.Sscan(string(m[2]), &n); err != nil {
		t.Fatal(err)
	}
	text = number.ReplaceAll(text, fmt.Appendf(nil, "${1}%d", n+1))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A run with an event of a type to come is shown as far as it is understood, is left
// as it is, and keeps nobody from other runs.
func TestRunWithNewerEventIsRefused(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(c *copied) {
		e := c.engine()
		all := ids(c.T, e)
		id := all[sample.Doubtful]
		c.withStore(func(st store.Store) error { return appendNewer(c, st, id) })
		before := c.journals()

		v, err := e.Progress(c.Context(), id, culm.ProgressOptions{})
		if err != nil || v.Damaged != "" || v.Actions["continue"] == nil || *v.Actions["continue"] != culm.CodeNewerFormat {
			c.Errorf("it is shown as %+v, %v", v, err)
		}
		_, continued := e.Continue(c.Context(), id, culm.ContinueOptions{})
		_, cancelled := e.Cancel(c.Context(), id, culm.CancelOptions{})
		_, restarted := e.Restart(c.Context(), id, culm.RestartOptions{AcceptDoubt: true})
		_, resolved := e.Resolve(c.Context(), id, "charge", culm.Resolution{Verdict: "rerun"})
		for what, err := range map[string]error{"continue": continued, "cancel": cancelled, "restart": restarted, "resolve": resolved} {
			if !refused(err, culm.CodeNewerFormat) {
				c.Errorf("%s: %v", what, err)
			}
		}
		if a := c.culm("continue", id, "-o", "json"); a.status != cli.ExitRefused || a.code(c.T) != culm.CodeNewerFormat {
			c.Errorf("culm continue: %+v", a)
		}
		for i, j := range c.journals() {
			if j.Run != before[i].Run || !bytes.Equal(bytes.Join(lines(j.Commits), nil), bytes.Join(lines(before[i].Commits), nil)) {
				c.Errorf("the journal of %s changed", j.Run)
			}
		}
		c.recovers(e)
		c.newerTravels(e, id)
	})
}

// lines are the events of all commits.
func lines(commits [][][]byte) (all [][]byte) {
	for _, commit := range commits {
		all = append(all, commit...)
	}
	return all
}

// appendNewer commits an event of a type that this version does not know.
func appendNewer(c *copied, st store.Store, id string) error {
	head, err := st.Head(c.Context(), id)
	if err != nil {
		return err
	}
	claim, err := st.Claim(c.Context(), id)
	if err != nil {
		return err
	}
	defer claim.Close()
	event := fmt.Appendf(nil, `{"run_id":%q,"sequence":%d,"at":%q,"type":"of_the_future"}`, id, head.Last+1, sample.Later().Format(time.RFC3339))
	return st.Commit(c.Context(), &store.Batch{Appends: []store.Append{
		{Stream: id, Expect: head.Last, Claim: claim, Events: [][]byte{event}, Release: true},
	}})
}

// newerTravels checks that such a run is exported whole, and not imported.
func (c *copied) newerTravels(e *culm.Engine, id string) {
	c.Helper()
	x, err := e.Export(c.Context(), id)
	if err != nil || x.Damaged != "" {
		c.Fatalf("exported with damage %q, error %v", x.Damaged, err)
	}
	out := filepath.Join(c.TempDir(), "out")
	if _, _, err := runfiles.Write(out, &runfiles.Run{Extract: x.Extract, At: sample.Later()}); err != nil {
		c.Fatal(err)
	}
	refusesImport(c.T, out)
}

// refusesImport checks that an export is refused as newer, and that nothing is made.
func refusesImport(t *testing.T, exported string) {
	t.Helper()
	before := files(t, exported)
	for _, kind := range []string{"sqlite", "file"} {
		data := filepath.Join(t.TempDir(), "data")
		a := culmWith(t, []string{"import", exported, "-o", "json", "--store", sample.URL(kind, data)})
		if a.status != cli.ExitRefused || a.code(t) != culm.CodeNewerFormat {
			t.Errorf("culm import into %s: %+v", kind, a)
		}
		if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("something was made in %s: %v", kind, err)
		}
	}
	unchanged(t, exported, before)
}

// Exported runs of a format to come are refused.
func TestNewerExportIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range samples(t, "export") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := copyOf(t, name)
			folders, err := runfiles.Find(c.data)
			if err != nil {
				t.Fatal(err)
			}
			for _, folder := range folders {
				nextFormat(t, filepath.Join(folder, "manifest.json"), "export_format")
				var newer *runfiles.Error
				if _, err := runfiles.Read(folder); !errors.As(err, &newer) || !newer.Newer {
					t.Errorf("read: %v", err)
				}
			}
			refusesImport(t, c.data)
		})
	}
}
