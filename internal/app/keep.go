package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/culm-dev/culm/local"
	"github.com/culm-dev/culm/store"
)

// Kept is a store that house can be kept in.
type Kept interface {
	store.Store
	store.Keeper
}

// OpenKept opens the store that the URL names alone. damaged opens it to be
// examined and salvaged, whatever is wrong with its files.
func OpenKept(ctx context.Context, url string, damaged bool) (Kept, error) {
	open := local.OpenStore
	if damaged {
		open = local.OpenDamaged
	}
	st, err := open(ctx, url)
	if err != nil {
		return nil, err
	}
	kept, ok := st.(Kept)
	if !ok {
		return nil, errors.Join(fmt.Errorf("open %s: %w", url, errors.ErrUnsupported), st.Close())
	}
	return kept, nil
}

// Place is where a store keeps what it keeps.
type Place struct {
	// Folder holds it, with locks and logs; "" if nothing is on disk.
	Folder string
	scheme string
}

// PlaceOf gives the place that a store's URL names.
func PlaceOf(url string) Place {
	scheme, path, _ := strings.Cut(url, ":")
	switch scheme {
	case "sqlite":
		return Place{Folder: filepath.Dir(path), scheme: scheme}
	case "file":
		return Place{Folder: path, scheme: scheme}
	}
	return Place{}
}

// Logs is the folder of what the tools of runs printed.
func (p Place) Logs() string { return filepath.Join(p.Folder, "logs") }

// Copy is where in a new folder a copy of the store is to be, and whether the
// folder must be made first.
func (p Place) Copy(folder string) (path string, makeFolder bool) {
	if p.scheme == "sqlite" {
		return filepath.Join(folder, "culm.db"), true
	}
	return folder, false
}

// Flags are those with which a command works on a copy in a folder.
func (p Place) Flags(folder string) []string {
	if p.scheme == "sqlite" {
		return []string{"--data", folder}
	}
	return []string{"--store", p.scheme + ":" + folder}
}
