package runfiles_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/culm-dev/culm/internal/runfiles"
	"github.com/culm-dev/culm/store"
)

func epoch() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC) }

func extract() *store.Extract {
	blob := []byte(`"` + strings.Repeat("b", 5000) + `"`)
	return &store.Extract{
		Stream: "run-1",
		Groups: []store.Group{
			{First: 1, Events: [][]byte{[]byte(`{"n":1}`), []byte(`{}`)}},
			{First: 3, Events: [][]byte{[]byte(`{"n":{"_commit":{"first":3,"crc":"00000000"}}}`)}},
		},
		Row: store.Row{
			ID: "run-1", Kind: "run", Status: "suspended", Workflow: "w@1", Session: "s", Labels: map[string]string{"a": "b"},
			InDoubt: true, WakeAt: epoch(), Created: epoch(), Updated: epoch(), Suspension: "sleep",
		},
		Epoch:   7,
		Mail:    []store.Mail{{Number: 2, ID: "m", Body: []byte("\x00mail"), At: epoch()}},
		Account: &store.Account{ID: "run-1", Spent: map[string]int64{"steps": 1 << 60}, Limits: map[string]int64{"steps": 9}},
		Blobs:   []store.NewBlob{{ID: store.BlobID(blob), Data: blob}},
	}
}

func write(t interface {
	Helper()
	Fatal(...any)
}, dir string, r *runfiles.Run) string {
	t.Helper()
	folder, size, err := runfiles.Write(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	if size <= 0 || folder != filepath.Join(dir, "runs", r.Extract.Stream) {
		t.Fatal(folder, size)
	}
	return folder
}

func same() cmp.Option { return cmpopts.EquateEmpty() }

func TestWhatIsReadIsWhatWasWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := extract()
	folder := write(t, dir, &runfiles.Run{Extract: x, Snapshot: map[string]int{"n": 1}, At: epoch()})
	got, err := runfiles.Read(folder)
	if diff := cmp.Diff(x, got, same()); err != nil || diff != "" {
		t.Errorf("read: %v\n%s", err, diff)
	}
	// A later export takes its place.
	x.Groups = append(x.Groups, store.Group{First: 4, Events: [][]byte{[]byte(`{"n":4}`)}})
	write(t, dir, &runfiles.Run{Extract: x, At: epoch()})
	if got, err = runfiles.Read(folder); err != nil || got.Last() != 4 {
		t.Errorf("read: %+v, %v", got, err)
	}
	for _, given := range []string{dir, folder} {
		found, err := runfiles.Find(given)
		if diff := cmp.Diff([]string{folder}, found); err != nil || diff != "" {
			t.Errorf("find in %s: %v\n%s", given, err, diff)
		}
	}
	left, err := os.ReadDir(filepath.Join(dir, "runs"))
	if err != nil || len(left) != 1 {
		t.Errorf("beside it: %v, %v", left, err)
	}
	err = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := d.Info()
		if want := map[bool]os.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; err == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// The journal is plain: one event a line, as it is, with the boundary of its
// commit behind the last of each.
func TestTheJournalIsPlain(t *testing.T) {
	t.Parallel()
	folder := write(t, t.TempDir(), &runfiles.Run{Extract: extract(), At: epoch()})
	got, err := os.ReadFile(filepath.Join(folder, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"n":1}
{"_commit":{"first":1,"crc":"CRC"}}
{"n":{"_commit":{"first":3,"crc":"00000000"}},"_commit":{"first":3,"crc":"CRC"}}
`
	lines := strings.Split(string(got), "\n")
	for i, line := range lines {
		if at := strings.LastIndex(line, `"crc":"`); at >= 0 {
			lines[i] = line[:at] + `"crc":"CRC"}}`
		}
	}
	if diff := cmp.Diff(want, strings.Join(lines, "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestAnyRunComesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		x := extract()
		x.Groups = nil
		for n := rapid.IntRange(0, 4).Draw(rt, "commits"); n > 0; n-- {
			g := store.Group{First: x.Last() + 1}
			for m := rapid.IntRange(1, 3).Draw(rt, "events"); m > 0; m-- {
				g.Events = append(g.Events, []byte(`{`+rapid.StringMatching(`("[a-z_]{1,9}":[0-9]{1,3})?`).Draw(rt, "event")+`}`))
			}
			x.Groups = append(x.Groups, g)
		}
		got, err := runfiles.Read(write(rt, dir, &runfiles.Run{Extract: x, At: epoch()}))
		if diff := cmp.Diff(x, got, same()); err != nil || diff != "" {
			rt.Fatalf("read: %v\n%s", err, diff)
		}
	})
}

