package storetest

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/culm-dev/culm/store"
)

// copyTests are those of copies of a whole store.
var copyTests = map[string]func(*env){
	"ABackupIsTheStoreAtOneMoment": func(e *env) {
		k, _ := e.keeper(e.a), e.copier()
		e.full(e.a, "s")
		e.full(e.b, "t")
		last := uint64(0)
		e.create(e.b, "busy", 0)
		stop, done := make(chan struct{}), make(chan struct{})
		go func() { // both streams move in one commit
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := e.b.Commit(e.ctx, &store.Batch{
					Appends: []store.Append{
						{Stream: "busy", Expect: last, Events: events(last, 1, "busy")},
						{Stream: "t", Expect: last + 5, Events: events(last+5, 1, "busy")},
					},
				})
				if err != nil {
					e.Errorf("commit beside a backup: %v", err)
					return
				}
				last++
			}
		}()
		halt := sync.OnceFunc(func() { close(stop); <-done })
		defer halt()
		c := e.copied(func(path string) error { return k.Backup(e.ctx, path) })
		halt()
		e.same(e.a, c, "s")
		busy, t := e.all(c, "busy"), e.all(c, "t")
		n := uint64(0)
		if len(busy) > 0 {
			n = end(busy)
		}
		if n > last || end(t) != n+5 {
			e.Errorf("the copy has %d and %d events of %d", n, end(t), last)
		}
		for i, g := range busy {
			if diff := compare(store.Group{First: uint64(i) + 1, Events: events(uint64(i), 1, "busy")}, g); diff != "" {
				e.Error(diff)
			}
		}
		if _, err := c.Key(e.ctx, "local", "key of t"); err != nil {
			e.Error(err)
		}
		if h := e.head(c, "s"); h.Owner.Alive || string(h.Checkpoint) != "c" {
			e.Errorf("head in the copy: %+v", h)
		}
	},
	"ABackupIsAStoreOfItsOwn": func(e *env) {
		k := e.keeper(e.a)
		e.full(e.a, "s")
		path := ""
		c := e.copied(func(p string) error { path = p; return k.Backup(e.ctx, p) })
		was, err := k.Identity(e.ctx)
		is, cerr := e.keeper(c).Identity(e.ctx)
		if err != nil || cerr != nil {
			e.Fatal(err, cerr)
		}
		if was.Generation == "" || was.Copied != "" || !was.CopiedAt.IsZero() || was.Size <= 0 || was.Format < was.Oldest {
			e.Errorf("identity: %+v", was)
		}
		if is.Generation == was.Generation || is.Copied != was.Generation || is.CopiedAt.Before(epoch()) {
			e.Errorf("identity of the copy: %+v", is)
		}
		// They go their own ways.
		e.commit(c, batch(store.Append{Stream: "s", Claim: e.claim(c, "s"), Expect: 5, Events: events(5, 1, "there")}))
		e.commit(e.a, batch(store.Append{Stream: "s", Expect: 5, Events: events(5, 2, "here")}))
		if a, b := e.head(e.a, "s"), e.head(c, "s"); a.Last != 7 || b.Last != 6 {
			e.Errorf("they end at %d and %d", a.Last, b.Last)
		}
		if err := k.Backup(e.ctx, path); !errors.Is(err, fs.ErrExist) {
			e.Errorf("back up over a backup: %v", err)
		}
		third := e.copied(func(p string) error { return e.keeper(c).Backup(e.ctx, p) })
		if id, err := e.keeper(third).Identity(e.ctx); err != nil || id.Copied != is.Generation {
			e.Errorf("identity of the copy's copy: %+v, %v", id, err)
		}
	},
	"NothingIsNotBackedUp": func(e *env) {
		k := e.keeper(e.a)
		path := filepath.Join(e.TempDir(), "copy")
		if err := k.Backup(e.ctx, path); !errors.Is(err, store.ErrNotFound) && !errors.Is(err, errors.ErrUnsupported) {
			e.Errorf("back nothing up: %v", err)
		}
		if found := e.examine(k); len(found) > 0 {
			e.Errorf("found %q", found)
		}
		if _, err := k.Compact(e.ctx); err != nil {
			e.Errorf("compact nothing: %v", err)
		}
		if _, err := k.Identity(e.ctx); err != nil {
			e.Errorf("identity: %v", err)
		}
	},
	"SalvageOfAWholeStoreIsACopy": func(e *env) {
		k := e.keeper(e.a)
		e.full(e.a, "s")
		e.full(e.b, "t")
		e.commit(e.a, &store.Batch{Spends: []store.Spend{{Account: "shared", Limits: units{"x": 5}, Amounts: units{"x": 2}}}})
		saved := map[string]store.Salvaged{}
		c := e.copied(func(path string) error {
			return k.Salvage(e.ctx, path, func(s store.Salvaged) { saved[s.Stream] = s })
		})
		want := map[string]store.Salvaged{"s": {Stream: "s", Events: 5}, "t": {Stream: "t", Events: 5}}
		if diff := compare(want, saved); diff != "" {
			e.Errorf("saved:\n%s", diff)
		}
		e.same(e.a, c, "s")
		e.same(e.a, c, "t")
		if _, err := c.Key(e.ctx, "local", "key of s"); err != nil {
			e.Error(err)
		}
		if a, err := c.Account(e.ctx, "shared"); err != nil || a.Spent["x"] != 2 {
			e.Errorf("account: %+v, %v", a, err)
		}
		if id, err := e.keeper(c).Identity(e.ctx); err != nil || id.Copied == "" {
			e.Errorf("identity: %+v, %v", id, err)
		}
		if found := e.examine(e.keeper(c)); len(found) > 0 {
			e.Errorf("found %q", found)
		}
	},
}
