package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/internal/handle"
	"github.com/culm-dev/culm/store/internal/localfs"
	"modernc.org/sqlite"
)

// backupPages is how many pages are copied, and synced, at a time.
const backupPages = 256

// Backup implements [store.Keeper]. The pages are copied in one read transaction,
// beside which commits go on in the write-ahead log; the log grows meanwhile by
// what they write. They are copied, and synced, a mebibyte at a time, so that no
// commit on the same disk waits for a longer sync than that. A copy with damaged
// pages is thrown away.
func (s *Store) Backup(ctx context.Context, to string) error {
	err := s.there()
	if err == nil {
		err = makeCopy(to, func(path string) error { return s.backup(ctx, path) })
	}
	if err != nil {
		return fmt.Errorf("back up to %s: %w", to, err)
	}
	return nil
}

func (s *Store) backup(ctx context.Context, path string) error {
	if err := s.state.Begin(); err != nil {
		return err
	}
	defer s.state.End()
	c, err := s.readers.dialFile(ctx)
	if err != nil {
		return err
	}
	var id store.Identity
	if _, err = c.exec(`BEGIN`); err == nil {
		err = readIdentity(ctx, c, &id) // from here on the connection sees one moment
	}
	if err == nil {
		err = copyPages(ctx, c, path)
	}
	if err = errors.Join(err, c.close()); err != nil {
		return err
	}
	if err := stamp(ctx, path, id.Generation, s.opt.Clock()); err != nil {
		return err
	}
	return checkCopy(ctx, path)
}

// pageCopier is what the driver's connections can do beside the interfaces of
// database/sql/driver.
type pageCopier interface {
	NewBackup(dstURI string) (*sqlite.Backup, error)
}

func copyPages(ctx context.Context, c *conn, path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	from, ok := c.raw.(pageCopier)
	if !ok {
		return fmt.Errorf("copy pages: %w", errors.ErrUnsupported)
	}
	// What is not whole at the end is thrown away: no journal, and our own syncs.
	b, err := from.NewBackup(address(path, readWrite, 0, "synchronous(off)", "journal_mode(off)", "cache_size(-256)"))
	if err != nil {
		return fmt.Errorf("copy pages: %w", err)
	}
	for more := true; more && err == nil; {
		if more, err = b.Step(backupPages); err == nil {
			err = errors.Join(f.Sync(), ctx.Err())
		}
	}
	if err = errors.Join(err, b.Finish()); err != nil {
		return fmt.Errorf("copy pages: %w", err)
	}
	return f.Sync()
}

// checkCopy has SQLite look at every page of a finished copy.
func checkCopy(ctx context.Context, path string) error {
	c, err := dial(ctx, path, frozen, 0)
	if err != nil {
		return err
	}
	return errors.Join(checkPages(ctx, c), c.close())
}

// makeCopy has a database made beside where it is to be, under a name of its own,
// and moves it there when it is whole and durable.
func makeCopy(to string, fill func(path string) error) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	if err := mustNotExist(to); err != nil {
		return err
	}
	if err := localfs.RefuseNetwork(filepath.Dir(to)); err != nil {
		return err
	}
	id, err := handle.NewID()
	if err != nil {
		return err
	}
	part := fmt.Sprintf("%s.%s.partial", to, id[:8])
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = f.Close(); err == nil {
		err = fill(part)
	}
	if err == nil {
		err = syncFile(part)
	}
	if err == nil {
		err = mustNotExist(to)
	}
	if err == nil {
		err = os.Rename(part, to)
	}
	if err != nil {
		for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
			_ = os.Remove(part + suffix)
		}
		return err
	}
	return localfs.SyncDir(filepath.Dir(to))
}

func mustNotExist(path string) error {
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return &fs.PathError{Op: "make", Path: path, Err: fs.ErrExist}
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
