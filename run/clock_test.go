package run_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/culm-dev/culm/run"
)

// TestDeadline: when the wall time of a minute is over, in seconds after the run was
// created, as seen at a time.
func TestDeadline(t *testing.T) {
	t.Parallel()
	base := []fact{queued(), started()}
	for _, c := range []struct {
		name  string
		facts []fact
		now   int
		want  int
	}{
		{"nothing waits", nil, 50, 60},
		{"a call is in flight", []fact{enter("a", 1)}, 50, 60},
		{"a sleep moves it", []fact{wait("nap", 1), until("nap", 100)}, 40, 100},
		{"a sleep moves it up to its deadline only", []fact{wait("nap", 1), until("nap", 30)}, 50, 90},
		{"the longest of several sleeps counts", []fact{wait("n1", 1), until("n1", 30), wait("n2", 1), until("n2", 45)}, 50, 105},
		{"a sleep beside a call does not", []fact{wait("nap", 1), until("nap", 100), enter("a", 1)}, 40, 60},
		{"only the time without calls counts", []fact{wait("nap", 1), until("nap", 100), enter("a", 1).after(5), completed("a").after(10)}, 40, 60 + 5 + 25},
		{"a sleep that is over is remembered", []fact{wait("nap", 1), until("nap", 20), completed("nap").after(20)}, 50, 80},
		{"a cancelled sleep as far as it went", []fact{wait("nap", 1), until("nap", 40), cancelled("nap").after(15)}, 50, 75},
		{"a wait without an end", []fact{wait("w", 1), {step: "w", body: &run.WaitSet{}}}, 1000, 1060},
		{"a doubt moves it", []fact{enter("a", 1), doubted("a").after(10)}, 50, 100},
		{"a doubt beside a call does not", []fact{enter("b", 1), enter("a", 1), doubted("a").after(10)}, 50, 60},
		{"a doubt beside a short sleep does", []fact{wait("nap", 1), until("nap", 20), enter("a", 1), doubted("a").after(10)}, 50, 100},
		{"a verdict ends that", []fact{enter("a", 1), doubted("a").after(10), resolved("a", run.VerdictSucceeded).after(10)}, 50, 70},
		{"a rerun ends that", []fact{enter("a", 1), doubted("a").after(10), resolved("a", run.VerdictRerun).after(10)}, 50, 70},
		{"time offline counts", []fact{suspended()}, 50, 60},
		{"a sleep goes on offline", []fact{wait("nap", 1), until("nap", 30), paused("nap"), suspended()}, 50, 90},
		{"a call whose owner died is a doubt from when that was found", []fact{enter("a", 1), doubted("a").after(40), suspended()}, 50, 70},
		{"granted time replaces the rest", []fact{{body: &run.DeadlineExtended{Until: at(200), By: "me"}, at: 30}}, 50, 200},
		{"granted time, then a sleep", []fact{{body: &run.DeadlineExtended{Until: at(200), By: "me"}}, wait("nap", 1), until("nap", 40)}, 50, 240},
		{"granting less time than is left takes none", []fact{{body: &run.DeadlineExtended{Until: at(20), By: "me"}, at: 10}}, 10, 60},
		{"a clock that goes back takes none", []fact{wait("nap", 1), until("nap", 100), enter("a", 1).after(20), completed("a").after(-15)}, 20, 80},
		{"a clock that goes back gives none twice", []fact{wait("nap", 1), until("nap", 100), enter("a", 1).after(20), completed("a").after(-15)}, 30, 90},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fold(t, append(base[:2:2], c.facts...)...)
			if got := s.Deadline(at(c.now)); !got.Equal(at(c.want)) {
				t.Errorf("after %s, want %d s", got.Sub(epoch()), c.want)
			}
		})
	}
}

