package storetest

import (
	"errors"
	"time"

	"github.com/culm-dev/culm/store"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// compare tells how two values differ, "" if they do not. Times are the same
// when they are the same moment; nil and empty are the same.
func compare(want, got any) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) }))
}

// matches is errors.Is, and for the error types of the port errors.As.
func matches(err, want error) bool {
	switch want := want.(type) {
	case *store.BudgetError:
		var b *store.BudgetError
		return errors.As(err, &b) && *b == *want
	case *store.KeyTakenError:
		var k *store.KeyTakenError
		return errors.As(err, &k) && errors.Is(err, store.ErrExists) && compare(want.Record, k.Record) == ""
	}
	return errors.Is(err, want)
}
