package effectlog_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/culm-dev/culm/internal/testkit/effectlog"
	"github.com/google/go-cmp/cmp"
)

func TestLinesComeBackInOrder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "effects.jsonl")
	want := []effectlog.Line{
		{Run: "r", Step: "a", Attempt: 1, Key: "k", What: "wrote", At: time.Unix(1, 5).UTC()},
		{Run: "r", Step: "b@root[2]", Attempt: 2},
	}
	for _, l := range want {
		if err := effectlog.Append(path, l); err != nil {
			t.Fatal(err)
		}
	}
	got, err := effectlog.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWritersDoNotMixTheirLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "effects.jsonl")
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 50 {
				if err := effectlog.Append(path, effectlog.Line{Run: "r", Step: "s", Attempt: w*50 + i + 1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	lines, err := effectlog.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[int]bool)
	for _, l := range lines {
		seen[l.Attempt] = true
	}
	if len(lines) != 400 || len(seen) != 400 {
		t.Errorf("%d lines, %d different ones, want 400", len(lines), len(seen))
	}
}

func TestShellScriptsCanWriteIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "effects.jsonl")
	script := `printf '{"run":"r","step":"a","attempt":1,"at":"%s"}\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >> "$1"`
	if out, err := exec.Command("sh", "-c", script, "sh", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines, err := effectlog.Read(path)
	if err != nil || len(lines) != 1 || lines[0].Step != "a" || lines[0].At.IsZero() {
		t.Errorf("got %+v, %v", lines, err)
	}
}

func TestTornAndBrokenLines(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		log   string
		lines int
		fails bool
	}{
		"no log":            {"", 0, false},
		"torn last line":    {`{"run":"r","step":"a","attempt":1}` + "\n" + `{"run":"r","st`, 1, false},
		"whole last line":   {`{"run":"r","step":"a","attempt":1}`, 1, false},
		"blank lines":       {"\n\n" + `{"run":"r","step":"a","attempt":1}` + "\n\n", 1, false},
		"broken in between": {`{"run":` + "\n" + `{"run":"r","step":"a","attempt":1}` + "\n", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "effects.jsonl")
			if tc.log != "" {
				if err := os.WriteFile(path, []byte(tc.log), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			lines, err := effectlog.Read(path)
			if len(lines) != tc.lines || (err != nil) != tc.fails {
				t.Errorf("got %d lines, error %v", len(lines), err)
			}
		})
	}
}
