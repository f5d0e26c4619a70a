//go:build unix

package crash_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/culm-dev/culm/internal/runfiles"
	"github.com/culm-dev/culm/internal/testkit/checker"
	"github.com/culm-dev/culm/run"
)

// looping has its effect many times, with a value that is kept beside the journal,
// so that there is something to copy all the time. It goes on until there is a file
// named go.
const looping = `workflow_schema: 1
id: looping
revision: 1
budgets: {max_steps: 4000}
steps:
  - {id: act, type: tool, tool: exec, args: {shell: EFFECT}}
  - {id: fill, type: tool, tool: exec, args: {shell: "head -c 6000 /dev/zero | tr '\\0' x; if test -e go; then printf go; fi"}}
plan:
  - repeat: [act, fill]
    until: {cel: 'steps.fill.stdout.endsWith("go")'}
    max: 1000
`

// short is soon over, and without effect.
const short = `workflow_schema: 1
id: short
revision: 1
steps:
  - {id: say, type: tool, tool: echo, args: {value: said}}
`

// TestHousekeepingDisturbsNobody: sixteen processes run, while others collect, back
// up and export. All of them end as they would have; each backup opens, and the
// outside checker finds nothing in it; each export is read back.
func TestHousekeepingDisturbsNobody(t *testing.T) {
	t.Parallel()
	const owners, rounds = 16, 3
	s := newSite(t)
	s.workflow("looping.yaml", looping, "")
	s.write("short.yaml", short)
	s.write("culm.yaml", "ceilings: {max_steps: 4000}\n")
	var working []*process
	for range owners {
		working = append(working, s.startCulm("run", "looping.yaml", "--trust", "--allow", "exec"))
	}
	eventually(t, "sixteen runs are going on", func() bool { return len(s.list()) == owners })
	for n := range rounds {
		for range 3 { // something to collect
			s.culm(0, "run", "short.yaml")
		}
		backup := filepath.Join(s.dir, fmt.Sprint("backup", n))
		out := filepath.Join(s.dir, fmt.Sprint("export", n))
		together := []*process{
			s.startCulm("backup", backup), s.startCulm("export", "--all", "--to", out),
			s.startCulm("gc", "--older-than", "0s"), s.startCulm("doctor"),
		}
		for _, p := range together {
			p.want(0)
		}
		s.wantWhole(backup, out, owners)
	}
	s.letGo()
	for _, p := range working {
		p.want(0)
	}
	ended := 0
	for _, r := range s.list() {
		if r.Workflow == "looping@1" {
			ended++
			if r.Status != run.StatusSucceeded || r.Damaged != "" {
				t.Errorf("%+v", r)
			}
		}
	}
	if ended != owners {
		t.Errorf("%d runs ended, want %d", ended, owners)
	}
	s.check()
	s.culm(0, "gc", "--older-than", "0s")
	if left := s.list(); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
	s.culm(0, "doctor")
}

// wantWhole checks a backup and an export that were made while owners worked.
func (s *site) wantWhole(backup, out string, owners int) {
	s.t.Helper()
	journals, err := checker.ReadSQLite(backup)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(journals) < owners {
		s.t.Errorf("%d runs were backed up", len(journals))
	}
	for _, f := range checker.Check(journals, nil) {
		s.t.Error(f)
	}
	folders, err := runfiles.Find(out)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(folders) < owners {
		s.t.Errorf("%d runs were exported", len(folders))
	}
	for _, folder := range folders {
		if _, err := runfiles.Read(folder); err != nil {
			s.t.Error(err)
		}
	}
	if err := os.RemoveAll(out); err != nil {
		s.t.Error(err)
	}
}
