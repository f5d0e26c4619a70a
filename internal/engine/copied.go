package engine

import (
	"cmp"
	"context"
	"sync"

	"github.com/culm-dev/culm/store"
)

// How a run came to be a copy of one that may go on elsewhere.
const (
	copyImported = "imported" // as one run
	copyRestored = "restored" // with the whole store, from a backup
)

// identity is the store's, once it was read: while the store is open it stays
// the same.
type identity struct {
	mu    sync.Mutex
	known *store.Identity
}

// storeIdentity tells which store this is; the zero value of a store that does
// not tell.
func (e *Engine) storeIdentity(ctx context.Context) (store.Identity, error) {
	keeper, ok := e.store.(store.Keeper)
	if !ok {
		return store.Identity{}, nil
	}
	e.identity.mu.Lock()
	defer e.identity.mu.Unlock()
	if e.identity.known != nil {
		return *e.identity.known, nil
	}
	id, err := keeper.Identity(ctx)
	if err != nil {
		return store.Identity{}, err
	}
	if id.Generation != "" { // else nothing was ever stored
		e.identity.known = &id
	}
	return id, nil
}

// generation names the store in the journal of a run that is taken over.
func (e *Engine) generation(ctx context.Context) (string, error) {
	id, err := e.storeIdentity(ctx)
	return cmp.Or(id.Generation, "unknown"), err
}

// copied tells how the run came to be a copy that nobody took over; "" if it is
// none. Of an imported run its journal tells. A restored backup tells of itself:
// what was created before it was made came with it.
func (l *loaded) copied(ctx context.Context) (string, error) {
	switch {
	case l.st.Status.Terminal():
		return "", nil
	case l.st.Imported != "":
		return copyImported, nil
	}
	id, err := l.e.storeIdentity(ctx)
	if err != nil || id.Copied == "" || l.st.CreatedAt.After(id.CopiedAt) || l.st.TakenOver == id.Generation {
		return "", err
	}
	return copyRestored, nil
}

// copyRefusal refuses to go on with a copy, unless someone says that the run
// goes on nowhere else.
func (l *loaded) copyRefusal(ctx context.Context, o ContinueOptions) (*Error, error) {
	if o.Takeover {
		return nil, nil
	}
	copied, err := l.copied(ctx)
	if copied == "" || err != nil {
		return nil, err
	}
	r := refuse(CodeCopied, "run %s was imported from another store, and may go on there as well", l.st.RunID)
	if copied == copyRestored {
		r = refuse(CodeCopied, "run %s came with a restored backup, and may have gone on since that was made", l.st.RunID)
	}
	return r.with("copy", copied).
		hint("if it does not go on where it came from: culm continue %s --takeover", l.st.RunID), nil
}
