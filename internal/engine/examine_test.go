package engine_test

import (
	"context"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/internal/testkit/checker"
	"github.com/culm-dev/culm/internal/testkit/effectlog"
	"github.com/culm-dev/culm/store"
)

// examine lets the outside checker look at every journal that a test left, and at
// every call of its tools.
func (w *world) examine() {
	if w.forged || w.t.Failed() {
		return
	}
	var journals []checker.Journal
	w.look(func(_ *engine.Engine, st store.Store) {
		page, err := st.List(context.Background(), store.Query{Limit: 1000})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, row := range page.Rows {
			groups, err := st.Read(context.Background(), row.ID, 0, 1<<30)
			if err != nil {
				w.t.Fatal(err)
			}
			j := checker.Journal{Run: row.ID}
			for _, g := range groups {
				j.Commits = append(j.Commits, g.Events)
			}
			journals = append(journals, j)
		}
	})
	var effects []effectlog.Line
	for _, s := range w.scripts {
		effects = append(effects, s.log...)
	}
	for _, finding := range checker.Check(journals, effects) {
		w.t.Error(finding)
		w.t.Log(w.journal(finding.Run))
	}
}
