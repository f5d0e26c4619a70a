package storetest

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/culm-dev/culm/store"
)

type units = map[string]int64

func spend(limits, amounts units) *store.Batch {
	return &store.Batch{Spends: []store.Spend{{Account: "acc", Limits: limits, Amounts: amounts}}}
}

func (e *env) account(want store.Account) {
	e.Helper()
	got, err := e.b.Account(e.ctx, want.ID)
	if diff := compare(want, got); err != nil || diff != "" {
		e.Errorf("account: %v\n%s", err, diff)
	}
}

var ledgerTests = map[string]func(*env){
	"KeysAreTakenOnce": func(e *env) {
		e.create(e.a, "s", 0)
		k := store.KeyRecord{Scope: "local", Key: "k", Hash: "h", Stream: "s", At: epoch()}
		e.commit(e.a, &store.Batch{Keys: []store.KeyRecord{k}})
		got, err := e.b.Key(e.ctx, "local", "k")
		if diff := compare(k, got); err != nil || diff != "" {
			e.Errorf("key: %v\n%s", err, diff)
		}
		e.refused(e.b, &store.Batch{Keys: []store.KeyRecord{{Scope: "local", Key: "k", Hash: "other", Stream: "t"}}}, &store.KeyTakenError{Record: k})
		e.refused(e.b, &store.Batch{Keys: []store.KeyRecord{{Scope: "x", Key: "twice", Stream: "s"}, {Scope: "x", Key: "twice", Stream: "s"}}}, store.ErrExists)
		e.commit(e.b, &store.Batch{Keys: []store.KeyRecord{{Scope: "other", Key: "k", Stream: "s"}}})
		if _, err := e.a.Key(e.ctx, "local", "none"); !matches(err, store.ErrNotFound) {
			e.Errorf("a free key: %v", err)
		}
	},
	"SpendsAddUp": func(e *env) {
		e.commit(e.a, spend(units{"steps": 10}, units{"steps": 3, "tokens": 1000}))
		e.commit(e.b, spend(nil, units{"steps": 4}))
		e.commit(e.a, spend(nil, units{"steps": -2, "tokens": 5}))
		e.account(store.Account{ID: "acc", Spent: units{"steps": 5, "tokens": 1005}, Limits: units{"steps": 10}})
	},
	"ASpendPastTheLimitIsRefusedWhole": func(e *env) {
		e.commit(e.a, spend(units{"steps": 10}, units{"steps": 8}))
		e.refused(e.b, spend(nil, units{"a": 1, "steps": 3}), &store.BudgetError{Account: "acc", Unit: "steps", Limit: 10, Spent: 8, Amount: 3})
		e.account(store.Account{ID: "acc", Spent: units{"steps": 8}, Limits: units{"steps": 10}})
		e.commit(e.b, spend(nil, units{"steps": 2}))
		e.refused(e.b, spend(nil, units{"steps": 1}), &store.BudgetError{Account: "acc", Unit: "steps", Limit: 10, Spent: 10, Amount: 1})
		e.commit(e.b, spend(nil, units{"steps": 0}))
	},
	"SpendsOfOneBatchCountTogether": func(e *env) {
		b := spend(units{"steps": 10}, units{"steps": 6})
		b.Spends = append(b.Spends, store.Spend{Account: "acc", Amounts: units{"steps": 5}})
		e.refused(e.a, b, &store.BudgetError{Account: "acc", Unit: "steps", Limit: 10, Spent: 6, Amount: 5})
		b.Spends[1].Amounts = units{"steps": 4}
		e.commit(e.a, b)
		e.account(store.Account{ID: "acc", Spent: units{"steps": 10}, Limits: units{"steps": 10}})
	},
	"LimitsCountBeforeTheAmounts": func(e *env) {
		e.commit(e.a, spend(units{"steps": 1}, nil))
		e.commit(e.a, spend(units{"steps": 5}, units{"steps": 4}))
		e.refused(e.a, spend(units{"steps": 3}, units{"steps": 1}), &store.BudgetError{Account: "acc", Unit: "steps", Limit: 3, Spent: 4, Amount: 1})
		e.commit(e.a, spend(units{"steps": 3}, units{"steps": -1}))
		e.account(store.Account{ID: "acc", Spent: units{"steps": 3}, Limits: units{"steps": 3}})
		e.refused(e.a, spend(units{"steps": 0}, units{"steps": 1}), &store.BudgetError{Account: "acc", Unit: "steps", Limit: 0, Spent: 3, Amount: 1})
	},
	"AmountsDoNotOverflow": func(e *env) {
		e.commit(e.a, spend(units{}, units{"tokens": math.MaxInt64}))
		e.refused(e.a, spend(nil, units{"tokens": 1}), &store.BudgetError{Account: "acc", Unit: "tokens", Limit: math.MaxInt64, Spent: math.MaxInt64, Amount: 1})
		e.commit(e.a, spend(units{"cost": -5}, units{"cost": math.MinInt64}))
		e.refused(e.a, spend(nil, units{"cost": math.MinInt64}), &store.BudgetError{Account: "acc", Unit: "cost", Limit: -5, Spent: math.MinInt64, Amount: math.MinInt64})
	},
	"ManySpendersDoNotOvershoot": func(e *env) {
		e.commit(e.a, spend(units{"steps": 25}, nil))
		var booked atomic.Int64
		var wg sync.WaitGroup
		for i := range 40 {
			s := []store.Store{e.a, e.b}[i%2]
			wg.Go(func() {
				switch err := s.Commit(e.ctx, spend(nil, units{"steps": 1})); {
				case err == nil:
					booked.Add(1)
				case !matches(err, &store.BudgetError{Account: "acc", Unit: "steps", Limit: 25, Spent: 25, Amount: 1}):
					e.Error(err)
				}
			})
		}
		wg.Wait()
		if booked.Load() != 25 {
			e.Errorf("%d of 25 were booked", booked.Load())
		}
		e.account(store.Account{ID: "acc", Spent: units{"steps": 25}, Limits: units{"steps": 25}})
	},
}

var blobTests = map[string]func(*env){
	"BlobsComeBack": func(e *env) {
		e.create(e.a, "s", 0)
		e.create(e.b, "r", 0)
		for i, data := range [][]byte{{}, []byte("x"), make([]byte, 1<<20)} {
			b := store.NewBlob{Stream: "s", ID: store.BlobID(data), Data: data}
			e.commit(e.a, &store.Batch{Blobs: []store.NewBlob{b, b}})
			e.commit(e.b, &store.Batch{Blobs: []store.NewBlob{b}})
			got, err := e.b.Blob(e.ctx, "s", b.ID)
			if err != nil || string(got) != string(data) {
				e.Errorf("blob %d: %d bytes, %v", i, len(got), err)
			}
			if _, err := e.b.Blob(e.ctx, "r", b.ID); !matches(err, store.ErrNotFound) {
				e.Errorf("blob of another stream: %v", err)
			}
		}
	},
	"ABlobSharesItsStreamsFirstCommit": func(e *env) {
		data := []byte("value")
		b := batch(store.Append{Stream: "s", Create: true, Row: row("s"), Events: events(0, 1, "x")})
		b.Blobs = []store.NewBlob{{Stream: "s", ID: store.BlobID(data), Data: data}}
		b.Posts = []store.Post{{Stream: "s", ID: "m", Body: data}}
		e.commit(e.a, b)
		if got, err := e.b.Blob(e.ctx, "s", store.BlobID(data)); err != nil || string(got) != string(data) {
			e.Errorf("blob: %q, %v", got, err)
		}
	},
}
