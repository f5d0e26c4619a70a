package storetest

import (
	"fmt"
	"sync"

	"github.com/culm-dev/culm/store"
)

var atomicTests = map[string]func(*env){
	"SeveralStreamsShareACommit": func(e *env) {
		e.commit(e.a, batch(
			store.Append{Stream: "s", Create: true, Row: row("s"), Events: events(0, 1, "x")},
			store.Append{Stream: "r", Create: true, Row: row("r"), Events: events(0, 2, "x")}))
		if s, r := e.head(e.b, "s"), e.head(e.b, "r"); s.Last != 1 || r.Last != 2 {
			e.Errorf("heads: %+v, %+v", s, r)
		}
	},
	// Whatever part of a batch is refused, no other part of it is there.
	"ARefusalLeavesNothing": func(e *env) {
		e.create(e.a, "s", 1)
		e.create(e.a, "r", 1)
		e.create(e.b, "foreign", 1)
		e.commit(e.a, &store.Batch{
			Posts:  []store.Post{{Stream: "s", ID: "m", Body: []byte("one")}},
			Keys:   []store.KeyRecord{{Scope: "local", Key: "taken", Stream: "s", At: epoch()}},
			Spends: []store.Spend{{Account: "acc", Limits: map[string]int64{"steps": 5}, Amounts: map[string]int64{"steps": 5}}},
		})
		zero := uint64(0)
		good := func() *store.Batch {
			return &store.Batch{
				Appends: []store.Append{{Stream: "s", Expect: 1, Events: events(1, 1, "new"), Row: row("s"), Checkpoint: []byte("c")}},
				Posts:   []store.Post{{Stream: "foreign", ID: "new", Body: []byte("new")}},
				Keys:    []store.KeyRecord{{Scope: "local", Key: "new", Stream: "s", At: epoch()}},
				Spends:  []store.Spend{{Account: "new", Limits: map[string]int64{}, Amounts: map[string]int64{"x": 1}}},
				Blobs:   []store.NewBlob{{Stream: "s", ID: store.BlobID([]byte("new")), Data: []byte("new")}},
			}
		}
		for name, test := range map[string]struct {
			want error
			harm func(*store.Batch)
		}{
			"conflict":  {store.ErrConflict, func(b *store.Batch) { b.Appends = append(b.Appends, store.Append{Stream: "r", Expect: 7}) }},
			"not owner": {store.ErrNotOwner, func(b *store.Batch) { b.Appends = append(b.Appends, store.Append{Stream: "foreign", Expect: 1}) }},
			"exists": {store.ErrExists, func(b *store.Batch) {
				b.Appends = append(b.Appends, store.Append{Stream: "r", Create: true, Row: row("r")})
			}},
			"no stream":    {store.ErrNotFound, func(b *store.Batch) { b.Appends = append(b.Appends, store.Append{Stream: "none"}) }},
			"mail waiting": {store.ErrMailWaiting, func(b *store.Batch) { b.Appends[0].IfNoMailAfter = &zero }},
			"no mail":      {store.ErrConflict, func(b *store.Batch) { b.Appends[0].TakeMail = []uint64{99} }},
			"post nowhere": {store.ErrNotFound, func(b *store.Batch) { b.Posts = append(b.Posts, store.Post{Stream: "none", ID: "m"}) }},
			"other mail":   {store.ErrMailConflict, func(b *store.Batch) { b.Posts = append(b.Posts, store.Post{Stream: "s", ID: "m", Body: []byte("two")}) }},
			"blob nowhere": {store.ErrNotFound, func(b *store.Batch) {
				b.Blobs = append(b.Blobs, store.NewBlob{Stream: "none", ID: store.BlobID(nil)})
			}},
			"key": {&store.KeyTakenError{Record: store.KeyRecord{Scope: "local", Key: "taken", Stream: "s", At: epoch()}}, func(b *store.Batch) {
				b.Keys = append(b.Keys, store.KeyRecord{Scope: "local", Key: "taken", Stream: "r"})
			}},
			"budget": {&store.BudgetError{Account: "acc", Unit: "steps", Limit: 5, Spent: 5, Amount: 1}, func(b *store.Batch) {
				b.Spends = append(b.Spends, store.Spend{Account: "acc", Amounts: map[string]int64{"steps": 1}})
			}},
			"no account": {store.ErrNotFound, func(b *store.Batch) {
				b.Spends = append(b.Spends, store.Spend{Account: "none", Amounts: map[string]int64{"steps": 1}})
			}},
		} {
			b := good()
			test.harm(b)
			if err := e.a.Commit(e.ctx, b); !matches(err, test.want) {
				e.Errorf("%s: %v, want %v", name, err, test.want)
			}
			e.untouched(name)
		}
		e.commit(e.a, good())
	},
	// Many commits at once, some of which fail: each stands for itself.
	"MembersOfAGroupFailAlone": func(e *env) {
		const writers, rounds = 16, 20
		for i := range writers {
			e.create(e.a, fmt.Sprint("s", i), 0)
		}
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				name := fmt.Sprint("s", i)
				for n := range uint64(rounds) {
					bad := batch(store.Append{Stream: name, Expect: n, Events: events(n, 1, "bad")})
					bad.Posts = []store.Post{{Stream: name, ID: "m"}, {Stream: "none", ID: "m"}}
					if err := e.a.Commit(e.ctx, bad); !matches(err, store.ErrNotFound) {
						e.Errorf("bad: %v", err)
					}
					if err := e.a.Commit(e.ctx, batch(store.Append{Stream: name, Expect: n, Events: events(n, 1, "good")})); err != nil {
						e.Errorf("good: %v", err)
					}
				}
			})
		}
		wg.Wait()
		for i := range writers {
			name := fmt.Sprint("s", i)
			if got := end(e.all(e.b, name)); got != rounds {
				e.Errorf("%s has %d events", name, got)
			}
			if mail, err := e.b.Mail(e.ctx, name, 0); err != nil || len(mail) != 0 {
				e.Errorf("%s has mail of a refused batch: %v, %v", name, mail, err)
			}
		}
	},
}

// untouched checks that nothing of the batch of ARefusalLeavesNothing is there.
func (e *env) untouched(name string) {
	e.Helper()
	if h := e.head(e.b, "s"); h.Last != 1 || h.Checkpoint != nil {
		e.Errorf("%s: stream s changed: %+v", name, h)
	}
	if mail, err := e.b.Mail(e.ctx, "foreign", 0); err != nil || len(mail) != 0 {
		e.Errorf("%s: mail was posted: %v, %v", name, mail, err)
	}
	if _, err := e.b.Key(e.ctx, "local", "new"); !matches(err, store.ErrNotFound) {
		e.Errorf("%s: a key was taken: %v", name, err)
	}
	if _, err := e.b.Account(e.ctx, "new"); !matches(err, store.ErrNotFound) {
		e.Errorf("%s: an account was made: %v", name, err)
	}
	if _, err := e.b.Blob(e.ctx, "s", store.BlobID([]byte("new"))); !matches(err, store.ErrNotFound) {
		e.Errorf("%s: a blob was written: %v", name, err)
	}
}
