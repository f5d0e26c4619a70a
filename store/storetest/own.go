package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/culm-dev/culm/store"
)

// take is the append that takes a stream over.
func take(c store.Claim, last uint64, note string) *store.Batch {
	return batch(store.Append{Stream: c.Stream(), Expect: last, Claim: c, Events: events(last, 1, note)})
}

var ownTests = map[string]func(*env){
	"OnlyTheOwnerAppends": func(e *env) {
		e.create(e.a, "s", 1)
		e.refused(e.b, batch(store.Append{Stream: "s", Expect: 1, Events: events(1, 1, "x")}), store.ErrNotOwner, "s")
		e.refused(e.b, batch(store.Append{Stream: "s", Expect: 1, Row: row("s")}), store.ErrNotOwner, "s")
		e.refused(e.b, batch(store.Append{Stream: "s", Expect: 1, Release: true}), store.ErrNotOwner, "s")
	},
	"ALivingOwnerIsNotTakenFrom": func(e *env) {
		e.create(e.a, "s", 1)
		for _, s := range []store.Store{e.a, e.b} {
			if _, err := s.Claim(e.ctx, "s"); !matches(err, store.ErrOwned) {
				e.Errorf("claim: %v", err)
			}
		}
		if _, err := e.a.Claim(e.ctx, "none"); !matches(err, store.ErrNotFound) {
			e.Errorf("claim of nothing: %v", err)
		}
	},
	"ADeadOwnerIsSeenAtOnceAndTakenFrom": func(e *env) {
		e.create(e.a, "s", 1)
		e.h.Kill(e.T, e.a)
		if h := e.head(e.b, "s"); h.Owner.Alive || h.Owner.ID == "" || h.Owner.Self {
			e.Fatalf("owner: %+v", h.Owner)
		}
		c := e.claim(e.b, "s")
		if h := e.head(e.b, "s"); h.Owner.Alive || h.Owner.Epoch != 1 || h.Last != 1 {
			e.Errorf("a claim changed the stream: %+v", h)
		}
		e.commit(e.b, take(c, 1, "taken"))
		c.Close()
		if h := e.head(e.b, "s"); !h.Owner.Self || h.Owner.Epoch != 2 || h.Last != 2 {
			e.Errorf("head: %+v", h)
		}
		e.commit(e.b, batch(store.Append{Stream: "s", Expect: 2, Events: events(2, 1, "on")}))
	},
	"ACleanCloseLeavesADeadOwner": func(e *env) {
		e.create(e.a, "s", 1)
		if err := e.a.Close(); err != nil {
			e.Fatal(err)
		}
		if h := e.head(e.b, "s"); h.Owner.Alive || h.Owner.ID == "" {
			e.Errorf("owner: %+v", h.Owner)
		}
		e.claim(e.b, "s")
	},
	"ReleaseLeavesNobody": func(e *env) {
		e.create(e.a, "s", 1)
		e.commit(e.a, batch(store.Append{Stream: "s", Expect: 1, Events: events(1, 1, "x"), Release: true}))
		if h := e.head(e.b, "s"); h.Owner.ID != "" || h.Owner.Alive || h.Last != 2 {
			e.Errorf("head: %+v", h)
		}
		e.refused(e.a, batch(store.Append{Stream: "s", Expect: 2, Events: events(2, 1, "x")}), store.ErrNotOwner, "s")
		c := e.claim(e.b, "s")
		e.commit(e.b, take(c, 2, "taken"))
		if h := e.head(e.b, "s"); !h.Owner.Self || h.Owner.Epoch != 2 {
			e.Errorf("owner: %+v", h.Owner)
		}
	},
	"AClaimMayReleaseInItsCommit": func(e *env) {
		e.create(e.a, "s", 1)
		e.h.Kill(e.T, e.a)
		b := take(e.claim(e.b, "s"), 1, "moment")
		b.Appends[0].Release = true
		e.commit(e.b, b)
		if h := e.head(e.b, "s"); h.Owner.ID != "" || h.Owner.Epoch != 2 || h.Last != 2 {
			e.Errorf("head: %+v", h)
		}
	},
	"ClaimsExcludeEachOther": func(e *env) {
		e.create(e.a, "dead", 1)
		e.create(e.a, "free", 1)
		e.commit(e.a, batch(store.Append{Stream: "free", Expect: 1, Release: true}))
		e.h.Kill(e.T, e.a)
		other := e.h.Open(e.T)
		for _, name := range []string{"dead", "free"} {
			c := e.claim(e.b, name)
			for _, s := range []store.Store{e.b, other} {
				if _, err := s.Claim(e.ctx, name); !matches(err, store.ErrOwned) {
					e.Errorf("a second claim of %s: %v", name, err)
				}
			}
			c.Close()
			c.Close()
			e.claim(other, name).Close()
		}
	},
	"ClaimsOfOneDeadOwnersStreamsDoNotExcludeEachOther": func(e *env) {
		e.create(e.a, "s", 1)
		e.create(e.a, "r", 1)
		e.h.Kill(e.T, e.a)
		other := e.h.Open(e.T)
		s, r := e.claim(e.b, "s"), e.claim(other, "r")
		e.commit(e.b, take(s, 1, "x"))
		e.commit(other, take(r, 1, "x"))
	},
	"AClosedOrForeignClaimIsWorthNothing": func(e *env) {
		e.create(e.a, "s", 1)
		e.h.Kill(e.T, e.a)
		other := e.h.Open(e.T)
		c := e.claim(e.b, "s")
		e.refused(other, take(c, 1, "foreign"), store.ErrNotOwner, "s")
		c.Close()
		e.refused(e.b, take(c, 1, "closed"), store.ErrNotOwner, "s")
		e.claim(e.b, "s")
	},
	"ARefusedClaimCommitCanBeTriedAgain": func(e *env) {
		e.create(e.a, "s", 1)
		e.h.Kill(e.T, e.a)
		c := e.claim(e.b, "s")
		e.refused(e.b, take(c, 7, "wrong"), store.ErrConflict, "s")
		e.commit(e.b, take(c, 1, "right"))
		e.commit(e.b, take(c, 1, "right"))
		e.refused(e.b, take(c, 2, "twice"), store.ErrNotOwner, "s")
	},
	"AnOldOwnerIsRefused": func(e *env) {
		e.create(e.a, "s", 1)
		e.commit(e.a, batch(store.Append{Stream: "s", Expect: 1, Release: true}))
		c := e.claim(e.b, "s")
		e.commit(e.b, take(c, 1, "taken"))
		c.Close()
		e.refused(e.a, batch(store.Append{Stream: "s", Expect: 2, Events: events(2, 1, "late")}), store.ErrNotOwner, "s")
	},
	"OwnershipGoesBackAndForth": func(e *env) {
		e.create(e.a, "s", 0)
		last := uint64(0)
		for range 5 {
			for _, pair := range [][2]store.Store{{e.a, e.b}, {e.b, e.a}} {
				e.commit(pair[0], batch(store.Append{Stream: "s", Expect: last, Release: true}))
				c := e.claim(pair[1], "s")
				e.commit(pair[1], take(c, last, "hop"))
				c.Close()
				last++
			}
		}
		if h := e.head(e.b, "s"); h.Owner.Epoch != 11 || h.Last != 10 {
			e.Errorf("head: %+v", h)
		}
	},
	// Two handles race for a stream whose owner is dead: both do all that is
	// needed, one gets it.
	"Invariant3_OneOfTwoHandlesTakesOver": func(e *env) {
		for round := range 100 {
			name := fmt.Sprint("s", round)
			victim := e.h.Open(e.T)
			e.create(victim, name, 1)
			e.h.Kill(e.T, victim)
			if won := e.race(name, e.a, e.b); won != 1 {
				e.Fatalf("round %d: %d handles won", round, won)
			}
			if h := e.head(e.a, name); h.Last != 2 || h.Owner.Epoch != 2 || !h.Owner.Alive {
				e.Fatalf("round %d: %+v", round, h)
			}
			if groups := e.all(e.b, name); len(groups) != 2 || end(groups) != 2 {
				e.Fatalf("round %d: %+v", round, groups)
			}
		}
	},
	"Invariant9_OneOfSixteenClaimsWins": func(e *env) {
		e.create(e.a, "s", 1)
		e.h.Kill(e.T, e.a)
		stores := make([]store.Store, 16)
		for i := range stores {
			stores[i] = e.h.Open(e.T)
		}
		if won := e.race("s", stores...); won != 1 {
			e.Errorf("%d handles won", won)
		}
	},
}

// race lets handles claim and take a stream at once, and counts who got it.
func (e *env) race(stream string, stores ...store.Store) int64 {
	e.Helper()
	var won atomic.Int64
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i, s := range stores {
		wg.Go(func() {
			<-start
			c, err := s.Claim(e.ctx, stream)
			if err != nil {
				if !matches(err, store.ErrOwned) {
					e.Errorf("claim: %v", err)
				}
				return
			}
			defer c.Close()
			if err := s.Commit(e.ctx, take(c, 1, fmt.Sprint("by ", i))); err != nil {
				e.Errorf("commit of the claim: %v", err)
				return
			}
			won.Add(1)
		})
	}
	close(start)
	wg.Wait()
	return won.Load()
}
