package file

import (
	"errors"
	"fmt"
)

// apply does what a record says.
func (w *writer) apply(ops []op) error {
	for i := range ops {
		if i > 0 && i == len(ops)/2 {
			w.s.opt.hook(pointHalf)
		}
		if err := w.files.apply(&ops[i]); err != nil {
			return err
		}
	}
	return nil
}

// catchUp is the first thing in a turn: it takes note of what others committed since
// the last one, and applies what somebody left who died in between.
func (w *writer) catchUp() error {
	m, ok := readMark(w.applied)
	if !ok {
		return w.recover()
	}
	if m.resetting || m.epoch != w.log.number {
		var err error
		if m, err = w.newEpoch(m); err != nil {
			return err
		}
	} else if m.position != w.log.end {
		w.others(m.position)
	}
	w.log.end = m.position
	return w.orphans(m.stuck)
}

// recover does without the mark, which does not verify: it applies the whole log.
func (w *writer) recover() error {
	w.forget()
	w.s.news.foreign()
	e, err := readEpoch(w.log.f)
	if err != nil {
		return err
	}
	w.log.epoch = e
	end, err := w.replay()
	if err != nil {
		return err
	}
	w.log.end = end
	return w.markApplied(mark{position: end})
}

// newEpoch takes note that the log began anew, or that somebody died just when it
// was about to.
func (w *writer) newEpoch(m mark) (mark, error) {
	w.forget()
	w.s.news.foreign()
	e, err := readEpoch(w.log.f)
	if err != nil {
		return m, err
	}
	if w.log.size, err = w.log.f.Size(); err != nil {
		return m, fmt.Errorf("look at redo log: %w", err)
	}
	w.log.epoch = e
	switch {
	case m.epoch > e.number:
		return m, fmt.Errorf("%w: its header is missing", errLogDamaged)
	case m.epoch < e.number: // all that it held is in the files, and synced
		m = mark{position: e.start()}
	case m.resetting: // it did not come to that
		m = mark{position: m.position}
	default:
		return m, nil
	}
	return m, w.markApplied(m)
}

// others forgets what others changed, up to where they applied it. If the log does
// not tell, that is everything.
func (w *writer) others(to position) {
	w.s.news.foreign()
	size, err := w.log.f.Size()
	if err != nil || to.off < w.log.end.off {
		w.forget()
		return
	}
	w.log.size = size
	end, err := w.log.scan(w.log.f, w.log.end, to.off, func(r *record) error {
		w.forgetTouched(r.ops)
		return nil
	})
	if err != nil || end != to {
		w.forget()
	}
}

func (w *writer) forgetTouched(ops []op) {
	for i := range ops {
		o := &ops[i]
		for _, place := range [2]string{o.path, o.from} {
			if o.kind == opMove {
				w.files.forgetUnder(place)
			} else {
				w.files.forget(place)
			}
			if dir := streamOf(place); dir != "" {
				w.disown(dir)
			}
		}
	}
}

// disown forgets the stream of a folder.
func (w *writer) disown(dir string) {
	if name, ok := unescape(dir); ok {
		delete(w.owned, name)
		return
	}
	for name := range w.owned {
		if escape(name) == dir {
			delete(w.owned, name)
		}
	}
}

// orphans applies the records after the mark. Whoever wrote them is dead, or found
// the disk full, or failed to sync: so their bytes are written again, that a page
// which the kernel took for clean after an error is none, and synced.
func (w *writer) orphans(stuck bool) error {
	for waits(w.log.f, w.log.end) {
		r, raw, err := w.log.readRecord(w.log.f, w.log.end)
		if err != nil || r == nil {
			return err
		}
		if _, err := w.log.f.WriteAt(raw, w.log.end.off); err != nil {
			return fmt.Errorf("write redo log: %w", err)
		}
		if err := w.log.f.Sync(); err != nil {
			return unclearError{fmt.Errorf("sync redo log: %w", err)}
		}
		if err := w.redo(r); err != nil {
			return err
		}
		stuck = false
	}
	if stuck { // what it speaks of is not there any more
		return w.markApplied(mark{position: w.log.end})
	}
	return nil
}

// redo applies a record that somebody else wrote.
func (w *writer) redo(r *record) error {
	w.s.news.foreign()
	w.forgetTouched(r.ops)
	if err := w.apply(r.ops); err != nil {
		return errors.Join(fmt.Errorf("apply commit: %w", err))
	}
	w.log.end = r.next
	if err := w.markApplied(mark{position: r.next}); err != nil || !settles(r.ops) {
		return err
	}
	return w.beginAnew(w.log.start())
}
