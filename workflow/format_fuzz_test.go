package workflow_test

import (
	"errors"
	"testing"

	"github.com/culm-dev/culm/workflow"
)

// FuzzFormat formats whatever can be read: it must stay what it is, and be tidy
// then. A layout that is too strange may be refused.
func FuzzFormat(f *testing.F) {
	for _, doc := range []string{untidy, everything, everythingCanonical, foreign, ab} {
		f.Add([]byte(doc))
	}
	f.Add([]byte(head + "steps:\n- id: a\n  type: tool\n  ? tool\n  : t\n  args: !!map\n    b: |+\n\n      x\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := workflow.Load("fuzz", data); err != nil {
			return
		}
		if _, err := workflow.Format("fuzz", data); errors.Is(err, workflow.ErrLayout) {
			return
		}
		formatted(t, "fuzz", string(data))
	})
}
