package tree

import (
	"fmt"
	"strings"
	"time"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// Mark says how a row is doing. Its order is by how much it wants to be seen.
type Mark int

// The marks.
const (
	Pending Mark = iota
	Skipped
	Done
	Note // belongs to the row above, whatever that is doing
	Cancelled
	Waiting // suspended, or about to be entered again
	Running
	Failed
	Doubt
)

// Row is one line of the tree.
type Row struct {
	Mark   Mark
	Depth  int
	Name   string
	Detail string
	Info   string
	Said   string // the latest line of what its tool prints
	Group  bool
}

// keptOpen is how many instances of one step in a map get lines of their own.
const keptOpen = 3

// Rows gives the whole tree as it is at the given time.
func (m *Model) Rows(now time.Time) []Row {
	var rows []Row
	for _, child := range m.root.Children {
		rows = m.rows(rows, child, 0, now)
	}
	return rows
}

func (m *Model) rows(rows []Row, it *Item, depth int, now time.Time) []Row {
	at := len(rows)
	if it.Group {
		rows = append(rows, Row{Depth: depth, Name: it.Name, Group: true, Info: m.groupInfo(it)})
	} else {
		rows = append(rows, m.stepRow(it, depth, now))
		if it.Counted {
			rows = m.instanceRows(rows, it, depth+1, now)
		}
	}
	first := len(rows)
	for _, child := range it.Children {
		rows = m.rows(rows, child, depth+1, now)
	}
	if it.Group {
		rows[at].Mark = groupMark(rows[first:])
	}
	return rows
}

// groupMark is the loudest mark below a group; it is done when something is and
// nothing is left to come.
func groupMark(below []Row) Mark {
	loudest, pending, over := Pending, 0, 0
	for _, r := range below {
		if r.Group || r.Mark == Note {
			continue
		}
		loudest = max(loudest, r.Mark)
		switch r.Mark {
		case Pending:
			pending++
		case Done, Skipped:
			over++
		}
	}
	if pending > 0 && over > 0 && loudest <= Done {
		return Running
	}
	return loudest
}

func (m *Model) groupInfo(it *Item) string {
	n := m.nodes[it.Key]
	if n == nil || !n.known {
		return ""
	}
	switch it.Loop {
	case workflow.MapNode:
		return plural(n.items, "item")
	case workflow.ChoiceNode:
		if it.Counted {
			return ""
		}
		if n.truth {
			return "yes"
		}
		return "no"
	case workflow.RepeatNode:
		if it.Counted {
			return ""
		}
		return plural(n.round, "round")
	}
	return ""
}

func (m *Model) stepRow(it *Item, depth int, now time.Time) Row {
	row := Row{Depth: depth, Name: it.Name, Detail: it.Detail}
	t := m.tallies[it.Key]
	switch {
	case t == nil:
	case it.Counted:
		row.Mark, row.Info = m.countedMark(it, t), m.counts(it, t)
	default:
		row.Mark, row.Info, row.Said = m.mark(it, t.last, now), m.info(it, t.last, now), t.last.line
	}
	return row
}

func (m *Model) mark(it *Item, in *instance, now time.Time) Mark {
	switch in.status {
	case run.StatusStepRunning:
		if !in.deadline.IsZero() {
			return Waiting
		}
		return Running
	case run.StatusStepSuspended:
		if in.doubt {
			return Doubt
		}
		return Waiting
	case run.StatusStepSucceeded:
		return Done
	case run.StatusStepFailed:
		if m.dueAgain(it, now).IsZero() {
			return Failed
		}
		return Waiting
	case run.StatusStepCancelled:
		if in.doubt {
			return Doubt
		}
		return Cancelled
	case run.StatusStepSkipped:
		return Skipped
	}
	return Pending
}

func (m *Model) info(it *Item, in *instance, now time.Time) string {
	var parts []string
	if in.attempts > 1 {
		parts = append(parts, fmt.Sprintf("attempt %d", in.attempts))
	}
	if rounds := scopeOf(in.id); rounds != "" && !it.Counted {
		parts = append(parts, roundText(rounds))
	}
	return strings.Join(append(m.timing(in, now), append(parts, m.remark(it, in, now)...)...), "  ")
}

// timing says how long the instance took or has been taking.
func (m *Model) timing(in *instance, now time.Time) []string {
	switch {
	case in.started.IsZero():
		return nil
	case in.status == run.StatusStepRunning && in.deadline.IsZero():
		return []string{Duration(now.Sub(in.started))}
	case !in.ended.IsZero():
		return []string{Duration(in.ended.Sub(in.started))}
	}
	return nil
}

// remark says what else there is to know: what it waits for, why it failed.
func (m *Model) remark(it *Item, in *instance, now time.Time) []string {
	switch in.status {
	case run.StatusStepRunning:
		if !in.deadline.IsZero() {
			return []string{until(in.deadline, now)}
		}
	case run.StatusStepFailed:
		text := failureText(in.failure)
		if due := m.dueAgain(it, now); !due.IsZero() {
			text = "again in " + Duration(due.Sub(now)) + "  " + text
		}
		if in.adopted {
			text = "taken over  " + text
		}
		return []string{text}
	case run.StatusStepSucceeded:
		if in.adopted {
			return []string{"taken over"}
		}
	case run.StatusStepSuspended:
		return []string{suspensionText(in, now)}
	case run.StatusStepCancelled:
		if in.doubt {
			return []string{"cancelled in doubt: it may have happened"}
		}
		return []string{"cancelled"}
	case run.StatusStepSkipped:
		if in.reason == run.SkipDependency {
			return []string{"skipped: what it needs failed"}
		}
		return []string{"not taken"}
	}
	return nil
}

func suspensionText(in *instance, now time.Time) string {
	switch {
	case in.doubt:
		return "in doubt: nobody knows whether it happened"
	case !in.deadline.IsZero():
		return until(in.deadline, now)
	case in.reason == string(run.RecoverySuspended):
		return "left behind by a process that is gone"
	case in.reason == "":
		return "to be entered again"
	}
	return "suspended: " + in.reason
}

func failureText(f *run.Failure) string {
	if f == nil {
		return "failed"
	}
	return string(f.Code) + ": " + f.Message
}

// dueAgain is when a retry enters the step again, zero if it does not.
func (m *Model) dueAgain(it *Item, now time.Time) time.Time {
	for _, key := range it.retries {
		if n := m.nodes[key]; n != nil && n.due.After(now) {
			return n.due
		}
	}
	return time.Time{}
}

// instanceRows gives what goes on in a map, and the first failures, their own lines.
func (m *Model) instanceRows(rows []Row, it *Item, depth int, now time.Time) []Row {
	t := m.tallies[it.Key]
	if t == nil {
		return rows
	}
	for _, id := range t.failed {
		in := m.instances[id]
		rows = append(rows, Row{Mark: m.mark(it, in, now), Depth: depth, Name: scopeOf(id), Info: m.info(it, in, now)})
	}
	if len(it.Children) > 0 { // its steps' lines say more
		return rows
	}
	shown := t.open
	if len(shown) > keptOpen+1 {
		shown = shown[:keptOpen]
	}
	for _, id := range shown {
		in := m.instances[id]
		rows = append(rows, Row{Mark: m.mark(it, in, now), Depth: depth, Name: scopeOf(id), Info: m.info(it, in, now), Said: in.line})
	}
	if more := len(t.open) - len(shown); more > 0 {
		rows = append(rows, Row{Mark: Note, Depth: depth, Name: fmt.Sprintf("… and %d more", more)})
	}
	return rows
}
