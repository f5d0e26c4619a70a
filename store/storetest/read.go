package storetest

import (
	"errors"
	"fmt"

	"github.com/culm-dev/culm/store"
	"pgregory.net/rapid"
)

var readTests = map[string]func(*env){
	"NothingIsNotFound": func(e *env) {
		check := func() {
			e.Helper()
			_, err := e.a.Read(e.ctx, "s", 0, 0)
			if _, herr := e.a.Head(e.ctx, "s"); !errors.Is(err, store.ErrNotFound) || !errors.Is(herr, store.ErrNotFound) {
				e.Errorf("read: %v, head: %v", err, herr)
			}
			if _, err := e.a.Mail(e.ctx, "s", 0); !errors.Is(err, store.ErrNotFound) {
				e.Errorf("mail: %v", err)
			}
			if _, err := e.a.Blob(e.ctx, "s", store.BlobID(nil)); !errors.Is(err, store.ErrNotFound) {
				e.Errorf("blob: %v", err)
			}
			if _, err := e.a.Key(e.ctx, "local", "k"); !errors.Is(err, store.ErrNotFound) {
				e.Errorf("key: %v", err)
			}
			if _, err := e.a.Account(e.ctx, "a"); !errors.Is(err, store.ErrNotFound) {
				e.Errorf("account: %v", err)
			}
		}
		check()
		e.create(e.a, "other", 1)
		check()
	},
	"GroupsAreWhatAppendsWere": func(e *env) {
		e.create(e.a, "s", 2)
		var want []store.Group
		want = append(want, store.Group{First: 1, Events: events(0, 2, "made")})
		last := uint64(2)
		for n := 1; n <= 5; n++ {
			evs := events(last, n, "\u00e9\u4e16 \x00 'quoted'")
			e.commit(e.a, batch(store.Append{Stream: "s", Expect: last, Events: evs}))
			want = append(want, store.Group{First: last + 1, Events: evs})
			last += uint64(n)
		}
		if diff := compare(want, e.all(e.b, "s")); diff != "" {
			e.Error(diff)
		}
	},
	"BytesComeBackAsTheyWere": func(e *env) {
		e.create(e.a, "s", 0)
		odd := [][]byte{[]byte("{\x00}"), []byte("\xff\xfe"), []byte(" {} "), []byte("\r"), []byte("{\"a\":\"\u2028\"}")}
		e.commit(e.a, batch(store.Append{Stream: "s", Events: odd}))
		if diff := compare([]store.Group{{First: 1, Events: odd}}, e.all(e.b, "s")); diff != "" {
			e.Error(diff)
		}
	},
	"AfterCutsInsideAGroup": func(e *env) {
		e.create(e.a, "s", 3)
		e.commit(e.a, batch(store.Append{Stream: "s", Expect: 3, Events: events(3, 3, "next")}))
		whole := e.all(e.a, "s")
		for after := range uint64(8) {
			var want []store.Group
			for _, g := range whole {
				skip := min(uint64(len(g.Events)), max(after+1, g.First)-g.First)
				if g.Events = g.Events[skip:]; len(g.Events) > 0 {
					g.First += skip
					want = append(want, g)
				}
			}
			got, err := e.b.Read(e.ctx, "s", after, 1<<20)
			if diff := compare(want, got); err != nil || diff != "" {
				e.Errorf("after %d: %v\n%s", after, err, diff)
			}
		}
	},
	"MaxBytesPagesByWholeGroups": func(e *env) {
		e.create(e.a, "s", 1)
		for last := uint64(1); last < 21; last += 2 {
			e.commit(e.a, batch(store.Append{Stream: "s", Expect: last, Events: events(last, 2, "page")}))
		}
		whole := e.all(e.a, "s")
		size := len(event(10, "page"))
		for _, maxBytes := range []int{1, size, 2 * size, 3 * size, 7 * size, 100 * size} {
			var got []store.Group
			after := uint64(0)
			for {
				page, err := e.b.Read(e.ctx, "s", after, maxBytes)
				if err != nil {
					e.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				if n := len(page); n > 1 && (n-1)*2*(size-1) > maxBytes+2*size {
					e.Errorf("a page of %d groups for %d bytes", n, maxBytes)
				}
				got = append(got, page...)
				after = end(page)
			}
			if diff := compare(whole, got); diff != "" {
				e.Errorf("in pages of %d bytes:\n%s", maxBytes, diff)
			}
		}
	},
	"AnyAppendsComeBack": func(e *env) {
		streams := 0
		rapid.Check(e, func(rt *rapid.T) {
			streams++
			name := fmt.Sprint("s", streams)
			var want []store.Group
			last := uint64(0)
			e.create(e.a, name, 0)
			for range rapid.IntRange(1, 4).Draw(rt, "commits") {
				n := rapid.IntRange(1, 4).Draw(rt, "events")
				evs := events(last, n, rapid.String().Draw(rt, "note"))
				e.commit(e.a, batch(store.Append{Stream: name, Expect: last, Events: evs}))
				want = append(want, store.Group{First: last + 1, Events: evs})
				last += uint64(n)
			}
			if diff := compare(want, e.all(e.b, name)); diff != "" {
				rt.Fatal(diff)
			}
		})
	},
	"Invariant24_ACommitCostsTheSameLater": func(e *env) {
		counter, ok := e.h.(Counter)
		if !ok {
			e.Skip("this store's size cannot be counted")
		}
		e.create(e.a, "s", 0)
		last := uint64(0)
		grow := func(commits int) int64 {
			before := counter.Size(e.T)
			for range commits {
				e.commit(e.a, batch(store.Append{Stream: "s", Expect: last, Events: [][]byte{event(1_000_000+last, "same")}}))
				last++
			}
			return counter.Size(e.T) - before
		}
		grow(100)
		early := grow(500)
		for last < 9_000 {
			e.commit(e.a, batch(store.Append{Stream: "s", Expect: last, Events: events(last, 100, "bulk")}))
			last += 100
		}
		if late := grow(500); early <= 0 || late*2 > early*3 {
			e.Errorf("500 commits took %d at the start and %d after 9,000 events", early, late)
		}
	},
}