// TestExpiry: when the wall time will be over if nothing happens.
func TestExpiry(t *testing.T) {
	t.Parallel()
	base := []fact{queued(), started()}
	const never = -1
	for _, c := range []struct {
		name  string
		facts []fact
		want  int
	}{
		{"nothing waits", nil, 60},
		{"a call is in flight", []fact{enter("a", 1)}, 60},
		{"a sleep", []fact{wait("nap", 1), until("nap", 30)}, 90},
		{"the longest of several sleeps", []fact{wait("n1", 1), until("n1", 30), wait("n2", 1), until("n2", 45)}, 105},
		{"a sleep beside a call", []fact{wait("nap", 1), until("nap", 30), enter("a", 1)}, 60},
		{"a sleep that should be over by now", []fact{wait("nap", 1), until("nap", 5)}, 65},
		{"a wait without an end", []fact{wait("w", 1), {step: "w", body: &run.WaitSet{}}}, never},
		{"a wait without an end that is over", []fact{wait("w", 1), {step: "w", body: &run.WaitSet{}}, completed("w"), wait("nap", 1), until("nap", 30)}, 90},
		{"a doubt", []fact{enter("a", 1), doubted("a")}, never},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fold(t, append(base[:2:2], c.facts...)...)
			got := s.Expiry(at(10))
			switch {
			case c.want == never && !got.IsZero():
				t.Errorf("after %s, want never", got.Sub(epoch()))
			case c.want != never && !got.Equal(at(c.want)):
				t.Errorf("after %s, want %d s", got.Sub(epoch()), c.want)
			}
		})
	}
}

func TestWakeAt(t *testing.T) {
	t.Parallel()
	s := fold(t, queued(), started(), wait("n1", 1), until("n1", 30), wait("n2", 1), until("n2", 20), wait("w", 1), fact{step: "w", body: &run.WaitSet{}})
	if got := s.WakeAt(); !got.Equal(at(20)) {
		t.Errorf("wake after %s, want 20 s", got.Sub(epoch()))
	}
	for _, id := range []string{"n2", "n1"} {
		if err := s.Apply(next(s, completed(id))); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.WakeAt(); !got.IsZero() {
		t.Errorf("wake after %s, want never", got.Sub(epoch()))
	}
}

// TestWaitsInAnyOrder: however waits open and end, the first and the last of them
// are found.
func TestWaitsInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, err := run.Fold(journal(queued(), started()))
		if err != nil {
			t.Fatal(err)
		}
		open, next := map[string]int{}, 0
		ids := []string{}
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			if len(ids) > 0 && rapid.IntRange(0, 2).Draw(t, "end") == 2 {
				i := rapid.IntRange(0, len(ids)-1).Draw(t, "which")
				apply(t, s, completed(ids[i]))
				delete(open, ids[i])
				ids = append(ids[:i], ids[i+1:]...)
			} else {
				id := string(rune('A' + next))
				next++
				open[id] = rapid.IntRange(1, 20).Draw(t, "deadline")
				ids = append(ids, id)
				apply(t, s, wait(id, 1))
				apply(t, s, until(id, open[id]))
			}
			checkWaits(t, s, open)
		}
	})
}

func apply(t *rapid.T, s *run.State, f fact) {
	if err := s.Apply(next(s, f)); err != nil {
		t.Fatal(err)
	}
}

func checkWaits(t *rapid.T, s *run.State, open map[string]int) {
	first, last := 0, 0
	for _, deadline := range open {
		if first == 0 || deadline < first {
			first = deadline
		}
		last = max(last, deadline)
	}
	if got := s.WakeAt(); (first == 0) != got.IsZero() || first != 0 && !got.Equal(at(first)) {
		t.Fatalf("wake at %v, want %d s", got, first)
	}
	want := at(60 + last) // the run waits up to the last one, all at its first second
	if got := s.Expiry(epoch()); !got.Equal(want) {
		t.Fatalf("expiry after %s, want %s", got.Sub(epoch()), want.Sub(epoch()))
	}
}

// TestWaitingNeverShortens: whatever the clock does, the deadline never comes nearer.
func TestWaitingNeverShortens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, err := run.Fold(journal(queued(), started(), wait("nap", 1), until("nap", 40)))
		if err != nil {
			t.Fatal(err)
		}
		calls, latest := 0, time.Time{}
		for i := range rapid.IntRange(1, 20).Draw(t, "events") {
			id := string(rune('a' + i))
			ev := next(s, enter(id, 1))
			ev.At = at(rapid.IntRange(0, 80).Draw(t, "at"))
			for _, body := range []run.Body{ev.Body, &run.StepCompleted{Output: run.Raw("1")}} {
				ev.Sequence, ev.Body = s.Last+1, body
				if err := s.Apply(ev); err != nil {
					t.Fatal(err)
				}
				calls++
				deadline := s.Deadline(ev.At)
				if deadline.Before(latest) || deadline.Before(at(60)) || deadline.After(at(100)) {
					t.Fatalf("after %d events the deadline is %s, it was %s", calls, deadline, latest)
				}
				latest = deadline
			}
		}
	})
}
