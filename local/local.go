// Package local opens a Culm engine with the stores of one machine: the one line
// that most programs need.
package local

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/livelog"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/file"
	"github.com/culm-dev/culm/store/memory"
	"github.com/culm-dev/culm/store/sqlite"
)

// CodeUnsupportedStore is the code of the error for a store URL that this
// version does not know.
const CodeUnsupportedStore = "unsupported_store"

// Open opens an engine over the store that url names:
//
//	sqlite:<path>   one database file, for any number of processes; its folder is
//	                made when something is first written
//	file:<folder>   plain files, for any number of processes; the folder is made when
//	                something is first written
//	memory:         nothing outlives the engine; for tests
//
// Closing the engine closes the store. Unless cfg says otherwise, the locks that
// tell whether a step's processes still live are kept beside the data, and so is
// what tools print, in the folder logs.
func Open(ctx context.Context, url string, cfg culm.Config) (*culm.Engine, error) {
	st, err := openStore(ctx, url, &cfg)
	if err != nil {
		return nil, err
	}
	cfg.CloseStore = true
	return culm.Open(ctx, st, cfg)
}

func openStore(ctx context.Context, url string, cfg *culm.Config) (store.Store, error) {
	scheme, path, _ := strings.Cut(url, ":")
	switch scheme {
	case "memory":
		return memory.New().Open(), nil
	case "sqlite":
		if path == "" {
			return nil, fmt.Errorf("open store %q: expected sqlite:<path of a database file>", url)
		}
		st, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
		beside(filepath.Dir(path), cfg)
		return st, nil
	case "file":
		if path == "" {
			return nil, fmt.Errorf("open store %q: expected file:<path of a folder>", url)
		}
		st, err := file.Open(ctx, path, file.Options{})
		if err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
		beside(path, cfg)
		return st, nil
	}
	return nil, &culm.Error{
		Code:    CodeUnsupportedStore,
		Message: fmt.Sprintf("there is no store %q", url),
		Hint:    "stores of this version are sqlite:<path>, file:<folder> and memory:",
	}
}

// beside keeps in the store's folder what has no other place.
func beside(dir string, cfg *culm.Config) {
	if cfg.LockDir == "" {
		cfg.LockDir = filepath.Join(dir, "locks", "steps")
	}
	if cfg.Logs == nil {
		cfg.Logs = livelog.New(filepath.Join(dir, "logs"), livelog.Options{Logger: cfg.Logger})
	}
}
