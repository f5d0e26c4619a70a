package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// A grant given at the start holds for all continues; one given at a continue
// adds to it, and is journaled.
func TestAuthorityIsJournaledAndKept(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		bare := func(c *engine.Config) { c.Authority = run.Authority{} }
		s := newScript()
		p := w.process(s, bare)
		def := `
workflow_schema: 1
id: auth
revision: 1
steps: [{id: a, type: tool, tool: write, capabilities: [mail]}, {id: b, type: tool, tool: write}]
`
		_, err := p.Start(t.Context(), engine.Start{Workflow: []byte(def)})
		refused(t, err, engine.CodePolicyDenied)
		if e := err.(*engine.Error); fmt.Sprint(e.Details["needs_allow"]) != "[mail write]" || e.Details["needs_trust"] != true {
			t.Errorf("details %v", e.Details)
		}
		s.on("a", fails(errPlain))
		id := p.start(def, func(s *engine.Start) {
			s.Authority = run.Authority{Trusted: true, Allow: []string{"write", "mail"}}
		})
		if _, err := p.Resolve(t.Context(), id, "a", engine.Resolution{Verdict: run.VerdictSucceeded}); err != nil {
			t.Fatal(err)
		}
		q := w.process(newScript(), bare)
		v := q.resume(id, engine.ContinueOptions{Authority: run.Authority{Allow: []string{"net"}}})
		if v.Status != run.StatusSucceeded {
			t.Errorf("continued: %s", v.Status)
		}
		var granted [][]string
		for _, ev := range w.events(id) {
			if b, ok := ev.Body.(*run.Started); ok {
				granted = append(granted, b.Authority.Allow)
			}
		}
		if len(granted) != 2 || !slices.Equal(granted[0], []string{"mail", "write"}) || !slices.Equal(granted[1], []string{"mail", "net", "write"}) {
			t.Errorf("granted %v", granted)
		}
	})
}

func TestRestart(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("a", definite(false))
		p := w.process(s)
		start := func(st *engine.Start) {
			st.SessionID, st.Labels = "ses", map[string]string{"k": "v"}
			five := int64(5)
			st.Budget = &workflow.Budgets{MaxSteps: &five}
		}
		id := p.start(twoSteps, start)
		old := w.status(id, run.StatusFailed)
		s.on("a", gives(`1`))
		pass(2 * time.Minute)
		before := w.events(id)
		v, err := p.Restart(t.Context(), id, engine.RestartOptions{Session: "ses"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		again := w.status(v.RunID, run.StatusSucceeded)
		if again.RestartedFrom != id || again.SessionID != "ses" || again.Labels["k"] != "v" || again.BundleHash != old.BundleHash ||
			again.Budget.MaxSteps != 5 || again.Usage.Steps != 2 || !again.CreatedAt.After(old.CreatedAt) {
			t.Errorf("restarted %+v", again.Snapshot)
		}
		if after := w.events(id); len(after) != len(before) {
			t.Error("a restart changed an ended run")
		}
	})
}

// A suspended run is cancelled in the commit that makes the new one: there is
// never none, and never two.
func TestRestartCancelsTheOldRunInTheSameCommit(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		id := offline(w, "stopped")
		p := w.process(newScript())
		p.dieAfter("run_queued")
		if _, err := p.Restart(t.Context(), id, engine.RestartOptions{}); err == nil {
			t.Error("a dead process answered")
		}
		w.status(id, run.StatusCancelled)
		if got := w.journal(id); !strings.HasSuffix(got, "| cancel_requested run_cancelled") {
			t.Errorf("journal %s", got)
		}
		found := w.process(newScript()).recover()
		if len(found) != 1 || found[0].View.RestartedFrom != id {
			t.Errorf("recovered %+v", found)
		}
	})
}

// jumping is a clock that jumps back and forth by an hour.
type jumping struct {
	began time.Time
	looks atomic.Int64
}

func (j *jumping) Now() time.Time {
	if j.looks.Add(1)%2 == 0 {
		return j.began.Add(time.Hour)
	}
	return j.began.Add(-time.Hour)
}

func (j *jumping) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

// Time in a journal never goes back, whatever the clock does.
func TestClockThatGoesBack(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript(), func(c *engine.Config) {
			c.Clock = &jumping{began: time.Now()}
			long := int64(1 << 40)
			c.Ceilings = &workflow.Budgets{WallTimeMS: &long}
		})
		id := p.start("workflow_schema: 1\nid: c\nrevision: 1\nbudgets: {wall_time_ms: 100000000}\nsteps: [{id: a, type: tool, tool: write}, {id: b, type: tool, tool: write}]\n")
		w.status(id, run.StatusSucceeded)
		p.script.log = nil // calls are dated by another clock
		var last time.Time
		for _, ev := range w.events(id) {
			if ev.At.Before(last) {
				t.Errorf("event %d is dated before the one it follows", ev.Sequence)
			}
			last = ev.At
		}
	})
}
