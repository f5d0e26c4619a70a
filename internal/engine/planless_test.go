package engine_test

import (
	"slices"
	"testing"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
)

// TestARunWhosePlanCannotBeReadCanStillBeCancelled: ending a run takes no plan.
// What is in doubt stays named.
func TestARunWhosePlanCannotBeReadCanStillBeCancelled(t *testing.T) {
	because := func(code string) reason {
		all := reasons()
		return all[slices.IndexFunc(all, func(r reason) bool { return r.code == code })]
	}
	onMemory(t, func(t *testing.T, w *world) {
		sc := set(t, w, because(engine.CodeStepInDoubt), because(engine.CodeBundleMismatch))
		p := sc.engine()
		_, err := p.Continue(t.Context(), sc.id, engine.ContinueOptions{})
		refused(t, err, engine.CodeBundleMismatch)
		if code := w.view(sc.id).Actions["cancel"]; code != nil {
			t.Errorf("actions say that cancel is refused: %s", *code)
		}
		rc, err := p.Cancel(t.Context(), sc.id, engine.CancelOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if rc.View.Status != run.StatusCancelled || !slices.Equal(rc.InDoubt, []string{"s"}) {
			t.Errorf("%s, in doubt %v", rc.View.Status, rc.InDoubt)
		}
	})
}
