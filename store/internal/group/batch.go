package group

import (
	"fmt"

	"github.com/culm-dev/culm/store"
)

// NeedsStream is the error of a batch for an empty store: [store.ErrNotFound] if it
// needs a stream that it does not make.
func NeedsStream(b *store.Batch) error {
	made := make(map[string]bool, len(b.Appends))
	for i := range b.Appends {
		a := &b.Appends[i]
		if !a.Create {
			return fmt.Errorf("append to stream %s: %w", a.Stream, store.ErrNotFound)
		}
		made[a.Stream] = true
	}
	for _, p := range b.Posts {
		if !made[p.Stream] {
			return fmt.Errorf("post to stream %s: %w", p.Stream, store.ErrNotFound)
		}
	}
	for _, n := range b.Blobs {
		if !made[n.Stream] {
			return fmt.Errorf("write blob of stream %s: %w", n.Stream, store.ErrNotFound)
		}
	}
	return nil
}

// MakesOwner tells whether a batch makes its handle the owner of a stream.
func MakesOwner(b *store.Batch) bool {
	for i := range b.Appends {
		if b.Appends[i].Create || b.Appends[i].Claim != nil {
			return true
		}
	}
	return false
}
