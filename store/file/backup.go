package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/internal/handle"
	"github.com/culm-dev/culm/store/internal/localfs"
)

// copyPasses is how often a backup copies what changed while it copied, before it does
// so in a turn.
const copyPasses = 5

// Backup implements [store.Keeper]. First all files are copied beside the commits,
// then, again and again, those that the redo log says were changed meanwhile; the last
// of them in a turn. A file that was copied while somebody wrote it is one of those.
func (s *Store) Backup(ctx context.Context, to string) error {
	err := s.there()
	if err == nil {
		err = makeCopy(to, func(dir string) error { return s.backup(ctx, dir) })
	}
	if err != nil {
		return fmt.Errorf("back up to %s: %w", to, err)
	}
	return nil
}

// makeCopy makes a new folder and fills it; when that fails, there is none.
func makeCopy(to string, fill func(dir string) error) error {
	abs, err := filepath.Abs(to)
	if err == nil {
		err = localfs.RefuseNetwork(abs)
	}
	if err != nil {
		return err
	}
	if err := os.Mkdir(abs, 0o700); err != nil {
		return err
	}
	err = fill(abs)
	if err == nil {
		err = localfs.SyncDir(filepath.Dir(abs))
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(abs))
	}
	return nil
}

func (s *Store) backup(ctx context.Context, dir string) error {
	if err := s.state.Begin(); err != nil {
		return err
	}
	defer s.state.End()
	hold, err := s.waitForLog(ctx)
	if err != nil {
		return err
	}
	defer hold.Close()
	c := &copier{ctx: ctx, s: s, to: paths{dir: dir}}
	if err := s.keepHouseHolding(func(w *writer) error { // what is unfinished is completed
		c.e, c.at = w.log.epoch, w.log.end
		return nil
	}); err != nil {
		return err
	}
	for _, part := range []string{runsDir, keysDir, accountsDir} {
		if err := c.all(part); err != nil {
			return err
		}
	}
	if err := c.follow(); err != nil {
		return err
	}
	a, err := s.attach()
	if err != nil {
		return err
	}
	return s.stamp(c.to, a.identity.Generation)
}

// stamp makes a folder of files a store of its own.
func (s *Store) stamp(to paths, from string) error {
	generation, err := handle.NewID()
	if err != nil {
		return err
	}
	return to.create(osDisk{}, identity{Format: format, Generation: generation, Copied: from, CopiedAt: timeText(s.copiedAt(to))})
}

// copiedAt is now, but not before anything that was copied.
func (s *Store) copiedAt(to paths) time.Time {
	at := s.opt.Clock()
	var l listing
	all, err := l.refresh(to)
	if err != nil {
		return at
	}
	for _, e := range all {
		for _, t := range []time.Time{e.row.Created, e.row.Updated} {
			if t.After(at) {
				at = t
			}
		}
	}
	return at
}

// copier copies files of a store to another folder.
type copier struct {
	ctx context.Context
	s   *Store
	to  paths
	e   epoch
	at  position // up to here the copy shows the log
}

// all copies a folder and what is in it, and syncs it.
func (c *copier) all(dir string) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	entries, err := os.ReadDir(c.s.paths.at(dir))
	if err != nil {
		return ignoreMissing(err)
	}
	if err := os.Mkdir(c.to.at(dir), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for _, e := range entries {
		name := dir + "/" + e.Name()
		if e.IsDir() {
			err = c.all(name)
		} else {
			err = c.file(name)
		}
		if err != nil {
			return err
		}
	}
	return localfs.SyncDir(c.to.at(dir))
}

