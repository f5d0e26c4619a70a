package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/internal/group"
	"github.com/culm-dev/culm/store/internal/handle"
	"github.com/culm-dev/culm/store/internal/localfs"
	"github.com/culm-dev/culm/store/internal/turnstile"
)

// request is one batch on its way.
type request struct {
	group.Ticket
	batch *store.Batch
	at    time.Time
	err   error // the result; valid once its group was run
}

func newRequest(b *store.Batch, now time.Time) *request {
	return &request{Ticket: group.NewTicket(b), batch: b, at: now}
}

// Commit implements [store.Store].
func (s *Store) Commit(ctx context.Context, b *store.Batch) error {
	if err := s.state.Begin(); err != nil {
		return err
	}
	defer s.state.End()
	if err := errors.Join(b.Check(), checkText(b)); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.state.Poisoned(); err != nil {
		return err
	}
	r := newRequest(b, s.opt.Clock())
	if err := s.queue.Do(ctx, r, s.commitGroup); err != nil {
		return err
	}
	return r.err
}

// writer is what a handle needs to write. All of it is guarded by Store.writing, and
// used only while the handle has the turn.
type writer struct {
	s         *Store
	turnstile *turnstile.Turnstile
	log       redo
	applied   diskFile
	files     openFiles
	trimmer   *trimmer
	// owned are the heads of streams that this handle owns, as last committed.
	// Nobody else appends to them; what else changes them is told by the log.
	owned map[string]*owned
	// credit is how much may be written before the disk's room is looked at again.
	credit int
	// record is the buffer that records are encoded in.
	record []byte
}

// owned is what a handle remembers of a stream that it owns.
type owned struct {
	head *head
	// seen are the messages that were ever posted to it; nil if not read yet.
	seen map[string]string
}

