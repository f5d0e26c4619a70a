package sample

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver that package store/sqlite uses

	"github.com/culm-dev/culm/internal/runfiles"
	"github.com/culm-dev/culm/local"
	"github.com/culm-dev/culm/store"
)

// Names in a sample's folder.
const (
	DataFolder = "data"       // the store, or the exported runs
	SeenFile   = "seen.jsonl" // what the version that made it showed of them
)

// URL names the store in a folder, by the kind of store.
func URL(kind, folder string) string {
	if kind == "sqlite" {
		return "sqlite:" + filepath.Join(folder, "culm.db")
	}
	return kind + ":" + folder
}

// MakeAll makes a sample of each kind below dir, and returns their folders. It
// refuses to write over one.
func MakeAll(ctx context.Context, dir string, dies Dies) (made []string, err error) {
	export := filepath.Join(dir, fmt.Sprintf("export-%d", runfiles.Format))
	if err := absent(export); err != nil {
		return nil, err
	}
	for _, kind := range []string{"sqlite", "file"} {
		folder, err := makeStore(ctx, dir, kind, dies)
		if err != nil {
			return made, err
		}
		made = append(made, folder)
	}
	if err := exportRuns(ctx, filepath.Join(made[0], DataFolder), filepath.Join(export, DataFolder)); err != nil {
		return made, err
	}
	return append(made, export), nil
}

func absent(folder string) error {
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already: samples are made once", folder)
	}
	return nil
}

// makeStore makes the sample of a store. It is made elsewhere, since its format is
// not known before.
func makeStore(ctx context.Context, dir, kind string, dies Dies) (folder string, err error) {
	part, err := os.MkdirTemp("", "culm-sample-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(part)) }()
	data, copied := filepath.Join(part, "made"), filepath.Join(part, "copy")
	settle := func(ctx context.Context) error { return settle(ctx, kind, data) }
	if err := makeRuns(ctx, URL(kind, data), settle, dies); err != nil {
		return "", err
	}
	// Locks say nothing once their holders are dead, and others are made again.
	for _, name := range []string{"locks", "logs", "culm.db-shm"} {
		if err := os.RemoveAll(filepath.Join(data, name)); err != nil {
			return "", err
		}
	}
	if err := Copy(copied, data); err != nil {
		return "", err
	}
	format, seen, err := look(ctx, URL(kind, copied)) // looking may complete what a death left
	if err != nil {
		return "", err
	}
	folder = filepath.Join(dir, fmt.Sprintf("%s-%d", kind, format))
	if err := absent(folder); err != nil {
		return "", err
	}
	if err := Copy(filepath.Join(folder, DataFolder), data); err != nil {
		return "", err
	}
	return folder, os.WriteFile(filepath.Join(folder, SeenFile), seen, 0o600)
}

// settle moves what SQLite has in its log into the database, since that log is much
// larger than what is in it.
func settle(ctx context.Context, kind, folder string) error {
	if kind != "sqlite" {
		return nil
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "culm.db"))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, db.Close())
}

// look gives the store's format, and what is seen of its runs.
func look(ctx context.Context, url string) (format int, text []byte, err error) {
	st, err := local.OpenStore(ctx, url)
	if err != nil {
		return 0, nil, err
	}
	e, err := (&World{Now: Later()}).OpenOver(ctx, st)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, e.Close(ctx)) }()
	keeper, ok := st.(store.Keeper)
	if !ok {
		return 0, nil, errors.ErrUnsupported
	}
	identity, err := keeper.Identity(ctx)
	if err != nil {
		return 0, nil, err
	}
	seen, err := Look(ctx, e)
	if err != nil {
		return 0, nil, err
	}
	for _, name := range Names() {
		line, err := json.Marshal(seen[name])
		if err != nil || seen[name].Run != name {
			return 0, nil, fmt.Errorf("run %s was not made: %w", name, err)
		}
		text = append(append(text, line...), '\n')
	}
	return identity.Format, text, nil
}

// exportRuns writes the runs of a sample of SQLite, but for Long: what it is for is its
// checkpoint, which is no part of an export.
func exportRuns(ctx context.Context, data, to string) (err error) {
	copied, err := os.MkdirTemp("", "culm-sample-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(copied)) }()
	if err := Copy(copied, data); err != nil {
		return err
	}
	e, err := (&World{Now: Later()}).Open(ctx, URL("sqlite", copied))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close(ctx)) }()
	ids, err := IDs(ctx, e)
	if err != nil {
		return err
	}
	for _, name := range Names() {
		if name == Long {
			continue
		}
		x, err := e.Export(ctx, ids[name])
		if err != nil {
			return err
		}
		if _, _, err := runfiles.Write(to, &runfiles.Run{Extract: x.Extract, Snapshot: x.Snapshot, At: Later()}); err != nil {
			return err
		}
	}
	return nil
}

// Copy copies a folder's files, in folders that nobody else may read, as a store's
// must be. Git keeps neither rights nor folders without files, and so it is here.
func Copy(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		dest := filepath.Join(to, strings.TrimPrefix(path, from))
		if err := os.MkdirAll(filepath.Dir(dest), 0o700); err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(dest, data, 0o600)
	})
}