// file copies one file as it is now; if there is none, there is no copy either.
func (c *copier) file(rel string) error {
	from, err := os.Open(c.s.paths.at(rel))
	if missing(err) {
		return ignoreMissing(os.Remove(c.to.at(rel)))
	}
	if err != nil {
		return err
	}
	defer from.Close()
	if err := localfs.MakeDir(c.to.at(path.Dir(rel))); err != nil {
		return err
	}
	to, err := os.OpenFile(c.to.at(rel), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err == nil {
		err = to.Sync()
	}
	return errors.Join(err, to.Close())
}

// follow copies what was changed since, the last of it in a turn.
func (c *copier) follow() error {
	a, err := c.s.attach()
	if err != nil {
		return err
	}
	for range copyPasses {
		m, ok := readMark(a.applied)
		if !ok || m.epoch != c.at.epoch || m.off-c.at.off < trimRest {
			break
		}
		if err := c.changed(a.log, m.position); err != nil {
			return err
		}
	}
	return c.s.keepHouseHolding(func(w *writer) error { return c.changed(w.log.f, w.log.end) })
}

var errLogBegan = errors.New("the redo log began anew meanwhile; try again")

// changed copies what a stretch of the log changed.
func (c *copier) changed(log reader, to position) error {
	if to.epoch != c.at.epoch {
		return errLogBegan
	}
	places := make(map[string]bool)
	end, err := c.e.scan(log, c.at, to.off, func(r *record) error {
		for i := range r.ops {
			places[r.ops[i].path] = true
		}
		return nil
	})
	if err == nil && end != to {
		err = errLogBegan
	}
	if err != nil {
		return err
	}
	dirs := make(map[string]bool)
	for _, rel := range sorted(places) {
		if err := c.file(rel); err != nil {
			return err
		}
		dirs[path.Dir(rel)] = true
	}
	for _, dir := range sorted(dirs) {
		if err := localfs.SyncDir(c.to.at(dir)); ignoreMissing(err) != nil && !missing(errors.Unwrap(err)) {
			return err
		}
	}
	c.at = to
	return nil
}

// Salvage implements [store.Keeper]. A stream of which anything was lost says in its
// head that its journal is longer than it is, so that it stays damaged.
func (s *Store) Salvage(ctx context.Context, to string, report func(store.Salvaged)) error {
	err := s.there()
	if err == nil {
		err = makeCopy(to, func(dir string) error { return s.salvage(ctx, dir, report) })
	}
	if err != nil {
		return fmt.Errorf("salvage to %s: %w", to, err)
	}
	return nil
}

func (s *Store) salvage(ctx context.Context, dir string, report func(store.Salvaged)) error {
	all, err := s.heads(ctx)
	if err != nil {
		return err
	}
	a, err := s.attach()
	if err != nil {
		return err
	}
	into := paths{dir: dir}
	for _, part := range []string{runsDir, stagedDir} {
		if err := os.Mkdir(into.at(part), 0o700); err != nil {
			return err
		}
	}
	for _, l := range all {
		saved, err := s.salvageStream(ctx, into, l.head.Stream)
		if err != nil {
			return err
		}
		if saved != nil {
			report(*saved)
		}
	}
	if err := localfs.SyncDir(into.at(runsDir)); err != nil {
		return err
	}
	if err := s.salvageLedger(ctx, into); err != nil {
		return err
	}
	return s.stamp(into, a.identity.Generation)
}

// salvageStream copies what verifies of one stream; nil if it was removed meanwhile.
func (s *Store) salvageStream(ctx context.Context, into paths, stream string) (*store.Salvaged, error) {
	x, h, damage := s.extract(ctx, stream)
	if errors.Is(damage, store.ErrNotFound) {
		return nil, nil
	}
	var d *store.DamagedError
	if x == nil || damage != nil && !errors.As(damage, &d) {
		return nil, damage
	}
	saved := &store.Salvaged{Stream: stream, Events: x.Last()}
	last := x.Last()
	if d == nil {
		d = tornSnapshot(s.paths, h)
	} else if last = h.Last; last <= x.Last() {
		// More is claimed than there is. Without that it would go on as if what was
		// lost had never happened.
		last = x.Last() + 1
	}
	if d != nil {
		saved.Damage = d.Reason
	}
	if x.Row.Kind == "" { // the head does not tell
		x.Row.Kind = "run"
	}
	id, err := handle.NewID()
	if err != nil {
		return nil, err
	}
	m := &maker{d: osDisk{}, p: into, dir: streamDir(stream)}
	return saved, m.make(x, last, id)
}

// tornSnapshot is the damage of a snapshot that contradicts the journal: the journal
// decides, so nothing is lost with it.
func tornSnapshot(p paths, h *head) *store.DamagedError {
	var d *store.DamagedError
	_, err := p.readSnapshot(h)
	errors.As(err, &d)
	return d
}

// salvageLedger copies the keys and accounts that verify.
func (s *Store) salvageLedger(ctx context.Context, into paths) error {
	c := &copier{ctx: ctx, s: s, to: into}
	for _, dir := range []string{keysDir, accountsDir} {
		if err := os.Mkdir(into.at(dir), 0o700); err != nil {
			return err
		}
		err := s.eachSealed(dir, func(rel string, good bool) error {
			if !good {
				return nil
			}
			return c.file(rel)
		})
		if err != nil {
			return err
		}
		if err := localfs.SyncDir(into.at(dir)); err != nil {
			return err
		}
	}
	return nil
}

// eachSealed calls f for every key or account, and tells whether it verifies.
func (s *Store) eachSealed(dir string, f func(rel string, good bool) error) error {
	names, err := readNames(s.paths.at(dir))
	if err != nil {
		return err
	}
	for _, name := range names {
		rel := dir + "/" + name
		raw, err := os.ReadFile(s.paths.at(rel))
		if missing(err) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err = unseal(raw); err != nil { // perhaps it is just written
			if terr := s.inTurn(func() { raw, err = os.ReadFile(s.paths.at(rel)) }); terr != nil || err != nil {
				return errors.Join(terr, err)
			}
			_, err = unseal(raw)
		}
		if err := f(rel, err == nil); err != nil {
			return err
		}
	}
	return nil
}
