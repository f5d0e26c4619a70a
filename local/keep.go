package local

import (
	"context"
	"fmt"
	"strings"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/sqlite"
)

// OpenStore opens the store that url names, as [Open] does, without an engine over
// it: the caller closes it. The stores of one machine are a [store.Keeper] too.
func OpenStore(ctx context.Context, url string) (store.Store, error) {
	return openStore(ctx, url, &culm.Config{})
}

// OpenDamaged is [OpenStore] that also opens a store whose files are damaged, for
// its [store.Keeper] to examine and salvage. Its commits may be refused.
func OpenDamaged(ctx context.Context, url string) (store.Store, error) {
	path, ok := strings.CutPrefix(url, "sqlite:")
	if !ok || path == "" {
		return OpenStore(ctx, url)
	}
	st, err := sqlite.Open(ctx, path, sqlite.Options{Repair: true})
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return st, nil
}
