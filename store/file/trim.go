package file

import (
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"

	"github.com/culm-dev/culm/internal/proc"
)

const (
	// trimBytes is the length of the redo log at which it begins anew.
	trimBytes = 8 << 20
	// trimApart is how many files and folders are at most synced one by one. Each
	// costs the disk what a commit costs it, and commits wait for it; more of them are
	// synced with the whole file system, which costs it once.
	trimApart = 32
	// trimRest is how much of it may be left to be synced in a turn.
	trimRest = 64 << 10
	// trimPasses is how often what others add meanwhile is synced before that.
	trimPasses = 5
	// longLog is a log that grew by large commits, and is cut.
	longLog = 4 * trimBytes
)

// trimmer keeps the redo log short: it syncs the files that the log can write again,
// beside the commits, and then has the log begin anew. It makes spare folders, too.
type trimmer struct {
	s            *Store
	wake, refill chan struct{} // capacity 1
	stop         chan struct{}
	done         chan struct{}
}

func startTrimmer(s *Store) *trimmer {
	t := &trimmer{s: s, wake: make(chan struct{}, 1), refill: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go t.loop()
	return t
}

func (t *trimmer) wakeUp(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

func (t *trimmer) loop() {
	defer close(t.done)
	for {
		select {
		case <-t.stop:
			return
		case <-t.refill:
			t.s.spares.refill()
		case <-t.wake:
			// A disk that does not sync is one that no commit may count on.
			if err := t.s.trim(t.s.opt.trim/2, t.stop); err != nil && poisons(err) {
				_ = t.s.setPoison(err)
			}
		}
	}
}

func (t *trimmer) close() {
	close(t.stop)
	<-t.done
}

// poisons tells the errors after which nothing that this process believes of the
// files can be trusted.
func poisons(err error) bool {
	var unclear unclearError
	return errors.As(err, &unclear)
}

// trim has the log begin anew, if it is longer than least.
func (s *Store) trim(least int64, stop <-chan struct{}) error {
	hold, err := s.holdLog()
	if hold == nil || err != nil {
		return err // another process trims, or a backup needs the log
	}
	defer hold.Close()
	a, err := s.attach()
	if a == nil || err != nil {
		return err
	}
	m, ok := readMark(a.applied)
	e, err := readEpoch(a.log)
	if !ok || err != nil || m.epoch != e.number || m.off < least {
		return err
	}
	synced := e.start()
	for range trimPasses {
		if err := s.syncTouched(&e, a.log, synced, m.off, trimApart); err != nil {
			return err
		}
		synced = m.position
		if m, ok = readMark(a.applied); !ok || m.epoch != e.number || m.off-synced.off < trimRest {
			break
		}
		select {
		case <-stop:
			return nil
		default:
		}
	}
	return s.beginAnew(synced)
}

// holdLog keeps others from having the log begin anew; nil if somebody else does.
func (s *Store) holdLog() (*proc.FileLock, error) {
	lock, err := proc.OpenFileLock(filepath.Join(s.paths.locks, "trim"))
	if err != nil {
		return nil, fmt.Errorf("open lock of the redo log: %w", err)
	}
	ok, err := lock.TryLock()
	if !ok || err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// beginAnew has the log begin anew in a turn, all up to a position being synced.
func (s *Store) beginAnew(synced position) (err error) {
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
	if err := w.catchUp(); err != nil || w.log.number != synced.epoch {
		return err
	}
	return w.beginAnew(synced)
}

// beginAnew has the log begin anew. The caller has the turn, and is through with
// catchUp.
func (w *writer) beginAnew(synced position) error {
	if w.log.end == w.log.start() {
		return nil
	}
	if err := w.s.syncTouched(&w.log.epoch, w.log.f, synced, w.log.end.off, math.MaxInt); err != nil {
		return err
	}
	if err := w.markApplied(mark{position: w.log.end, resetting: true}); err != nil {
		return err
	}
	w.s.opt.hook(pointReset)
	if err := w.log.begin(); err != nil {
		return w.s.setPoison(err)
	}
	if w.log.size > longLog {
		if err := w.log.f.Truncate(trimBytes); err == nil {
			w.log.size = trimBytes
		}
	}
	return w.markApplied(mark{position: w.log.end})
}

// syncTouched makes durable what a stretch of the log did, with the folders: one by
// one, unless they are more than apart.
func (s *Store) syncTouched(e *epoch, log reader, from position, to int64, apart int) error {
	files, dirs := make(map[string]bool), make(map[string]bool)
	end, err := e.scan(log, from, to, func(r *record) error {
		for i := range r.ops {
			o := &r.ops[i]
			if o.kind == opWrite || o.kind == opPut {
				files[o.path] = true
			}
			for dir := path.Dir(o.path); ; dir = path.Dir(dir) {
				if dirs[dir] {
					break
				}
				dirs[dir] = true
				if dir == "." {
					break
				}
			}
			if o.kind == opMove {
				dirs[path.Dir(o.from)] = true
			}
		}
		return nil
	})
	if err == nil && end.off < to {
		err = fmt.Errorf("%w: record %d does not verify", errLogDamaged, end.lsn)
	}
	if err != nil {
		return err
	}
	if len(files)+len(dirs) > apart {
		switch err := s.opt.disk.syncAll(s.paths.dir); {
		case err == nil:
			return nil
		case !errors.Is(err, errors.ErrUnsupported):
			return unclearError{err}
		}
	}
	for _, rel := range sorted(files) {
		if err := s.syncFile(rel); err != nil {
			return err
		}
	}
	for _, rel := range sorted(dirs) {
		if err := s.opt.disk.syncDir(s.paths.at(rel)); err != nil && !missing(err) {
			return unclearError{fmt.Errorf("sync folder: %w", err)}
		}
	}
	return nil
}

func sorted(set map[string]bool) []string {
	list := make([]string, 0, len(set))
	for name := range set {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func (s *Store) syncFile(rel string) error {
	f, err := s.opt.disk.open(s.paths.at(rel), 0)
	if missing(err) {
		return nil // removed since
	}
	if err != nil {
		return fmt.Errorf("sync file: %w", err)
	}
	if err := f.Sync(); err != nil {
		return errors.Join(unclearError{fmt.Errorf("sync file: %w", err)}, f.Close())
	}
	return f.Close()
}

// tidy is the end of the last handle that lives: with the log empty, the next one to
// open the store has nothing to look at.
func (s *Store) tidy(w *writer) error {
	s.attaching.Lock()
	a := s.attached
	s.attaching.Unlock()
	if s.state.Poisoned() != nil || a == nil || a.live == nil {
		return nil
	}
	if alone, err := a.live.TryLock(); !alone || err != nil {
		return err
	}
	hold, err := s.holdLog()
	if hold == nil || err != nil {
		return err
	}
	defer hold.Close()
	if err := w.turnstile.Enter(s.opt.BusyTimeout); err != nil {
		return nil
	}
	err = w.catchUp()
	if err == nil {
		err = w.beginAnew(w.log.start())
	}
	return errors.Join(err, w.turnstile.Leave())
}
