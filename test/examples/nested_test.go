package examples_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestNested(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for name, content := range map[string]string{
		"project/a/one.yaml": "", "project/a/deep/two.txt": "", "project/b/three.txt": "", "project/four.txt": "", "project/.hidden/five": "",
	} {
		s.mkdir(name)
		s.write(name, content)
	}
	want := "a: 2 files, 1 of them YAML\nb: 1 files, 0 of them YAML\nin all: "
	got := s.culm("run", example(t, "nested/overview.yaml"), "-a", "path=project")
	if !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
	s.onlyReads()

	// Both revisions are pinned in the run, and the steps of each call are its own.
	var run struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(s.culm("list", "-o", "json")), &run); err != nil {
		t.Fatal(err)
	}
	journal := s.culm("events", run.RunID)
	for _, step := range []string{"folder@root[0]/count", "folder@root[1]/count", "whole/count"} {
		if n := strings.Count(journal, "step_completed "+step+" output="); n != 1 {
			t.Errorf("%s was completed %d times:\n%s", step, n, journal)
		}
	}
	shown := s.culm("plan", run.RunID)
	for _, part := range []string{"folder: folder@2", "whole: folder@1"} {
		if !strings.Contains(shown, part) {
			t.Errorf("the plan has no %q:\n%s", part, shown)
		}
	}
}
