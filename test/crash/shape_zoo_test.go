//go:build unix

package crash_test

import (
	"testing"

	"github.com/culm-dev/culm/internal/testkit/reference"
)

// TestTheZooHasEverything: rounds that are killed in the zoo are killed in every kind
// of node and policy, and their result does not depend on the order of things.
func TestTheZooHasEverything(t *testing.T) {
	t.Parallel()
	want, err := shape{}.expected()
	if err != nil {
		t.Fatal(err)
	}
	if want.Failure != nil || want.Raced {
		t.Fatalf("failure %v, raced %v", want.Failure, want.Raced)
	}
	for id, status := range map[string]reference.Status{
		"item@root[2]": reference.Succeeded, "flaky": reference.Succeeded, "nap": reference.Succeeded,
		"soft": reference.Failed, "taken": reference.Succeeded, "other": reference.Skipped, "round@root#1": reference.Succeeded,
		"nested/each@root[1]": reference.Succeeded, "nested/doze@root[0]": reference.Succeeded, "stubborn@root[0]": reference.Succeeded,
		"guarded/broken": reference.Failed, "guarded/never": reference.Skipped, "vague": reference.Succeeded,
		"undo": reference.Succeeded, "tidy": reference.Succeeded, "close": reference.Succeeded,
	} {
		if want.Steps[id] != status {
			t.Errorf("step %s: %q, want %s", id, want.Steps[id], status)
		}
	}
	t.Logf("%d steps", len(want.Steps))
}
