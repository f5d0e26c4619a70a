package diagram

import (
	"strings"

	"github.com/culm-dev/culm/run"
)

// State is where a step stands in a run; of several instances, the one that
// matters most.
type State string

// The states, the one that matters most last.
const (
	Unknown   State = "" // not entered, or no run is shown
	Skipped   State = "skipped"
	Done      State = "done"
	Cancelled State = "cancelled"
	Failed    State = "failed"
	Waiting   State = "waiting"
	Running   State = "running"
	InDoubt   State = "in doubt"
)

func (s State) rank() int {
	for i, other := range []State{Unknown, Skipped, Done, Cancelled, Failed, Waiting, Running, InDoubt} {
		if s == other {
			return i
		}
	}
	return 0
}

// sign is a character for a state.
func (s State) sign() string {
	switch s {
	case Skipped:
		return "–"
	case Done:
		return "✓"
	case Cancelled:
		return "■"
	case Failed:
		return "✗"
	case Waiting:
		return "…"
	case Running:
		return "▶"
	case InDoubt:
		return "?"
	}
	return ""
}

// class is a state as the name of a CSS class.
func (s State) class() string { return strings.ReplaceAll(string(s), " ", "-") }

// Mark shows where the steps of a run stand.
func (p *Plan) Mark(s *run.Snapshot) {
	states := map[string]State{}
	for _, st := range s.Steps {
		key := withoutScopes(st.ID)
		if now := stateOf(st); now.rank() > states[key].rank() {
			states[key] = now
		}
	}
	p.Root.mark(states)
}

func (b *Block) mark(states map[string]State) {
	if b.Key != "" {
		b.State = states[b.Key]
	}
	for _, part := range b.Parts {
		part.Block.mark(states)
	}
}

func stateOf(st *run.SnapshotStep) State {
	if st.InDoubt {
		return InDoubt
	}
	switch st.Status {
	case run.StatusStepSucceeded:
		return Done
	case run.StatusStepFailed:
		return Failed
	case run.StatusStepCancelled:
		return Cancelled
	case run.StatusStepSkipped:
		return Skipped
	case run.StatusStepRunning:
		return Running
	case run.StatusStepSuspended:
		return Waiting
	}
	return Unknown
}

// withoutScopes is the id of a step instance without those of maps and repeats.
func withoutScopes(id string) string {
	parts := strings.Split(id, "/")
	for i, part := range parts {
		parts[i], _, _ = strings.Cut(part, "@")
	}
	return strings.Join(parts, "/")
}
