package storetest

import (
	"time"

	"github.com/culm-dev/culm/store"
)

// signalled waits for a signal. A watcher that is never told fails the test by
// its deadline; how soon it is told is a promise that only a clock could test.
func (e *env) signalled(ch <-chan struct{}, what string) {
	e.Helper()
	select {
	case <-ch:
	case <-time.After(20 * time.Second):
		e.Fatalf("no signal of %s", what)
	}
}

// settle takes signals without cause, which a fresh watch may get, until one
// caused by a change of its own stream has surely come.
func (e *env) settle(s store.Store, ch <-chan struct{}, stream string, last uint64) {
	e.Helper()
	e.commit(s, batch(store.Append{Stream: stream, Expect: last, Events: events(last, 1, "settle")}))
	e.signalled(ch, "a commit")
}

var watchTests = map[string]func(*env){
	"OwnCommitsSignal": func(e *env) {
		e.create(e.a, "s", 1)
		ch, stop := e.a.Watch("s")
		defer stop()
		for last := range uint64(5) {
			e.settle(e.a, ch, "s", last+1)
		}
		e.commit(e.a, post("s", "m", "x"))
		e.signalled(ch, "own mail")
	},
	"OtherHandlesCommitsSignal": func(e *env) {
		e.create(e.a, "s", 1)
		ch, stop := e.b.Watch("s")
		defer stop()
		for last := range uint64(5) {
			e.settle(e.a, ch, "s", last+1)
		}
	},
	"OtherHandlesMailSignals": func(e *env) {
		e.create(e.a, "s", 1)
		ch, stop := e.a.Watch("s")
		defer stop()
		for _, id := range []string{"m1", "m2", "m3"} {
			e.commit(e.b, post("s", id, "x"))
			// Signals coalesce and come without cause, so look, as a user does.
			for n := 0; n == 0; {
				e.signalled(ch, "mail")
				mail, err := e.a.Mail(e.ctx, "s", 0)
				if err != nil {
					e.Fatal(err)
				}
				for _, m := range mail {
					if m.ID == id {
						n++
					}
				}
			}
			mail, err := e.a.Mail(e.ctx, "s", 0)
			if err != nil || len(mail) != 1 {
				e.Fatalf("mail: %+v, %v", mail, err)
			}
			e.commit(e.a, batch(store.Append{Stream: "s", Expect: e.head(e.a, "s").Last, Events: events(e.head(e.a, "s").Last, 1, "moved"), TakeMail: []uint64{mail[0].Number}}))
		}
	},
	"AWatchMayComeBeforeTheStream": func(e *env) {
		ch, stop := e.b.Watch("s")
		defer stop()
		e.create(e.a, "s", 1)
		e.signalled(ch, "the creation")
	},
	"EveryWatcherIsTold": func(e *env) {
		e.create(e.a, "s", 1)
		one, stop1 := e.b.Watch("s")
		two, stop2 := e.b.Watch("s")
		defer stop2()
		e.settle(e.a, one, "s", 1)
		e.signalled(two, "a commit")
		stop1()
		stop1()
		e.settle(e.a, two, "s", 2)
	},
	"SignalsCoalesceAndSendersDoNotWait": func(e *env) {
		e.create(e.a, "s", 0)
		ch, stop := e.a.Watch("s")
		defer stop()
		for last := range uint64(20) {
			e.commit(e.a, batch(store.Append{Stream: "s", Expect: last, Events: events(last, 1, "x")}))
		}
		if cap(ch) != 1 {
			e.Errorf("the channel holds %d", cap(ch))
		}
		e.signalled(ch, "twenty commits")
	},
}