// Bytes of every file are flipped, and every file cut and removed: nothing
// else than what was written is ever read.
func TestInvariant23_ADamagedExportIsRefused(t *testing.T) {
	t.Parallel()
	folder := write(t, t.TempDir(), &runfiles.Run{Extract: extract(), Snapshot: 1, At: epoch()})
	refused := func(what string) {
		t.Helper()
		x, err := runfiles.Read(folder)
		var bad *runfiles.Error
		if !errors.As(err, &bad) || bad.Path == "" || bad.Reason == "" || x != nil {
			t.Errorf("%s: %+v, %v", what, x, err)
		}
	}
	var names []string
	if err := filepath.WalkDir(folder, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(names) != 5 {
		t.Fatalf("files: %q", names)
	}
	put := func(name string, data []byte) {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		stride := max(1, len(whole)/60)
		for i := 0; i < len(whole); i += stride {
			b := bytes.Clone(whole)
			b[i] ^= 1
			put(name, b)
			refused(name + ": flip")
			put(name, whole[:i])
			refused(name + ": cut")
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		refused(name + ": removed")
		put(name, whole)
	}
	extra := filepath.Join(folder, "more.txt")
	put(extra, []byte("x"))
	refused("a file more")
	if err := os.Remove(extra); err != nil {
		t.Fatal(err)
	}
	if _, err := runfiles.Read(folder); err != nil {
		t.Errorf("when all is as it was: %v", err)
	}
}

func TestADamagedRunHasWhatIsLeftOfIt(t *testing.T) {
	t.Parallel()
	folder := write(t, t.TempDir(), &runfiles.Run{
		Extract: extract(), Damaged: "a checksum does not match", At: epoch(),
		Raw: func(w io.Writer) error { _, err := io.WriteString(w, "raw\n"); return err },
	})
	for name, want := range map[string]string{"raw.jsonl": "raw\n", "reason.txt": "a checksum does not match\n"} {
		if got, err := os.ReadFile(filepath.Join(folder, "damaged", name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	var bad *runfiles.Error
	if _, err := runfiles.Read(folder); !errors.As(err, &bad) || !strings.Contains(bad.Reason, "a checksum does not match") {
		t.Errorf("read: %v", err)
	}
}

func TestWhatCannotBeAnExport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"", "..", "a/b", ".hidden", `a\b`, "a\x00"} {
		x := extract()
		x.Stream, x.Row.ID, x.Account.ID = name, name, name
		if _, _, err := runfiles.Write(dir, &runfiles.Run{Extract: x}); err == nil {
			t.Errorf("a run %q was written", name)
		}
	}
	x := extract()
	x.Groups[0].Events[1] = []byte(`{"a":1,"_commit":{"first":1,"crc":"00000000"}}`)
	if _, _, err := runfiles.Write(dir, &runfiles.Run{Extract: x}); err == nil {
		t.Error("an event that ends as a boundary does was written")
	}
	var bad *runfiles.Error
	if _, err := runfiles.Find(dir + "/none"); !errors.As(err, &bad) {
		t.Errorf("find in what is not there: %v", err)
	}
	folder := write(t, dir, &runfiles.Run{Extract: extract(), At: epoch()})
	if err := os.WriteFile(filepath.Join(folder, "manifest.json"), []byte(`{"export_format":2,"signed":true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := runfiles.Read(folder); !errors.As(err, &bad) || !bad.Newer {
		t.Errorf("a newer format: %v", err)
	}
}
