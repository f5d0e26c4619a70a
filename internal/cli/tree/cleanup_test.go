package tree_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/internal/cli/tree"
	"github.com/culm-dev/culm/workflow"
)

// Cleanups stand below lines of their own, behind what they are for.
func TestTreeShowsCleanups(t *testing.T) {
	t.Parallel()
	src, err := workflow.Load("d.yaml", []byte(`
workflow_schema: 1
id: d
revision: 1
steps:
  - {id: make, type: tool, tool: exec}
  - {id: work, type: tool, tool: exec}
  - {id: note, type: tool, tool: exec}
  - {id: sweep, type: tool, tool: exec}
plan: {id: all, do: [make, work], on_failure: note, finally: sweep}
`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := workflow.Compile(src, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	j := begin(t, tree.Outline(p))
	j.done("make")
	j.fail("work")
	j.done("note")
	j.enter("sweep")
	want := ` ✗ all
 ✓   make     exec  100ms
 ✗   work     exec  100ms  execution_failed: exit status 3
 ✓   on failure
 ✓     note   exec  100ms
 ⠋   finally
 ⠋     sweep  exec  0ms
`
	if diff := cmp.Diff(want, j.draw(100, 50)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
