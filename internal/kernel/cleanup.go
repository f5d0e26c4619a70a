package kernel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// The children of a finally or on_failure.
const (
	nodeSlot    = 0
	cleanupSlot = 1
)

// enterCleans enters the node of a finally or on_failure. While it goes on, the steps
// are kept free that its cleanup takes; one in a cleanup is kept free with that.
func (m *Machine) enterCleans(f *frame) {
	if f.cleans == nil {
		f.kept = f.node.Cleanup().Leaves
		m.kept += f.kept
	}
	m.enter(f, nodeSlot, f.node.Children[nodeSlot], f.scope)
}

// clean enters the cleanup, now that all of the node has ended. What was never
// entered is not cleaned up after.
func (m *Machine) clean(f *frame, r result) {
	f.ended = &r
	if r.touched == 0 || f.node.Type == workflow.OnFailureNode && r.kind == resOK {
		m.finish(f, r)
		return
	}
	m.enter(f, cleanupSlot, f.node.Cleanup(), f.scope)
}

// beginCleanup makes a new frame that of its parent's cleanup: what cancelled the
// node does not concern it.
func (m *Machine) beginCleanup(f *frame) {
	f.cleans = f.parent
	f.dying = m.st.CleanupOver != nil
	m.cleanups++
	m.cleaning[f] = m.cleanups
}

// cleaned ends a finally or on_failure. Its failure is its node's; that of the
// cleanup stands beside it, or for itself if the node did not fail.
func (m *Machine) cleaned(f *frame, c result) {
	r := *f.ended
	r.hard = r.hard || c.hard
	if c.kind == resOK {
		m.finish(f, r)
		return
	}
	text := m.unclean(c)
	f.asides = append(f.asides, aside{cleanupSlot, text})
	switch {
	case r.kind == resFailed:
		whole := *r.fail.Failure
		whole.Message += "; " + text
		whole.Retryable = whole.Retryable && !c.hard
		r.fail = &failure{Failure: &whole, seq: r.fail.seq}
	case r.kind == resOK && c.kind == resFailed:
		whole := *c.fail.Failure
		whole.Message = "cleanup: " + whole.Message
		r = result{kind: resFailed, fail: &failure{Failure: &whole, seq: c.fail.seq}, hard: r.hard}
	default:
		r = result{kind: resCancelled, hard: r.hard}
	}
	m.finish(f, r)
}

// unclean says what kept a cleanup from its end.
func (m *Machine) unclean(c result) string {
	switch {
	case c.kind == resFailed:
		return fmt.Sprintf("cleanup failed: %s: %s", c.fail.Code, c.fail.Message)
	case m.st.CleanupOver != nil:
		return "cleanup was cut short: " + m.st.CleanupOver.Message
	}
	return "cleanup was given up"
}

// aside is what is told of a child beside a failure that is not its own.
type aside struct {
	slot int
	text string
}

// nobody is no child's slot.
const nobody = -1

// also joins the asides of the children, but for those of one of them.
func (f *frame) also(except int) string {
	slices.SortStableFunc(f.asides, func(a, b aside) int { return cmp.Compare(a.slot, b.slot) })
	var texts []string
	for _, a := range f.asides {
		if a.slot != except {
			texts = append(texts, a.text)
		}
	}
	return strings.Join(texts, "; ")
}

// tellAside hands what a child tells aside on to its parent, under the child's name.
func (p *frame) tellAside(slot int, text string) {
	switch p.node.Type {
	case workflow.ParallelNode:
		text = fmt.Sprintf("branch[%d]: %s", slot, text)
	case workflow.MapNode:
		text = fmt.Sprintf("item[%d]: %s", slot, text)
	}
	p.asides = append(p.asides, aside{slot, text})
}

// beside adds to a failure what is told beside it.
func beside(fl *run.Failure, text string) *run.Failure {
	if text == "" {
		return fl
	}
	whole := *fl
	whole.Message += "; " + text
	return &whole
}

// cutCleanups cancels all cleanups: their time is over.
func (m *Machine) cutCleanups() {
	byEntry := func(a, b *frame) int { return cmp.Compare(m.cleaning[a], m.cleaning[b]) }
	for _, f := range slices.SortedFunc(maps.Keys(m.cleaning), byEntry) {
		m.cancel(f)
	}
	m.resync()
}

// Cleaning reports whether a cleanup goes on, or waits to.
func (m *Machine) Cleaning() bool { return len(m.cleaning) > 0 }

// GivesUp reports whether the open step is in doubt, and is so no longer because
// the run is cancelled. A cancel gives up the doubts that it finds; what came to be
// in doubt while the cancelled run was cleaned up after waits for a verdict.
func (m *Machine) GivesUp(instance string) bool {
	f, rec := m.leaves[instance], m.st.Steps[instance]
	return f != nil && rec != nil && rec.InDoubt && m.givesUp(f, rec)
}

func (m *Machine) givesUp(f *frame, rec *run.Step) bool {
	return m.st.CancelRequested != "" && (f.cleans == nil || rec.LastSeq < m.st.CancelSeq)
}

// stale reports whether an event in a cleanup is from before the node last ended: of
// an earlier round of a retry around both. It counts no more, even if it is a success:
// each end of the node is cleaned up after.
func (f *frame) stale(seq uint64) bool {
	return f.cleans != nil && seq < f.cleans.ended.touched
}

// outermost is the finally or on_failure of the outermost cleanup around the frame.
func (f *frame) outermost() *frame {
	for f.cleans != nil {
		f = f.cleans
	}
	return f
}

// keep is how many steps an action of the frame must leave free for cleanups: those of
// its own cleanup are there for it, but for what comes after the frame.
func (m *Machine) keep(f *frame) int64 {
	switch {
	case f.cleans == nil:
		return int64(m.kept)
	case f.isLeaf():
		return int64(m.kept - f.outermost().kept)
	}
	return int64(m.kept - min(f.node.Leaves, f.outermost().kept))
}

// take books that so many of the steps which are kept free for the cleanup around the
// frame are no longer needed. A frame takes what one pass through it does at most.
func (m *Machine) take(f *frame, n int) {
	if f.cleans == nil {
		return
	}
	for ; f.cleans != nil && n != 0; f = f.parent {
		before := min(f.took, f.node.Leaves)
		f.took += n
		n = min(f.took, f.node.Leaves) - before
	}
	if f.cleans == nil {
		f.kept -= n
		m.kept -= n
	}
}
