package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/workflow"
)

// owner is the one that may append to a run's journal. Its machine may be ahead
// of what is durable by the batch it is making; nobody else sees the machine.
//
// A momentary owner (resolve, cancel, recover of a run that nobody works on)
// uses the same type without ever dispatching.
type owner struct {
	e    *Engine
	id   string
	prog *workflow.Program
	m    *kernel.Machine
	st   *run.State // in place of m when the kernel must not be asked any more
	vals *values

	create  bool        // the stream is to be made by the next commit
	claim   store.Claim // taken over by the next commit; nil once it is
	durable uint64      // last sequence that is committed
	batch   batch
	row     store.Row // as last committed

	paths      []string // see readPaths
	pathsKnown bool

	journalBytes    int // committed since the last checkpoint
	checkpointBytes int // size of the last checkpoint

	calls    map[string]*call // in flight, by step instance
	mailSeen uint64           // mail up to this number is in the journal, or in the batch
	mailAt   time.Time        // when the mailbox was last looked at
	// mailPending: the store signalled a change since then.
	mailPending bool
	// withheld: a step is to be entered again once its earlier call has returned.
	withheld bool

	mu       sync.Mutex
	outcomes []outcome // of calls that returned
	halt     halt
	nudged   bool          // mail was posted by this process
	retired  bool          // it takes no signals any more
	wake     chan struct{} // signalled when any of the above changed

	final *run.View // of an ended run whose values are all at hand; read after done

	done chan struct{} // closed when the owner let go of the run
	err  error         // why, if not by the run's own course; read after done
}

// halt says how much an owner was asked to stop.
type halt int

const (
	haltNo    halt = iota
	haltStop       // dispatch nothing new, await calls
	haltAbort      // cancel calls too
)

// batch is what the next commit takes.
type batch struct {
	lines   [][]byte
	blobs   []store.NewBlob
	spend   map[string]int64
	take    []uint64
	starts  []*call   // dispatched once it is durable
	replay  []outcome // emitted into it
	gated   bool      // refused if mail is waiting
	release bool
	extra   store.Batch // beside the own stream
}

func (e *Engine) newOwner(runID string, prog *workflow.Program, m *kernel.Machine) *owner {
	return &owner{
		e: e, id: runID, prog: prog, m: m,
		vals:  newValues(e.store, runID),
		calls: make(map[string]*call),
		wake:  make(chan struct{}, 1),
		done:  make(chan struct{}),
	}
}

// emit puts one event into the batch and applies it to the machine.
func (o *owner) emit(stepID string, body run.Body) error {
	st := o.state()
	at := o.e.now()
	if at.Before(st.UpdatedAt) { // the clock went back: time in a journal does not
		at = st.UpdatedAt
	}
	ev := run.Event{
		Header: run.Header{RunID: o.id, Sequence: st.Last + 1, At: at, StepID: stepID, Type: body.EventType()},
		Body:   body,
	}
	line, err := ev.Encode()
	if err != nil {
		return err
	}
	if err := o.apply(ev); err != nil {
		return err
	}
	o.batch.lines = append(o.batch.lines, line)
	o.book(body)
	return nil
}

func (o *owner) state() *run.State {
	if o.m == nil {
		return o.st
	}
	return o.m.State()
}

func (o *owner) apply(ev run.Event) error {
	if o.m == nil {
		return o.st.Apply(ev)
	}
	return o.m.Apply(ev)
}

// book adds the event's reservation to what the commit spends.
func (o *owner) book(body run.Body) {
	var r run.Amounts
	switch b := body.(type) {
	case *run.StepStarted:
		r = b.Reservation
	case *run.RetryReserved:
		r = b.Reservation
	}
	for unit, n := range r {
		if o.batch.spend == nil {
			o.batch.spend = make(map[string]int64)
		}
		o.batch.spend[unit] += n
	}
}

// hold prepares a value for the next event: inline, or as a blob of the batch.
// decoded is kept so that templates can read it at once.
func (o *owner) hold(decoded any, raw run.Raw) (run.Raw, *run.Blob) {
	seq := o.state().Last + 1
	o.vals.put(seq, decoded, raw)
	return o.holdRaw(raw)
}

func (o *owner) holdRaw(raw run.Raw) (run.Raw, *run.Blob) {
	if len(raw) <= run.InlineLimit {
		return raw, nil
	}
	blob := &run.Blob{SHA256: canon.Hash(raw), Size: int64(len(raw))}
	o.batch.blobs = append(o.batch.blobs, store.NewBlob{Stream: o.id, ID: blob.SHA256, Data: raw})
	return nil, blob
}

// empty reports whether a commit would change nothing.
func (b *batch) empty() bool { return len(b.lines) == 0 && len(b.take) == 0 && !b.release }

// commit makes the batch durable. The store sees it whole, whatever happens to ctx.
func (o *owner) commit(ctx context.Context) error {
	if o.batch.empty() {
		return nil
	}
	sb := o.storeBatch()
	for {
		err := o.e.store.Commit(context.WithoutCancel(ctx), sb)
		if err == nil {
			o.committed()
			return nil
		}
		if !errors.Is(err, store.ErrTryAgain) || !o.awaitSpace(err) {
			return err
		}
	}
}

// spacePause is how long an owner waits before it tries a commit again that the
// store could not take.
const spacePause = 500 * time.Millisecond

// awaitSpace pauses a working owner whose store is full or locked; false if it is
// not to try again. Nothing is lost meanwhile: nothing was acknowledged.
func (o *owner) awaitSpace(cause error) bool {
	if o.claim != nil || o.create || o.asked() == haltAbort {
		return false
	}
	o.e.cfg.Logger.Warn("the store takes nothing at the moment; trying again", "run", o.id, "error", cause)
	o.e.pause(spacePause)
	return true
}

