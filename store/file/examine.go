package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/culm-dev/culm/internal/proc"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/internal/owner"
)

// Examine implements [store.Keeper].
func (s *Store) Examine(ctx context.Context, found func(store.Finding)) error {
	if err := s.state.Begin(); err != nil {
		return fmt.Errorf("examine: %w", err)
	}
	defer s.state.End()
	a, err := s.attach()
	if a == nil || err != nil {
		return wrap("examine", err)
	}
	x := &examination{s: s, ctx: ctx, found: found, lives: make(map[string]store.Owner)}
	for _, look := range []func(*attached) error{x.log, x.streams, x.ledger, x.leftovers} {
		if err := look(a); err != nil {
			return fmt.Errorf("examine: %w", err)
		}
	}
	return nil
}

type examination struct {
	s     *Store
	ctx   context.Context
	found func(store.Finding)
	lives map[string]store.Owner
}

func (x *examination) tell(code, format string, args ...any) {
	x.found(store.Finding{Code: code, Message: fmt.Sprintf(format, args...)})
}

// log looks whether the redo log holds what was applied of it.
func (x *examination) log(a *attached) error {
	if a.identity.Generation == unknownGeneration {
		x.tell(store.FoundDamagedRow, "%s does not verify", formatFile)
	}
	m, marked := readMark(a.applied)
	e, err := readEpoch(a.log)
	if err != nil {
		x.tell(store.FoundDamagedPage, "%v", err)
		return nil
	}
	end, err := e.scan(a.log, e.start(), 0, func(*record) error { return nil })
	switch {
	case err != nil:
		x.tell(store.FoundDamagedPage, "%v", err)
	case marked && (m.epoch > e.number || m.epoch == e.number && m.off > end.off):
		x.tell(store.FoundDamagedPage, "%v: record %d does not verify", errLogDamaged, end.lsn)
	case marked && m.stuck:
		x.tell(store.FoundUnfinishedCommit, "a commit could not be applied, because the disk was full")
	}
	return nil
}

func (x *examination) streams(*attached) error {
	all, err := x.s.heads(x.ctx)
	if err != nil {
		return err
	}
	for _, l := range all {
		if err := x.stream(l.head.Stream); err != nil {
			return err
		}
	}
	return nil
}

func (x *examination) stream(name string) error {
	_, h, err := x.s.extract(x.ctx, name)
	if err == nil {
		_, err = x.s.Head(x.ctx, name) // the snapshot, too
	}
	var d *store.DamagedError
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil // it was removed meanwhile
	case errors.As(err, &d):
		x.found(store.Finding{Code: store.FoundDamagedStream, Stream: name, Message: d.Reason})
	case err != nil:
		return err
	}
	return x.owner(h)
}

func (x *examination) owner(h *head) error {
	if h == nil || h.Owner == "" || h.Owner == x.s.id {
		return nil
	}
	o, known := x.lives[h.Owner]
	if !known {
		var err error
		if o, err = x.s.ownerOf(h); err != nil {
			return err
		}
		x.lives[h.Owner] = o
	}
	switch {
	case !o.Alive:
		x.found(store.Finding{Code: store.FoundDeadOwner, Stream: h.Stream, PID: o.PID, Message: "the process that owned it is gone"})
	case proc.Stopped(o.PID):
		x.found(store.Finding{Code: store.FoundStoppedOwner, Stream: h.Stream, PID: o.PID,
			Message: fmt.Sprintf("the process that owns it (pid %d) is stopped", o.PID)})
	}
	return nil
}

// ledger verifies what belongs to no stream.
func (x *examination) ledger(*attached) error {
	for _, dir := range []string{keysDir, accountsDir} {
		err := x.s.eachSealed(dir, func(rel string, good bool) error {
			if !good {
				x.tell(store.FoundDamagedRow, "the checksum of %s does not match", rel)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// leftovers looks for what crashes leave. What is staged is only that while somebody
// keeps house, or in a turn.
func (x *examination) leftovers(*attached) error {
	names, err := filepath.Glob(filepath.Join(x.s.paths.locks, "*.lock"))
	if err != nil {
		return err
	}
	for _, name := range names {
		id := strings.TrimSuffix(filepath.Base(name), ".lock")
		if owner.Valid(id) && x.s.named(id) {
			continue
		}
		held, err := proc.StepLockHeld(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if !held {
			x.tell(store.FoundLeftoverFile, "%s", name)
		}
	}
	return x.staged()
}

func (x *examination) staged() error {
	hold, err := x.s.holdLog()
	if hold == nil || err != nil {
		return nil // somebody is at it
	}
	defer hold.Close()
	var names []string
	terr := x.s.inTurn(func() { names, err = readNames(x.s.paths.at(stagedDir)) })
	if terr != nil || err != nil {
		return errors.Join(terr, err)
	}
	for _, name := range names {
		if x.s.needed(name) {
			continue
		}
		x.tell(store.FoundLeftoverFile, "%s", x.s.paths.at(stagedDir+"/"+name))
	}
	return nil
}
