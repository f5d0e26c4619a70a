package file

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// replay is run by the first handle since all others died. Perhaps the machine did
// too, and of the files any part may be missing that was not synced: all of the log
// is done again, where the files do not show it.
func (s *Store) replay() (err error) {
	log, applied, err := s.paths.openForReading()
	if err != nil {
		return err
	}
	m, marked := readMark(applied)
	e, err := readEpoch(log)
	var end position
	var final *outcome
	if err == nil {
		final, end, err = readOutcome(&e, log)
	}
	err = errors.Join(err, log.Close())
	if applied != nil {
		err = errors.Join(err, applied.Close())
	}
	if err != nil {
		return err
	}
	// The mark is written after the log was synced: it is never ahead of it.
	if marked && (m.epoch > e.number || m.epoch == e.number && m.off > end.off) {
		return fmt.Errorf("%w: record %d does not verify, and %d were applied; what was committed last may be missing", errLogDamaged, end.lsn, m.lsn-1)
	}
	differs, err := final.differs(s.paths)
	if err != nil {
		return err
	}
	if !differs && marked && m == (mark{position: end}) {
		return nil
	}
	w, err := s.newWriter()
	if err != nil {
		return err
	}
	w.log.epoch, w.log.end = e, end
	err = final.apply(w)
	if err == nil {
		err = w.markApplied(mark{position: end})
	}
	if err == nil && settles(final.ops) {
		err = w.beginAnew(e.start())
	}
	return errors.Join(err, w.close())
}

// replay applies the whole log, and returns where it ends.
func (w *writer) replay() (position, error) {
	final, end, err := readOutcome(&w.log.epoch, w.log.f)
	if err != nil {
		return end, err
	}
	return end, final.apply(w)
}

// outcome is what all records of the log come to: for each place, the operations
// that are not undone by a later one.
type outcome struct {
	ops []op // a kind of 0 does nothing
	at  map[string][]int
}

func readOutcome(e *epoch, log reader) (*outcome, position, error) {
	o := &outcome{at: make(map[string][]int)}
	end, err := e.scan(log, e.start(), 0, func(r *record) error {
		for i := range r.ops {
			o.add(r.ops[i])
		}
		return nil
	})
	return o, end, err
}

func (o *outcome) add(p op) {
	switch p.kind {
	case opPut, opRemove:
		o.drop(p.path)
	case opMove:
		for place := range o.at {
			if under(place, p.path) || under(place, p.from) {
				o.drop(place)
			}
		}
	}
	o.at[p.path] = append(o.at[p.path], len(o.ops))
	o.ops = append(o.ops, p)
}

func (o *outcome) drop(place string) {
	for _, i := range o.at[place] {
		o.ops[i].kind = 0
	}
	delete(o.at, place)
}

// differs tells whether the files show anything else.
func (o *outcome) differs(p paths) (bool, error) {
	for i := range o.ops {
		same, err := o.shown(p, i)
		if err != nil || !same {
			return true, err
		}
	}
	return false, nil
}

// shown tells whether the files show that an operation was done.
func (o *outcome) shown(p paths, i int) (bool, error) {
	op := &o.ops[i]
	switch op.kind {
	case opWrite:
		return holds(p.at(op.path), op.data, op.at, o.lastAt(i))
	case opPut:
		return holds(p.at(op.path), op.data, 0, o.lastAt(i))
	case opRemove:
		_, err := os.Lstat(p.at(op.path))
		return missing(err), nil
	case opMove:
		_, err := os.Lstat(p.at(op.from))
		return missing(err), nil
	}
	return true, nil
}

// lastAt tells whether an operation is the last at its place.
func (o *outcome) lastAt(i int) bool {
	all := o.at[o.ops[i].path]
	return all[len(all)-1] == i
}

// holds tells whether a file holds some bytes, and, if end, nothing after them.
func holds(name string, data []byte, at int64, end bool) (bool, error) {
	f, err := os.Open(name)
	if missing(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("compare with redo log: %w", err)
	}
	defer f.Close()
	got := make([]byte, len(data)+1)
	n, _ := f.ReadAt(got, at) // what cannot be read is written again
	if n < len(data) || end && n > len(data) {
		return false, nil
	}
	return bytes.Equal(got[:len(data)], data), nil
}

// apply does what is left to do.
func (o *outcome) apply(w *writer) error {
	for i := range o.ops {
		if o.ops[i].kind == 0 {
			continue
		}
		same, err := o.shown(w.s.paths, i)
		if err != nil {
			return err
		}
		if same {
			continue
		}
		// A write that is done again cuts off what stands after it; then the ones
		// that follow do not show any more, and are done again too.
		if err := w.files.apply(&o.ops[i]); err != nil {
			return fmt.Errorf("apply redo log: %w", err)
		}
	}
	return nil
}