// storeBatch is the batch in the store's words.
func (o *owner) storeBatch() *store.Batch {
	b := &o.batch
	ap := store.Append{
		Stream: o.id, Expect: o.durable, Create: o.create, Claim: o.claim,
		Events: b.lines, TakeMail: b.take, Release: b.release,
		Checkpoint: o.checkpoint(),
	}
	if b.gated {
		ap.IfNoMailAfter = &o.mailSeen
	}
	if row := o.rowNow(); !sameRow(row, o.row) {
		ap.Row = &row
	}
	sb := b.extra
	sb.Appends = append([]store.Append{ap}, sb.Appends...)
	sb.Blobs = append(sb.Blobs, b.blobs...)
	if len(b.spend) > 0 {
		sb.Spends = append(sb.Spends, store.Spend{Account: o.id, Amounts: b.spend})
	}
	return &sb
}

// committed moves on to the next batch.
func (o *owner) committed() {
	b := o.batch
	o.vals.committed()
	for _, line := range b.lines {
		o.journalBytes += len(line) + 1
	}
	o.durable = o.state().Last
	o.row = o.rowNow()
	o.create = false
	if o.claim != nil {
		o.claim.Close()
		o.claim = nil
	}
	o.batch = batch{}
}

// checkpointMin keeps short runs from writing any.
const checkpointMin = 64 << 10

// checkpoint gives the folded state when the journal since the last one is as
// large as that one was, so that checkpoints cost no more than the journal.
func (o *owner) checkpoint() []byte {
	due := o.journalBytes
	for _, line := range o.batch.lines {
		due += len(line) + 1
	}
	if due < max(checkpointMin, o.checkpointBytes) {
		return nil
	}
	data, err := o.state().EncodeCheckpoint()
	if err != nil {
		o.e.cfg.Logger.Warn("checkpoint skipped", "run", o.id, "error", err)
		return nil
	}
	o.journalBytes, o.checkpointBytes = -due+o.journalBytes, len(data)
	return data
}

// rowNow is the listing row as it should be now.
func (o *owner) rowNow() store.Row { return rowOf(o.id, o.state()) }

// rowOf is the listing row of a run in a state.
func rowOf(id string, st *run.State) store.Row {
	row := store.Row{
		ID: id, Kind: "run", Status: string(st.Status), Suspension: string(st.Suspension),
		Workflow: workflow.Ref(st.Definition.ID, st.Definition.Revision), Session: st.SessionID,
		Labels: st.Labels, InDoubt: st.Doubts+st.Abandoned > 0,
		Created: st.CreatedAt, Updated: st.UpdatedAt,
	}
	if !st.Status.Terminal() {
		row.WakeAt = st.WakeAt()
	}
	if st.Imported != "" && st.Status == run.StatusSuspended {
		row.Suspension = rowImported
	}
	return row
}

// rowImported stands in the row of an imported run instead of why it is
// suspended, which is always recovery.
const rowImported = "imported"

// sameRow ignores when the row was updated: it is written when it says something new.
func sameRow(a, b store.Row) bool {
	return a.ID == b.ID && a.Status == b.Status && a.Suspension == b.Suspension &&
		a.InDoubt == b.InDoubt && a.WakeAt.Equal(b.WakeAt)
}

// env is what templates at a place of the plan read.
func (o *owner) env(ctx context.Context, v kernel.View, step string, attempt int) *env {
	st := o.state()
	return &env{ctx: ctx, vals: o.vals, view: v, root: st.RootRunID, made: st.CreatedAt, step: step, attempt: attempt}
}

// signal wakes the loop up. With the signal goes the word that it works again, so
// that there is no moment at which nobody seems to.
func (o *owner) signal() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.retired {
		return
	}
	o.e.working(+1)
	select {
	case o.wake <- struct{}{}:
	default:
		o.e.working(-1)
	}
}

// retire says that this owner does no more work, whoever may still signal it.
func (o *owner) retire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.retired = true
	select {
	case <-o.wake:
		o.e.working(-1)
	default:
	}
	o.e.working(-1)
}

func (o *owner) deliver(out outcome) {
	o.mu.Lock()
	o.outcomes = append(o.outcomes, out)
	o.mu.Unlock()
	o.signal()
}

func (o *owner) nudge() {
	o.mu.Lock()
	o.nudged = true
	o.mu.Unlock()
	o.signal()
}

func (o *owner) stop()  { o.ask(haltStop) }
func (o *owner) abort() { o.ask(haltAbort) }

func (o *owner) ask(h halt) {
	o.mu.Lock()
	o.halt = max(o.halt, h)
	o.mu.Unlock()
	o.signal()
}

func (o *owner) asked() halt {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.halt
}

// close lets go of what an unused claim holds.
func (o *owner) close() {
	if o.claim != nil {
		o.claim.Close()
		o.claim = nil
	}
}

// reload throws away the machine and what was not committed, and reads the run
// again: the batch was refused because mail came first. Outcomes that were in the
// batch are delivered again.
func (o *owner) reload(ctx context.Context) error {
	replay := o.batch.replay
	l, err := o.e.load(ctx, o.id, keepNothing)
	if err != nil {
		return err
	}
	if l.damaged != "" {
		return fmt.Errorf("reload run %s: %s", o.id, l.damaged)
	}
	o.m = kernel.Walk(o.prog, l.st)
	o.batch = batch{}
	o.mailSeen = 0 // mail that the batch took is there still
	clear(o.vals.pending)
	o.mu.Lock()
	o.outcomes = append(replay, o.outcomes...)
	o.nudged = true
	o.mu.Unlock()
	return nil
}
