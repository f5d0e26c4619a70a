package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// numbers are the sequences that a subscription gives.
func numbers(ctx context.Context, e *engine.Engine, id string, since uint64, each func(run.Event)) (seqs []uint64, err error) {
	for ev, err := range e.Subscribe(ctx, id, since) {
		if err != nil {
			return seqs, err
		}
		seqs = append(seqs, ev.Sequence)
		if each != nil {
			each(ev)
		}
	}
	return seqs, nil
}

func from(first, last uint64) (all []uint64) {
	for n := first; n <= last; n++ {
		all = append(all, n)
	}
	return all
}

// However slow a listener is, of whichever process, and whenever it comes: it
// gets every event after since, once, in order, to the end.
func TestSubscriptionsHaveNoGapAndNoRepeat(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		shapes(s)
		p, q := w.process(s), w.process(newScript())
		v, err := p.Start(t.Context(), engine.Start{Workflow: fmt.Appendf(nil, everyShape, "")})
		if err != nil {
			t.Fatal(err)
		}
		type result struct {
			name  string
			since uint64
			seqs  []uint64
			err   error
		}
		results := make(chan result)
		listen := func(name string, e *process, since uint64, each func(run.Event)) {
			go func() {
				seqs, err := numbers(t.Context(), e.Engine, v.RunID, since, each)
				results <- result{name, since, seqs, err}
			}()
		}
		slow := func(run.Event) { time.Sleep(time.Second) }
		listen("own", p, 0, nil)
		listen("other process", q, 0, nil)
		listen("slow", p, 0, slow)
		listen("slow, other process", q, 0, slow)
		listen("since", q, 7, nil)
		got := map[string]result{}
		for range 5 {
			r := <-results
			got[r.name] = r
		}
		last := w.status(v.RunID, run.StatusSucceeded).LastSequence
		for name, r := range got {
			if diff := cmp.Diff(from(r.since+1, last), r.seqs); diff != "" || r.err != nil {
				t.Errorf("%s: %v %s", name, r.err, diff)
			}
		}
		if seqs, err := numbers(t.Context(), q.Engine, v.RunID, last-1, nil); len(seqs) != 1 || err != nil {
			t.Errorf("late: %v, %v", seqs, err)
		}
	})
}

func TestSubscriptionsGoOnOverASuspension(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p, id := doubtful(w, "")
		var seqs []uint64
		done := make(chan error)
		go func() {
			var err error
			seqs, err = numbers(t.Context(), p.Engine, id, 0, nil)
			done <- err
		}()
		synctest.Wait()
		if _, err := w.process(newScript()).Resolve(t.Context(), id, "s", engine.Resolution{Verdict: run.VerdictRerun}); err != nil {
			t.Fatal(err)
		}
		p.resume(id, engine.ContinueOptions{})
		if err := <-done; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(from(1, w.status(id, run.StatusSucceeded).LastSequence), seqs); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSubscriptionsEnd(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p, id := doubtful(w, "")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := numbers(ctx, p.Engine, id, 0, nil)
			done <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		_, err := numbers(t.Context(), p.Engine, "none", 0, nil)
		refused(t, err, engine.CodeNotFound)
	})
}

func TestWait(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript()
		g := s.gate()
		s.on("s", deaf(g, gives(`1`)))
		p, q := w.process(s), w.process(newScript())
		id := p.start(fmt.Sprintf(oneCall, "write", ""))
		waits := make(chan run.Status, 2)
		for _, e := range []*process{p, q} {
			go func() {
				v, err := e.Wait(t.Context(), id)
				if err != nil {
					t.Error(err)
					waits <- ""
					return
				}
				waits <- v.Status
			}()
		}
		pass(time.Minute)
		if len(waits) != 0 {
			t.Error("it did not wait")
		}
		g.open()
		for range 2 {
			if got := <-waits; got != run.StatusSucceeded {
				t.Errorf("waited for %s", got)
			}
		}
	})
}

// Who waits for a run whose owner dies is told.
func TestWaitTellsOfADeadOwner(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript().on("s", untilCancelled(nil)))
		id := p.start(fmt.Sprintf(oneCall, "write", ""))
		done := make(chan *run.View)
		q := w.process(newScript())
		go func() {
			v, err := q.Wait(context.Background(), id)
			if err != nil {
				t.Error(err)
			}
			done <- v
		}()
		synctest.Wait()
		p.kill()
		if v := <-done; v.Status != run.StatusRunning || v.Owner == nil || v.Owner.Alive {
			t.Errorf("%s, owner %+v", v.Status, v.Owner)
		}
	})
}

