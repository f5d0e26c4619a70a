package file

import (
	"fmt"
	"unicode/utf8"

	"github.com/culm-dev/culm/store"
)

// checkText refuses what JSON cannot hold: text that is no UTF-8. Events, bodies,
// blobs and checkpoints may be any bytes.
func checkText(b *store.Batch) error {
	var bad string
	text := func(values ...string) {
		for _, v := range values {
			if !utf8.ValidString(v) {
				bad = v
			}
		}
	}
	for i := range b.Appends {
		a := &b.Appends[i]
		text(a.Stream)
		if r := a.Row; r != nil {
			text(r.Kind, r.Status, r.Workflow, r.Session, r.Suspension)
			for k, v := range r.Labels {
				text(k, v)
			}
		}
	}
	for _, p := range b.Posts {
		text(p.Stream, p.ID)
	}
	for _, k := range b.Keys {
		text(k.Scope, k.Key, k.Hash, k.Stream)
	}
	for _, s := range b.Spends {
		text(s.Account)
		for unit := range s.Amounts {
			text(unit)
		}
		for unit := range s.Limits {
			text(unit)
		}
	}
	for _, n := range b.Blobs {
		text(n.Stream)
	}
	if bad != "" {
		return fmt.Errorf("check batch: %q is not UTF-8, which a store of files needs of all names and texts", bad)
	}
	return nil
}
