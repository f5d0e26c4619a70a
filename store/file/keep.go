package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/culm-dev/culm/internal/proc"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/internal/handle"
)

// Places under staged that keeping house uses: what is being restored, and what was
// removed and is still to be deleted.
const (
	restoring = stagedDir + "/restore-"
	buried    = stagedDir + "/removed-"
)

// keepHouse calls f in a turn, with the redo log's beginning held and all that can be
// synced beside the commits synced.
func (s *Store) keepHouse(ctx context.Context, f func(w *writer) error) error {
	hold, err := s.waitForLog(ctx)
	if err != nil {
		return err
	}
	defer hold.Close()
	return s.keepHouseHolding(f)
}

func (s *Store) keepHouseHolding(f func(w *writer) error) (err error) {
	if err := s.state.Poisoned(); err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	w, err := s.openWriter()
	if err != nil {
		return err
	}
	if err := w.turnstile.Enter(s.opt.BusyTimeout); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.turnstile.Leave()) }()
	if err := w.catchUp(); err != nil {
		return w.failed("complete the commit before", err)
	}
	return f(w)
}

// waitForLog is holdLog that waits for whoever does.
func (s *Store) waitForLog(ctx context.Context) (*proc.FileLock, error) {
	if err := s.paths.makeDirs(); err != nil {
		return nil, err
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		lock, err := s.holdLog()
		if lock != nil || err != nil {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// there refuses a store that nothing was ever stored in.
func (s *Store) there() error {
	a, err := s.attach()
	if err == nil && a == nil {
		err = store.ErrNotFound
	}
	return err
}

// Remove implements [store.Keeper]. The stream's folder moves out of the way in a
// commit, and is deleted after it.
func (s *Store) Remove(ctx context.Context, stream string, last uint64) error {
	if err := s.remove(ctx, stream, last); err != nil {
		return fmt.Errorf("remove stream %s: %w", stream, err)
	}
	return nil
}

func (s *Store) remove(ctx context.Context, stream string, last uint64) error {
	c, err := s.claim(ctx, stream) // nobody owns it, nor begins to
	if err != nil {
		return err
	}
	defer c.Close()
	if err := s.state.Begin(); err != nil {
		return err
	}
	defer s.state.End()
	id, err := handle.NewID()
	if err != nil {
		return err
	}
	err = s.keepHouse(ctx, func(w *writer) error {
		h, _, err := s.paths.readHead(stream)
		switch {
		case err != nil:
			return err
		case h == nil:
			return store.ErrNotFound
		case h.Last != last:
			return fmt.Errorf("it has %d events, not %d: %w", h.Last, last, store.ErrConflict)
		case h.Owner != c.owner || h.Epoch != c.epoch:
			return store.ErrOwned
		}
		delete(w.owned, stream)
		return w.writeSettled([]op{
			{kind: opMove, from: streamDir(stream), path: buried + id},
			{kind: opRemove, path: accountPath(stream)},
		})
	})
	if err != nil {
		return err
	}
	_ = os.RemoveAll(s.paths.at(buried + id)) // what is left of it Compact deletes
	return nil
}

// writeSettled is write of operations that must not be done again later.
func (w *writer) writeSettled(ops []op) error {
	if err := w.write(ops); err != nil {
		return err
	}
	return w.beginAnew(w.log.start())
}

// Forget implements [store.Keeper].
func (s *Store) Forget(ctx context.Context, before time.Time) (int, error) {
	n, err := s.forget(ctx, before)
	if err != nil {
		return n, fmt.Errorf("forget keys: %w", err)
	}
	return n, nil
}

// forgetStep is how many keys are looked at in one turn.
const forgetStep = 128

func (s *Store) forget(ctx context.Context, before time.Time) (n int, err error) {
	if err := s.state.Begin(); err != nil {
		return 0, err
	}
	defer s.state.End()
	if a, err := s.attach(); a == nil || err != nil {
		return 0, err
	}
	names, err := readNames(s.paths.at(keysDir))
	for len(names) > 0 && err == nil {
		if err = ctx.Err(); err != nil {
			break
		}
		step := names[:min(forgetStep, len(names))]
		names = names[len(step):]
		err = s.keepHouseHolding(func(w *writer) error {
			ops := s.paths.forgettable(step, before)
			n += len(ops)
			if len(ops) == 0 {
				return nil
			}
			return w.write(ops)
		})
	}
	return n, err
}

// forgettable are the removals of those keys that may be forgotten. One that does not
// verify stays: nobody knows whose it is.
func (p paths) forgettable(names []string, before time.Time) []op {
	var ops []op
	for _, name := range names {
		rel := keysDir + "/" + name
		raw, err := os.ReadFile(p.at(rel))
		var k keyFile
		if err != nil || decodeSealed(raw, &k) != nil {
			continue
		}
		at, err := parseTime(k.At)
		if err != nil || !at.Before(before) {
			continue
		}
		if _, err := os.Stat(p.at(streamDir(k.Stream))); missing(err) {
			ops = append(ops, op{kind: opRemove, path: rel})
		}
	}
	return ops
}

// Compact implements [store.Keeper]. With the log begun anew, nothing in staged is
// needed any more.
func (s *Store) Compact(ctx context.Context) (int64, error) {
	freed, err := s.compact(ctx)
	if err != nil {
		return freed, fmt.Errorf("compact: %w", err)
	}
	return freed, nil
}

func (s *Store) compact(ctx context.Context) (freed int64, err error) {
	if err := s.state.Begin(); err != nil {
		return 0, err
	}
	defer s.state.End()
	if a, err := s.attach(); a == nil || err != nil {
		return 0, err
	}
	hold, err := s.waitForLog(ctx)
	if err != nil {
		return 0, err
	}
	defer hold.Close()
	var names []string
	err = s.keepHouseHolding(func(w *writer) (err error) {
		names, err = readNames(s.paths.at(stagedDir)) // before anybody stages more
		return errors.Join(err, w.beginAnew(w.log.start()))
	})
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if s.needed(name) {
			continue
		}
		path := filepath.Join(s.paths.at(stagedDir), name)
		size, _ := sizeOf(path)
		if err := os.RemoveAll(path); err != nil {
			return freed, err
		}
		freed += size
	}
	return freed, nil
}

// sizeOf is how many bytes the files in a folder hold.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreMissing(err)
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return ignoreMissing(err)
	})
	return size, err
}

func ignoreMissing(err error) error {
	if missing(err) {
		return nil
	}
	return err
}

// Identity implements [store.Keeper].
func (s *Store) Identity(ctx context.Context) (store.Identity, error) {
	id := store.Identity{Format: format, Oldest: oldest}
	if err := s.state.Begin(); err != nil {
		return id, fmt.Errorf("read identity: %w", err)
	}
	defer s.state.End()
	a, err := s.attach()
	if err == nil {
		err = ctx.Err()
	}
	if a == nil || err != nil {
		return id, wrap("read identity", err)
	}
	id.Format, id.Generation, id.Copied = int(a.identity.Format), a.identity.Generation, a.identity.Copied
	if id.CopiedAt, err = parseTime(a.identity.CopiedAt); err != nil {
		return id, fmt.Errorf("read identity: %w", err)
	}
	for _, dir := range []string{runsDir, keysDir, accountsDir, stagedDir, logDir} {
		size, err := sizeOf(s.paths.at(dir))
		if err != nil {
			return id, fmt.Errorf("read identity: %w", err)
		}
		id.Size += size
	}
	return id, nil
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
