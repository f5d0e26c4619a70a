package local

import (
	"context"
	"fmt"
	"strings"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/file"
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
	var st store.Store
	var err error
	switch scheme, path, _ := strings.Cut(url, ":"); {
	case scheme == "sqlite" && path != "":
		st, err = sqlite.Open(ctx, path, sqlite.Options{Repair: true})
	case scheme == "file" && path != "":
		st, err = file.Open(ctx, path, file.Options{Repair: true})
	default:
		return OpenStore(ctx, url)
	}
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return st, nil
}
