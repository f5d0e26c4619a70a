package storetest

import (
	"context"
	"fmt"
	"sync"

	"github.com/culm-dev/culm/store"
)

var handleTests = map[string]func(*env){
	"WhatIsCommittedIsThereForANewHandle": func(e *env) {
		e.create(e.a, "s", 3)
		e.h.Kill(e.T, e.a)
		if err := e.b.Close(); err != nil {
			e.Fatal(err)
		}
		if got := end(e.all(e.h.Open(e.T), "s")); got != 3 {
			e.Errorf("%d events", got)
		}
	},
	"AClosedHandleRefusesEverything": func(e *env) {
		e.create(e.a, "s", 1)
		if err := e.a.Close(); err != nil {
			e.Fatal(err)
		}
		if err := e.a.Close(); err != nil {
			e.Errorf("second close: %v", err)
		}
		e.closed(e.a)
	},
	"AKilledHandleCommitsNothing": func(e *env) {
		e.create(e.a, "s", 1)
		e.h.Kill(e.T, e.a)
		if err := e.a.Commit(e.ctx, batch(store.Append{Stream: "s", Expect: 1, Events: events(1, 1, "late")})); !matches(err, store.ErrClosed) {
			e.Errorf("commit: %v", err)
		}
		if h := e.head(e.b, "s"); h.Last != 1 {
			e.Errorf("head: %+v", h)
		}
	},
	"CloseWithWatchersAndWithoutUse": func(e *env) {
		_, stop := e.a.Watch("s")
		if err := e.a.Close(); err != nil {
			e.Error(err)
		}
		stop()
		if err := e.b.Close(); err != nil {
			e.Error(err)
		}
	},
	"ACallerThatIsGoneCommitsNothing": func(e *env) {
		e.create(e.a, "s", 1)
		ctx, cancel := context.WithCancel(e.ctx)
		cancel()
		if err := e.a.Commit(ctx, batch(store.Append{Stream: "s", Expect: 1, Events: events(1, 1, "x")})); !matches(err, context.Canceled) {
			e.Errorf("commit: %v", err)
		}
		if h := e.head(e.a, "s"); h.Last != 1 {
			e.Errorf("head: %+v", h)
		}
	},
	// Callers go away at any moment: what each was told is what is there.
	"ACallerThatGoesAwayIsToldTheTruth": func(e *env) {
		const callers = 8
		for i := range callers {
			e.create(e.a, fmt.Sprint("s", i), 0)
		}
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				name := fmt.Sprint("s", i)
				last := uint64(0)
				for range 25 {
					ctx, cancel := context.WithCancel(e.ctx)
					go cancel()
					err := e.a.Commit(ctx, batch(store.Append{Stream: name, Expect: last, Events: events(last, 1, "x")}))
					if err == nil {
						last++
					} else if !matches(err, context.Canceled) {
						e.Errorf("commit: %v", err)
					}
					if h, err := e.a.Head(e.ctx, name); err != nil || h.Last != last {
						e.Errorf("told %d, head %+v, %v", last, h, err)
						return
					}
				}
			})
		}
		wg.Wait()
	},
}

// closed checks that every call on a handle says that it is closed.
func (e *env) closed(s store.Store) {
	e.Helper()
	_, read := s.Read(e.ctx, "s", 0, 0)
	_, head := s.Head(e.ctx, "s")
	_, blob := s.Blob(e.ctx, "s", store.BlobID(nil))
	_, claim := s.Claim(e.ctx, "s")
	_, mail := s.Mail(e.ctx, "s", 0)
	_, account := s.Account(e.ctx, "a")
	_, key := s.Key(e.ctx, "local", "k")
	_, list := s.List(e.ctx, store.Query{})
	for name, err := range map[string]error{
		"commit": s.Commit(e.ctx, post("s", "m", "x")),
		"read":   read, "head": head, "blob": blob, "claim": claim, "mail": mail, "account": account, "key": key, "list": list,
	} {
		if !matches(err, store.ErrClosed) {
			e.Errorf("%s: %v", name, err)
		}
	}
	_, stop := s.Watch("s")
	stop()
}
