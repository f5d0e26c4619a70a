package run_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/run"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// TestSnapshotsAreTheAPI: the names in a snapshot are read by other programs.
func TestSnapshotsAreTheAPI(t *testing.T) {
	t.Parallel()
	for name, facts := range map[string][]fact{
		"queued":    {{body: everyFact()[run.TypeQueued].body}},
		"suspended": eventful()[:25],
		"running":   eventful()[:36],
		"cancelled": eventful(),
		"succeeded": {queued(), started(), enter("a", 1), completed("a").after(2), succeeded()},
		"failed":    {queued(), started(), enter("a", 1), failed("a").after(2), failedRun()},
	} {
		s := run.NewState()
		s.Keep()
		for _, ev := range journal(facts...) {
			if err := s.Apply(ev); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		text, err := json.MarshalIndent(s.Snapshot(), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "snapshot_"+name+".json", string(text)+"\n")
	}
}

// TestSnapshotsAreRead: what the API shows can be read back by a Go client.
func TestSnapshotsAreRead(t *testing.T) {
	t.Parallel()
	want := fold(t, eventful()[:25]...).Snapshot()
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	got := new(run.Snapshot)
	if err := dec.Decode(got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
