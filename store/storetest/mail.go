package storetest

import (
	"fmt"
	"sync"

	"github.com/culm-dev/culm/store"
)

func post(stream, id, body string) *store.Batch {
	return &store.Batch{Posts: []store.Post{{Stream: stream, ID: id, Body: []byte(body)}}}
}

var mailTests = map[string]func(*env){
	"AnyonePosts": func(e *env) {
		e.create(e.a, "s", 1)
		e.commit(e.b, post("s", "m1", "one"))
		e.commit(e.a, post("s", "m2", ""))
		mail, err := e.a.Mail(e.ctx, "s", 0)
		if err != nil || len(mail) != 2 {
			e.Fatalf("mail: %+v, %v", mail, err)
		}
		if mail[0].ID != "m1" || string(mail[0].Body) != "one" || mail[0].At.IsZero() || mail[1].ID != "m2" || len(mail[1].Body) != 0 {
			e.Errorf("mail: %+v", mail)
		}
		if mail[0].Number == 0 || mail[1].Number <= mail[0].Number {
			e.Errorf("numbers %d, %d do not grow", mail[0].Number, mail[1].Number)
		}
		later, err := e.b.Mail(e.ctx, "s", mail[0].Number)
		if err != nil || len(later) != 1 || later[0].ID != "m2" {
			e.Errorf("after the first: %+v, %v", later, err)
		}
		if h := e.head(e.b, "s"); h.Last != 1 {
			e.Errorf("mail moved the journal: %+v", h)
		}
	},
	"PostNeedsTheStream": func(e *env) {
		e.refused(e.a, post("s", "m", "x"), store.ErrNotFound)
		e.create(e.a, "other", 1)
		e.refused(e.a, post("s", "m", "x"), store.ErrNotFound)
	},
	"SameIDAndBodyIsOneMessage": func(e *env) {
		e.create(e.a, "s", 0)
		for range 3 {
			e.commit(e.b, post("s", "m", "x"))
			e.commit(e.a, post("s", "m", "x"))
		}
		b := post("s", "n", "x")
		b.Posts = append(b.Posts, b.Posts[0])
		e.commit(e.b, b)
		mail, err := e.a.Mail(e.ctx, "s", 0)
		if err != nil || len(mail) != 2 {
			e.Errorf("mail: %+v, %v", mail, err)
		}
	},
	"OtherBodyUnderTheIDIsRefused": func(e *env) {
		e.create(e.a, "s", 0)
		e.commit(e.b, post("s", "m", "x"))
		e.refused(e.b, post("s", "m", "y"), store.ErrMailConflict, "s")
		b := post("s", "n", "x")
		b.Posts = append(b.Posts, store.Post{Stream: "s", ID: "n", Body: []byte("y")})
		e.refused(e.b, b, store.ErrMailConflict, "s")
	},
	"TheIDIsRememberedAfterTheMailWasTaken": func(e *env) {
		e.create(e.a, "s", 0)
		e.commit(e.b, post("s", "m", "x"))
		n := e.onlyMail("s")
		e.commit(e.a, batch(store.Append{Stream: "s", Events: events(0, 1, "moved"), TakeMail: []uint64{n}}))
		e.commit(e.b, post("s", "m", "x"))
		e.refused(e.b, post("s", "m", "y"), store.ErrMailConflict, "s")
		if mail, err := e.a.Mail(e.ctx, "s", 0); err != nil || len(mail) != 0 {
			e.Errorf("mail: %+v, %v", mail, err)
		}
		e.commit(e.b, post("s", "m2", "x"))
		if later := e.onlyMail("s"); later <= n {
			e.Errorf("number %d was given again, after %d", later, n)
		}
	},
	"MailIsTakenOnce": func(e *env) {
		e.create(e.a, "s", 0)
		e.commit(e.b, post("s", "m", "x"))
		n := e.onlyMail("s")
		e.commit(e.a, batch(store.Append{Stream: "s", Events: events(0, 1, "moved"), TakeMail: []uint64{n}}))
		e.refused(e.a, batch(store.Append{Stream: "s", Expect: 1, Events: events(1, 1, "again"), TakeMail: []uint64{n}}), store.ErrConflict, "s")
	},
	"MailboxesAreApart": func(e *env) {
		e.create(e.a, "s", 0)
		e.create(e.a, "r", 0)
		e.commit(e.b, post("s", "m", "x"))
		e.commit(e.b, post("r", "m", "y"))
		n := e.onlyMail("s")
		e.commit(e.a, batch(store.Append{Stream: "s", TakeMail: []uint64{n}}))
		if mail, err := e.a.Mail(e.ctx, "r", 0); err != nil || len(mail) != 1 || string(mail[0].Body) != "y" {
			e.Errorf("mail of r: %+v, %v", mail, err)
		}
	},
	"IfNoMailAfter": func(e *env) {
		e.create(e.a, "s", 0)
		zero := uint64(0)
		e.commit(e.a, batch(store.Append{Stream: "s", Events: events(0, 1, "x"), IfNoMailAfter: &zero}))
		e.commit(e.b, post("s", "m", "x"))
		n := e.onlyMail("s")
		below := n - 1
		blocked := batch(store.Append{Stream: "s", Expect: 1, Events: events(1, 1, "x"), IfNoMailAfter: &below})
		e.refused(e.a, blocked, store.ErrMailWaiting, "s")
		e.commit(e.a, batch(store.Append{Stream: "s", Expect: 1, Events: events(1, 1, "seen"), IfNoMailAfter: &n}))
		e.commit(e.a, batch(store.Append{Stream: "s", Expect: 2, Events: events(2, 1, "taken"), TakeMail: []uint64{n}}))
		e.commit(e.a, batch(store.Append{Stream: "s", Expect: 3, Events: events(3, 1, "x"), IfNoMailAfter: &zero}))
	},
	// A post and a commit that allows for none, at once: if the commit went
	// through, the post came after it.
	"NoMailSlipsByIfNoMailAfter": func(e *env) {
		e.create(e.a, "s", 0)
		last, seen := uint64(0), uint64(0)
		for round := range 50 {
			var err error
			var wg sync.WaitGroup
			wg.Go(func() { e.commit(e.b, post("s", fmt.Sprint("m", round), "x")) })
			wg.Go(func() {
				err = e.a.Commit(e.ctx, batch(store.Append{Stream: "s", Expect: last, Events: events(last, 1, "x"), IfNoMailAfter: &seen}))
			})
			wg.Wait()
			if err == nil {
				last++
			} else if !matches(err, store.ErrMailWaiting) {
				e.Fatal(err)
			}
			mail, merr := e.a.Mail(e.ctx, "s", seen)
			if merr != nil || len(mail) != 1 {
				e.Fatalf("mail: %+v, %v", mail, merr)
			}
			e.refused(e.a, batch(store.Append{Stream: "s", Expect: last, Events: events(last, 1, "y"), IfNoMailAfter: &seen}), store.ErrMailWaiting, "s")
			seen = mail[0].Number
		}
	},
}

func (e *env) onlyMail(stream string) uint64 {
	e.Helper()
	mail, err := e.a.Mail(e.ctx, stream, 0)
	if err != nil || len(mail) != 1 {
		e.Fatalf("mail: %+v, %v", mail, err)
	}
	return mail[0].Number
}
