package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/workflow"
)

// readBytes is how much of a journal is read at a time.
const readBytes = 1 << 20

// keeping says what a load keeps of values.
type keeping bool

const (
	keepNothing keeping = false
	keepValues  keeping = true
)

// loaded is a run as the store has it.
type loaded struct {
	e       *Engine
	head    store.Head
	st      *run.State // as far as the journal could be folded
	damaged string     // why the run is damaged; "" if it is not
	newer   string     // why this version is too old for it

	prog *workflow.Program // once compiled
	m    *kernel.Machine   // once walked
	vals *values           // that the checks read
}

// load reads and folds a run's whole journal, verified. Damage and a newer
// format are no errors: what can be read is there to be shown.
func (e *Engine) load(ctx context.Context, runID string, keep keeping) (*loaded, error) {
	l, err := e.loadFrom(ctx, runID, keep, nil)
	return l, asError(err, runID)
}

// peek is load from the latest checkpoint on, without values.
func (e *Engine) peek(ctx context.Context, runID string) (*loaded, error) {
	head, err := e.store.Head(ctx, runID)
	if err != nil {
		return e.load(ctx, runID, keepNothing)
	}
	if head.Checkpoint == nil {
		return e.load(ctx, runID, keepNothing)
	}
	st, err := run.DecodeCheckpoint(head.Checkpoint)
	if err != nil || st.Last != head.CheckpointAt {
		return e.load(ctx, runID, keepNothing)
	}
	l, err := e.loadFrom(ctx, runID, keepNothing, st)
	return l, asError(err, runID)
}

func (e *Engine) loadFrom(ctx context.Context, runID string, keep keeping, st *run.State) (*loaded, error) {
	head, err := e.store.Head(ctx, runID)
	var damage *store.DamagedError
	if err != nil && !errors.As(err, &damage) {
		return nil, err
	}
	l := &loaded{e: e, head: head, st: st, damaged: head.Damaged, vals: newValues(e.store, runID)}
	l.head.Stream = runID
	if damage != nil {
		l.damaged = damage.Reason
	}
	if st == nil {
		l.st = run.NewState()
		if keep {
			l.st.Keep()
		}
	}
	if err := l.fold(ctx, keep); err != nil {
		return nil, err
	}
	if l.damaged == "" && l.newer == "" && l.st.Last == 0 {
		l.damaged = "the journal has no events"
	}
	if l.st.Panics >= 2 {
		l.damaged = fmt.Sprintf("the engine broke twice in a row at event %d", l.st.PanicAt)
	}
	return l, nil
}

// fold reads on from where the state is.
func (l *loaded) fold(ctx context.Context, keep keeping) error {
	for {
		groups, err := l.e.store.Read(ctx, l.head.Stream, l.st.Last, readBytes)
		var damage *store.DamagedError
		switch {
		case errors.As(err, &damage):
			l.damaged = damage.Reason
		case errors.Is(err, store.ErrNewerFormat):
			l.newer = err.Error()
			return nil
		case err != nil:
			return err
		}
		before := l.st.Last
		for _, g := range groups {
			if !l.apply(ctx, g, keep) {
				return nil
			}
		}
		if damage != nil || l.st.Last == before {
			return nil
		}
	}
}

// apply folds one group; false if the rest cannot be folded.
func (l *loaded) apply(ctx context.Context, g store.Group, keep keeping) bool {
	for i, line := range g.Events {
		if g.First+uint64(i) <= l.st.Last {
			continue
		}
		if last := l.head.Last; last > 0 && g.First+uint64(i) > last {
			return false // it came after the head was looked at
		}
		ev, err := run.Decode(line)
		if errors.Is(err, run.ErrNewerFormat) {
			l.newer = err.Error()
			return false
		}
		if err == nil && keep {
			err = l.fill(ctx, &ev)
		}
		if err == nil {
			err = l.st.Apply(ev)
		}
		if err != nil {
			l.damaged = fmt.Sprintf("event %d: %v", g.First+uint64(i), err)
			return false
		}
	}
	return true
}

// fill puts the blobs that an event refers to into it.
func (l *loaded) fill(ctx context.Context, ev *run.Event) error {
	return run.Fill(ev, func(b run.Blob) (run.Raw, error) {
		return l.e.store.Blob(ctx, l.head.Stream, b.SHA256)
	})
}

func (l *loaded) bundleBytes(ctx context.Context) (run.Raw, error) {
	if l.st.Bundle.Raw != nil {
		return l.st.Bundle.Raw, nil
	}
	ev, err := readEvent(ctx, l.e.store, l.head.Stream, 1)
	if err != nil {
		return nil, err
	}
	q, ok := ev.Body.(*run.Queued)
	if !ok {
		return nil, refuse(CodeDamaged, "the journal does not begin with run_queued")
	}
	if q.BundleBlob != nil {
		return l.e.store.Blob(ctx, l.head.Stream, q.BundleBlob.SHA256)
	}
	return q.Bundle, nil
}

// walk walks the pinned plan over the folded journal.
func (l *loaded) walk(ctx context.Context) (err error) {
	if l.m != nil {
		return nil
	}
	if err := l.compile(ctx); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = refuse(CodeDamaged, "walking the plan over the journal: %v", p)
		}
	}()
	l.m = kernel.Walk(l.prog, l.st)
	return nil
}

// compile checks the pinned bundle against the pinned hash and compiles it.
func (l *loaded) compile(ctx context.Context) error {
	if l.prog != nil {
		return nil
	}
	raw, err := l.bundleBytes(ctx)
	if err != nil {
		return asError(err, l.head.Stream)
	}
	if got := canon.Hash(raw); got != l.st.BundleHash {
		return refuse(CodeBundleMismatch, "the pinned bundle has the hash %s, and the run was started with %s", got, l.st.BundleHash)
	}
	key := l.programKey()
	if l.prog = l.e.programs.get(key); l.prog != nil {
		return nil
	}
	bundle, err := workflow.ParseBundle(raw)
	if err != nil {
		return refuse(CodeBundleMismatch, "the pinned bundle cannot be read: %v", err)
	}
	prog, err := workflow.CompileBundle(bundle, l.pinnedSchemas)
	if err != nil {
		return refuse(CodeBundleMismatch, "the pinned bundle does not compile here: %v", err)
	}
	l.prog = prog
	l.e.programs.put(key, prog)
	return nil
}

// pinnedSchemas tells the compiler of the tools that still are what the run was
// started with, so that the plan means what it meant then.
func (l *loaded) pinnedSchemas(name string) (input, output json.RawMessage, ok bool) {
	if pin, pinned := l.st.Tools[name]; !pinned || pin.Hash != l.e.tools.Hash(name) {
		return nil, nil, false
	}
	return l.e.toolSchemas(name)
}

// newOwner makes the owner of a loaded and walked run.
func (l *loaded) newOwner(claim store.Claim) *owner {
	o := l.e.newOwner(l.st.RunID, l.prog, l.m)
	o.claim = claim
	o.durable = l.st.Last
	o.row = l.head.Row
	o.checkpointBytes = len(l.head.Checkpoint)
	return o
}