func TestListings(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		s := newScript().on("s", times(gives(`1`), definite(false), fails(errPlain)))
		p := w.process(s)
		def := fmt.Sprintf(oneCall, "write", "")
		labelled := func(k, v, session string) func(*engine.Start) {
			return func(s *engine.Start) { s.Labels = map[string]string{k: v}; s.SessionID = session }
		}
		a := p.start(def, labelled("team", "blue", ""))
		pass(time.Hour)
		b := p.start(strings.Replace(def, "id: one", "id: other", 1), labelled("team", "red", "ses"))
		pass(time.Hour)
		c := p.start(strings.Replace(def, "revision: 1", "revision: 2", 1), labelled("team", "blue", ""))
		g := s.gate()
		s.on("s", deaf(g, gives(`1`)))
		pass(time.Hour)
		d := p.start(def)
		names := map[string]string{a: "a", b: "b", c: "c", d: "d"}
		cases := []struct {
			name string
			q    store.Query
			want string
		}{
			{"all, newest first", store.Query{}, "dcba"},
			{"succeeded", store.Query{Status: []string{"succeeded"}}, "a"},
			{"ended", store.Query{Status: []string{"succeeded", "failed"}}, "ba"},
			{"running", store.Query{Status: []string{"running"}}, "d"},
			{"in doubt", store.Query{InDoubt: true}, "c"},
			{"label", store.Query{Labels: map[string]string{"team": "blue"}}, "ca"},
			{"workflow", store.Query{Workflow: "one"}, "dca"},
			{"workflow and revision", store.Query{Workflow: "one@1"}, "da"},
			{"session", store.Query{Session: "ses"}, "b"},
			{"since", store.Query{Since: w.view(c).CreatedAt}, "dc"},
			{"none", store.Query{Status: []string{"cancelled"}}, ""},
		}
		for _, c := range cases {
			page, err := p.List(t.Context(), c.q)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, r := range page.Runs {
				got += names[r.RunID]
				if running := r.RunID == d; running != (r.Owner != nil && r.Owner.Alive) {
					t.Errorf("owner of %s: %+v", names[r.RunID], r.Owner)
				}
			}
			if got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
		w.pages(p, names)
	})
}

// pages walks a listing one run a page.
func (w *world) pages(p *process, names map[string]string) {
	w.t.Helper()
	got := ""
	for q := (store.Query{Limit: 1}); ; {
		page, err := p.List(context.Background(), q)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range page.Runs {
			got += names[r.RunID]
		}
		if q.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	if got != "dcba" {
		w.t.Errorf("pages: %q", got)
	}
}

// Sessions see their own runs only; operators see all.
func TestSessions(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript().on("s", fails(errPlain)))
		id := p.start(fmt.Sprintf(oneCall, "write", ""), func(s *engine.Start) { s.SessionID = "mine" })
		for session, want := range map[string]string{"": engine.CodeNotFound, "other": engine.CodeNotFound, "mine": "", engine.AnySession: ""} {
			_, err := p.Progress(t.Context(), id, engine.ProgressOptions{Session: session})
			refused(t, err, want)
			_, err = p.Continue(t.Context(), id, engine.ContinueOptions{Session: session})
			if want == "" {
				want = engine.CodeStepInDoubt
			}
			refused(t, err, want)
			_, err = p.Restart(t.Context(), id, engine.RestartOptions{Session: session})
			refused(t, err, want)
		}
	})
}

func TestFindRun(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(t *testing.T, w *world) {
		p := w.process(newScript())
		id := p.start(fmt.Sprintf(oneCall, "write", ""))
		for _, part := range []string{id, id[:12], id[len(id)-8:], strings.ToUpper(id)} {
			if got, err := p.FindRun(t.Context(), part); got != id || err != nil {
				t.Errorf("find %s: %s, %v", part, got, err)
			}
		}
		_, err := p.FindRun(t.Context(), "ffffffff")
		refused(t, err, engine.CodeNotFound)
		p.start(fmt.Sprintf(oneCall, "write", ""))
		_, err = p.FindRun(t.Context(), id[:4])
		refused(t, err, engine.CodeAmbiguous)
	})
}
