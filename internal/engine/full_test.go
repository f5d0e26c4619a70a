package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// TestAFullStoreIsTriedAgain: a store that takes nothing for a while delays a run,
// and neither ends it nor repeats anything.
func TestAFullStoreIsTriedAgain(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript())
		refused := 0
		p.st.hook(func(b *store.Batch) error {
			outcome := len(b.Appends) > 0 && len(b.Appends[0].Events) > 0 &&
				strings.Contains(string(b.Appends[0].Events[0]), "step_completed")
			if outcome && refused < 5 {
				refused++
				return fmt.Errorf("commit: %w", store.ErrTryAgain)
			}
			return nil
		}, nil)
		id := p.start(fmt.Sprintf(oneCall, "write", ""))
		pass(time.Minute)
		synctest.Wait()
		v := w.status(id, run.StatusSucceeded)
		if refused != 5 || len(p.script.called()) != 1 || v.Steps["s"].Attempts != 1 {
			t.Errorf("refused %d times, called %v", refused, p.script.called())
		}
	})
}
