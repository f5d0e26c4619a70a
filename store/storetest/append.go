package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/culm-dev/culm/store"
)

var appendTests = map[string]func(*env){
	"CreateMakesAnOwnedStream": func(e *env) {
		e.create(e.a, "s", 2)
		h := e.head(e.b, "s")
		if h.Last != 2 || h.Stream != "s" || !h.Owner.Alive || h.Owner.Self || h.Owner.Epoch != 1 || h.Owner.ID == "" {
			e.Errorf("seen from another handle: %+v", h)
		}
		if h := e.head(e.a, "s"); !h.Owner.Self || !h.Owner.Alive {
			e.Errorf("seen from the owner: %+v", h.Owner)
		}
		if diff := compare(*row("s"), h.Row); diff != "" {
			e.Errorf("listing row:\n%s", diff)
		}
	},
	"CreateWithoutEventsMakesAnEmptyStream": func(e *env) {
		e.create(e.a, "s", 0)
		if h := e.head(e.b, "s"); h.Last != 0 || h.CheckpointAt != 0 || h.Checkpoint != nil {
			e.Errorf("head: %+v", h)
		}
		e.commit(e.a, batch(store.Append{Stream: "s", Events: events(0, 1, "first")}))
	},
	"CreateRefusesWhatExists": func(e *env) {
		e.create(e.a, "s", 1)
		e.refused(e.b, batch(store.Append{Stream: "s", Create: true, Row: row("s"), Events: events(0, 1, "other")}), store.ErrExists, "s")
		e.refused(e.a, batch(store.Append{Stream: "s", Create: true, Row: row("s")}), store.ErrExists, "s")
	},
	"AppendToNothingIsNotFound": func(e *env) {
		e.refused(e.a, batch(store.Append{Stream: "s", Events: events(0, 1, "x")}), store.ErrNotFound)
		e.create(e.a, "other", 1)
		e.refused(e.a, batch(store.Append{Stream: "s", Events: events(0, 1, "x")}), store.ErrNotFound)
	},
	"WrongExpectIsAConflict": func(e *env) {
		e.create(e.a, "s", 2)
		for _, expect := range []uint64{0, 1, 3, 1 << 63} {
			e.refused(e.a, batch(store.Append{Stream: "s", Expect: expect, Events: events(expect, 1, "wrong")}), store.ErrConflict, "s")
		}
		e.commit(e.a, batch(store.Append{Stream: "s", Expect: 2, Events: events(2, 1, "right")}))
	},
	"SameBytesAgainAreNoError": func(e *env) {
		create := batch(store.Append{Stream: "s", Create: true, Row: row("s"), Events: events(0, 2, "made")})
		next := batch(store.Append{Stream: "s", Expect: 2, Events: events(2, 2, "next")})
		next.Spends = []store.Spend{{Account: "acc", Limits: map[string]int64{"steps": 10}, Amounts: map[string]int64{"steps": 3}}}
		next.Posts = []store.Post{{Stream: "s", ID: "m", Body: []byte("hello")}}
		next.Keys = []store.KeyRecord{{Scope: "local", Key: "k", Hash: "h", Stream: "s", At: epoch()}}
		e.commit(e.a, create)
		e.commit(e.a, next)
		before := e.head(e.a, "s")
		for range 2 {
			e.commit(e.a, next)
			e.commit(e.a, create)
		}
		if diff := compare(before, e.head(e.a, "s")); diff != "" {
			e.Errorf("a repeated commit changed the stream:\n%s", diff)
		}
		if acc, err := e.a.Account(e.ctx, "acc"); err != nil || acc.Spent["steps"] != 3 {
			e.Errorf("a repeated commit spent again: %+v, %v", acc, err)
		}
		if mail, err := e.a.Mail(e.ctx, "s", 0); err != nil || len(mail) != 1 {
			e.Errorf("a repeated commit posted again: %v, %v", mail, err)
		}
	},
	"SameBytesAgainAfterRelease": func(e *env) {
		e.create(e.a, "s", 1)
		last := batch(store.Append{Stream: "s", Expect: 1, Events: events(1, 1, "end"), Release: true})
		e.commit(e.a, last)
		e.commit(e.a, last)
	},
	"OtherBytesAreAConflict": func(e *env) {
		e.create(e.a, "s", 1)
		e.commit(e.a, batch(store.Append{Stream: "s", Expect: 1, Events: events(1, 2, "mine")}))
		e.refused(e.a, batch(store.Append{Stream: "s", Expect: 1, Events: events(1, 2, "else")}), store.ErrConflict, "s")
		e.refused(e.a, batch(store.Append{Stream: "s", Expect: 1, Events: events(1, 1, "mine")}), store.ErrConflict, "s")
		e.refused(e.a, batch(store.Append{Stream: "s", Expect: 2, Events: events(2, 1, "mine")}), store.ErrConflict, "s")
	},
	"HalfARepetitionIsAConflict": func(e *env) {
		e.create(e.a, "s", 1)
		e.create(e.a, "r", 1)
		e.commit(e.a, batch(store.Append{Stream: "s", Expect: 1, Events: events(1, 1, "mine")}))
		e.refused(e.a, batch(
			store.Append{Stream: "s", Expect: 1, Events: events(1, 1, "mine")},
			store.Append{Stream: "r", Expect: 1, Events: events(1, 1, "mine")}), store.ErrConflict, "s", "r")
	},
	"AppendWithoutEventsChangesTheRow": func(e *env) {
		e.create(e.a, "s", 1)
		r := row("s")
		r.Status, r.Suspension, r.InDoubt, r.Labels = "suspended", "in_doubt", true, map[string]string{"a": "b"}
		r.WakeAt = epoch().AddDate(400, 0, 0)
		e.commit(e.a, batch(store.Append{Stream: "s", Expect: 1, Row: r}))
		h := e.head(e.b, "s")
		if diff := compare(*r, h.Row); diff != "" || h.Last != 1 {
			e.Errorf("last %d, row:\n%s", h.Last, diff)
		}
		e.refused(e.a, batch(store.Append{Stream: "s", Expect: 0, Row: row("s")}), store.ErrConflict, "s")
	},
	"MalformedBatchesAreRefused": func(e *env) {
		e.create(e.a, "s", 1)
		zero := uint64(0)
		for name, b := range map[string]*store.Batch{
			"line feed":     batch(store.Append{Stream: "s", Expect: 1, Events: [][]byte{[]byte("{\n}")}}),
			"empty event":   batch(store.Append{Stream: "s", Expect: 1, Events: [][]byte{{}}}),
			"twice":         batch(store.Append{Stream: "s", Expect: 1}, store.Append{Stream: "s", Expect: 1}),
			"no row":        batch(store.Append{Stream: "t", Create: true}),
			"foreign row":   batch(store.Append{Stream: "s", Expect: 1, Row: row("t")}),
			"taken twice":   batch(store.Append{Stream: "s", Expect: 1, TakeMail: []uint64{1, 1}, IfNoMailAfter: &zero}),
			"misnamed blob": {Blobs: []store.NewBlob{{Stream: "s", ID: "00", Data: []byte("x")}}},
		} {
			if err := e.a.Commit(e.ctx, b); err == nil {
				e.Errorf("%s: accepted", name)
			}
		}
		if h := e.head(e.a, "s"); h.Last != 1 {
			e.Errorf("a malformed batch changed the stream: %+v", h)
		}
	},
	"CheckpointIsReplacedAndDatedByItsAppend": func(e *env) {
		e.create(e.a, "s", 1)
		e.commit(e.a, batch(store.Append{Stream: "s", Expect: 1, Events: events(1, 3, "x"), Checkpoint: []byte("one")}))
		e.commit(e.a, batch(store.Append{Stream: "s", Expect: 4, Events: events(4, 1, "x")}))
		if h := e.head(e.b, "s"); string(h.Checkpoint) != "one" || h.CheckpointAt != 4 || h.Last != 5 {
			e.Errorf("head: %+v", h)
		}
		e.commit(e.a, batch(store.Append{Stream: "s", Expect: 5, Checkpoint: []byte("two")}))
		if h := e.head(e.b, "s"); string(h.Checkpoint) != "two" || h.CheckpointAt != 5 {
			e.Errorf("head: %+v", h)
		}
	},
	// Two appends of one sequence through the owner's own handle; with two
	// handles it is the claim that decides, see ownTests.
	"Invariant3_OneOfTwoWritersOfASequenceWins": func(e *env) {
		e.create(e.a, "s", 1)
		for round := range 100 {
			last := uint64(round + 1)
			var errs [2]error
			var wg sync.WaitGroup
			for i := range errs {
				wg.Go(func() {
					errs[i] = e.a.Commit(e.ctx, batch(store.Append{Stream: "s", Expect: last, Events: events(last, 1, fmt.Sprint("writer ", i))}))
				})
			}
			wg.Wait()
			won := 0
			for _, err := range errs {
				if err == nil {
					won++
				} else if !errors.Is(err, store.ErrConflict) {
					e.Fatalf("the loser got %v", err)
				}
			}
			if won != 1 {
				e.Fatalf("round %d: %d writers won", round, won)
			}
		}
		if got := end(e.all(e.b, "s")); got != 101 {
			e.Errorf("the journal ends at %d", got)
		}
	},
}