func (s *Store) openWriter() (*writer, error) {
	if s.writer != nil {
		return s.writer, nil
	}
	if err := s.paths.makeDirs(); err != nil {
		return nil, err
	}
	t, err := turnstile.Open(s.paths.locks)
	if err != nil {
		return nil, err
	}
	if err := s.make(t); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	if _, err := s.attach(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	w, err := s.newWriter()
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	w.turnstile = t
	w.trimmer = startTrimmer(s)
	w.files.spare = w.spare
	s.sweepSpares()
	s.writer = w
	return w, nil
}

// spare takes a folder that was made ahead.
func (w *writer) spare() string {
	dir, refill := w.s.spares.take()
	if refill {
		w.trimmer.wakeUp(w.trimmer.refill)
	}
	return dir
}

func (p paths) makeDirs() error {
	if err := localfs.MakeDir(p.dir); err != nil {
		return err
	}
	return localfs.MakeDir(p.locks)
}

// make makes the store, unless it is there.
func (s *Store) make(t *turnstile.Turnstile) error {
	if err := t.Enter(s.opt.BusyTimeout); err != nil {
		return err
	}
	defer func() { _ = t.Leave() }()
	id, err := s.paths.readFormat()
	if id != nil || err != nil {
		return err
	}
	generation, err := handle.NewID()
	if err != nil {
		return err
	}
	if err := s.paths.create(s.opt.disk, identity{Format: format, Generation: generation}); err != nil {
		return fmt.Errorf("make store: %w", tryAgain(err))
	}
	return nil
}

// newWriter opens the log for writing. What it says is looked at in catchUp.
func (s *Store) newWriter() (*writer, error) {
	w := &writer{s: s, owned: make(map[string]*owned)}
	w.files.open(s.opt.disk, s.paths)
	f, err := s.opt.disk.open(s.paths.at(redoFile), 0)
	if err != nil {
		return nil, fmt.Errorf("open redo log: %w", err)
	}
	w.log.f = f
	if w.log.size, err = f.Size(); err == nil {
		w.applied, err = s.opt.disk.open(s.paths.at(appliedFile), os.O_CREATE)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open redo log: %w", err), f.Close())
	}
	return w, nil
}

// close ends the writer. The trimmer was stopped before: it takes Store.writing,
// which the caller holds.
func (w *writer) close() error {
	errs := []error{w.files.close(), w.log.f.Close(), w.applied.Close()}
	if w.turnstile != nil {
		errs = append(errs, w.turnstile.Close())
	}
	return errors.Join(errs...)
}

// commitGroup makes a group durable and sets each member's result.
func (s *Store) commitGroup(members []*request) {
	s.writing.Lock()
	defer s.writing.Unlock()
	touched, err := s.tryGroup(members)
	if err != nil {
		for _, r := range members {
			r.err = err
		}
		return
	}
	s.watches.Signal(touched)
}

// tryGroup commits a group. An error is everybody's; otherwise each member has its
// own result, and touched are the streams that changed.
func (s *Store) tryGroup(members []*request) (touched []string, err error) {
	if err := s.state.Poisoned(); err != nil {
		return nil, err
	}
	if members, err = s.refuseWithoutStore(members); err != nil || len(members) == 0 {
		return nil, err
	}
	w, err := s.openWriter()
	if err != nil {
		return nil, fmt.Errorf("open store for writing: %w", err)
	}
	if owns(members) {
		if err := s.locks.Own(); err != nil {
			return nil, err
		}
	}
	if err := w.turnstile.Enter(s.opt.BusyTimeout); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	defer func() {
		if lerr := w.turnstile.Leave(); lerr != nil && err == nil {
			err = s.setPoison(lerr)
		}
	}()
	return w.commit(members)
}

// commit runs a group, whose record is all that it syncs. An error is everybody's.
func (w *writer) commit(members []*request) (touched []string, err error) {
	if err := w.catchUp(); err != nil {
		return nil, w.failed("complete the commit before", err)
	}
	t := newTxn(w)
	for _, r := range members {
		r.err = t.member(r)
	}
	ops, err := t.ops()
	if err != nil || len(ops) == 0 {
		return nil, w.failed("commit", err) // nothing to keep: no byte changes
	}
	if err := w.write(ops); err != nil {
		return nil, err
	}
	t.keep()
	return t.touched(), nil
}

// write makes operations durable and does them.
func (w *writer) write(ops []op) error {
	w.record = w.log.encodeRecord(w.record[:0], w.log.end, ops)
	if len(w.record) > maxRecord {
		return fmt.Errorf("commit: %d bytes are too many for one commit", len(w.record))
	}
	if err := w.room(len(w.record)); err != nil {
		return err
	}
	next, err := w.log.append(w.record, w.s.opt.hook)
	if err != nil {
		return w.failed("commit", err)
	}
	w.s.opt.hook(pointSynced)
	if err := w.apply(ops); err != nil {
		w.forget()
		if !full(err) {
			return w.s.setPoison(fmt.Errorf("apply commit: %w", err))
		}
		// It is durable all the same: whoever comes next applies it, once there is room.
		return w.markApplied(mark{position: w.log.end, stuck: true})
	}
	w.s.opt.hook(pointApplied)
	w.log.end = next
	w.s.news.committed(next)
	if err := w.markApplied(mark{position: next}); err != nil {
		return err
	}
	if next.off > w.s.opt.trim {
		w.trimmer.wakeUp(w.trimmer.wake)
	}
	if cap(w.record) > 1<<20 {
		w.record = nil
	}
	return nil
}

// spare is how much space must be free beside what a record takes, for what applying
// it needs: folders, and the ends of files.
const spare = 128 << 10

// room refuses what the disk has no room for. A commit is durable before it is
// applied, so that to find out then would be late.
func (w *writer) room(n int) error {
	need := 2 * n
	if need <= w.credit {
		w.credit -= need
		return nil
	}
	w.credit = 0
	free, err := localfs.Free(w.s.paths.dir)
	switch {
	case err != nil:
		return nil // the commit will tell
	case free < uint64(need+spare):
		return fmt.Errorf("commit: %w: the disk is full (%d KiB are free)", store.ErrTryAgain, free>>10)
	case free > 1<<30: // it will not be full soon
		w.credit = 1 << 20
	}
	return nil
}

func (w *writer) markApplied(m mark) error {
	if _, err := w.applied.WriteAt(m.encode(), 0); err != nil {
		return w.s.setPoison(fmt.Errorf("mark commit as applied: %w", err))
	}
	return nil
}

// failed wraps an error of a commit that did not take place, and poisons the handle
// if the disk failed.
func (w *writer) failed(what string, err error) error {
	var unclear unclearError
	var sys *os.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unclear):
		return w.s.setPoison(fmt.Errorf("%s: %w", what, err))
	case full(err):
		return fmt.Errorf("%s: %w", what, tryAgain(err))
	case errors.As(err, &sys):
		return w.s.setPoison(fmt.Errorf("%s: %w", what, err))
	}
	return fmt.Errorf("%s: %w", what, err)
}

// tryAgain marks the errors that leave nothing behind and may be gone later.
func tryAgain(err error) error {
	if full(err) {
		return fmt.Errorf("%w: %w", store.ErrTryAgain, err)
	}
	return err
}

// forget drops all that is remembered of files.
func (w *writer) forget() {
	clear(w.owned)
	w.files.forgetAll()
}

// refuseWithoutStore answers, while there is no store, those that need an existing
// stream, so that a refusal makes none.
func (s *Store) refuseWithoutStore(members []*request) ([]*request, error) {
	if s.writer != nil {
		return members, nil
	}
	a, err := s.attach()
	if err != nil || a != nil {
		return members, err
	}
	kept := make([]*request, 0, len(members))
	for _, r := range members {
		if r.err = group.NeedsStream(r.batch); r.err == nil {
			kept = append(kept, r)
		}
	}
	return kept, nil
}

func owns(members []*request) bool {
	return slices.ContainsFunc(members, func(r *request) bool { return group.MakesOwner(r.batch) })
}
