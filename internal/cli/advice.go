package cli

import (
	"fmt"
	"slices"
	"strings"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/run"
)

// advice is what to type next about a run that did not succeed; nil if there is
// nothing to do. Commands are indented by two.
func (in *invocation) advice(v *run.View) []string {
	switch {
	case v.Damaged != "" && possible(v, "restart"):
		return append([]string{"It cannot be continued."}, in.again(v)...)
	case v.Damaged != "":
		return nil
	}
	switch v.Status {
	case run.StatusFailed:
		return append(in.againFrom(v), in.again(v)...)
	case run.StatusSuspended:
		return in.adviceSuspended(v)
	case run.StatusQueued, run.StatusRunning:
		if !abandoned(v) {
			return []string{"A process works on it. To follow:", in.indented("wait", short(v.RunID))}
		}
		return []string{"The process that worked on it is gone. To go on:", in.indented("continue", short(v.RunID))}
	}
	return nil
}

// possible reports whether an action would not be refused now.
func possible(v *run.View, action string) bool {
	code, known := v.Actions[action]
	return known && code == nil
}

func (in *invocation) look(v *run.View) []string {
	return []string{"To look at it:", in.indented("show", short(v.RunID))}
}

func (in *invocation) again(v *run.View) []string {
	return []string{"To begin anew, with the same definition and arguments:", in.indented("restart", short(v.RunID))}
}

// againFrom is how a failed run is run again from the step that failed, if that
// spares anything.
func (in *invocation) againFrom(v *run.View) []string {
	spares, cleaned := false, false
	for _, st := range v.Steps {
		spares = spares || st.Status == run.StatusStepSucceeded && !st.Cleanup
		cleaned = cleaned || st.Cleanup && st.Attempts > 0
	}
	failed := failedLeaf(v)
	if failed == nil || !spares {
		return nil
	}
	lines := []string{"To run it again from the failed step, and keep what finished before:",
		in.indented("restart", short(v.RunID), "--from", shortest(v, failed.ID))}
	if cleaned {
		lines = append(lines, "(Cleanups have run. If that step needs what they removed, name the step that makes it.)")
	}
	return lines
}

// failedLeaf is the step that failed last: not one that failed because of another
// inside it, and one of a cleanup only if nothing else failed.
func failedLeaf(v *run.View) *run.SnapshotStep {
	failed := failedSteps(v)
	cleanup := func(st *run.SnapshotStep) bool { return st.Cleanup }
	if others := slices.DeleteFunc(slices.Clone(failed), cleanup); len(others) > 0 {
		failed = others
	}
	for _, st := range slices.Backward(failed) {
		inside := func(other *run.SnapshotStep) bool { return strings.HasPrefix(other.ID, st.ID+"/") }
		if !slices.ContainsFunc(failed, inside) {
			return st
		}
	}
	return nil
}

func (in *invocation) indented(words ...string) string { return "  " + in.command(words...) }

func (in *invocation) adviceSuspended(v *run.View) []string {
	givenUp := func(st *run.SnapshotStep) bool { return st.Status == run.StatusStepCancelled }
	doubts := slices.DeleteFunc(inDoubt(v), givenUp)
	lines := adviceCopy(v)
	for _, st := range doubts {
		lines = append(lines, in.adviceDoubt(v, st)...)
	}
	if v.Copy != "" {
		then := "If it does not, to go on here:"
		if len(doubts) > 0 {
			then = "Then, if it does not go on there, to go on here:"
		}
		return append(lines, then, in.indented("continue", short(v.RunID), "--takeover"))
	}
	if len(doubts) > 0 {
		return append(lines, "Then go on:", in.indented("continue", short(v.RunID)))
	}
	if code := v.Actions["continue"]; code != nil && *code == culm.CodeDeadlinePassed {
		return []string{"Its time is over. To grant more and go on:", in.indented("continue", short(v.RunID), "--extend", "10m")}
	}
	if v.CancelRequested != "" {
		return []string{"It is being cancelled. To clean up what it began, and end it:", in.indented("continue", short(v.RunID))}
	}
	return []string{"To go on:", in.indented("continue", short(v.RunID))}
}

// adviceCopy says what it means that the run was copied.
func adviceCopy(v *run.View) []string {
	switch v.Copy {
	case "":
		return nil
	case "imported":
		return []string{"It was imported, and may go on where it came from."}
	}
	return []string{"It came with a restored backup, and may have gone on since that was made."}
}

// adviceDoubt lists the ways out of one doubt, each with its meaning.
func (in *invocation) adviceDoubt(v *run.View, st *run.SnapshotStep) []string {
	lines := []string{
		fmt.Sprintf("Step %s began a call (effect: %s), and nobody knows whether it happened.", st.ID, st.Effect),
		"Look, and say which:",
	}
	ways := [][2]string{
		{in.resolveCommandLine(v, st, "--output", "JSON"), "it happened; this is its output"},
		{in.resolveCommandLine(v, st, "--fail", "MESSAGE"), "it did not happen: the step failed"},
		{in.resolveCommandLine(v, st, "--rerun"), "enter it again, whatever happened"},
	}
	width := 0
	for _, way := range ways {
		width = max(width, len(way[0]))
	}
	for _, way := range ways {
		lines = append(lines, fmt.Sprintf("%-*s  # %s", width, way[0], way[1]))
	}
	if st.Effect == "read" || st.Effect == "idempotent" {
		lines = append(lines, "By its tool's own word it is harmless to repeat. All such steps are entered again by:",
			in.indented("continue", short(v.RunID), "--rerun", "read,idempotent"))
	}
	return lines
}

func (in *invocation) resolveCommandLine(v *run.View, st *run.SnapshotStep, verdict ...string) string {
	return in.indented(append([]string{"resolve", short(v.RunID), shortest(v, st.ID)}, verdict...)...)
}

// short is the random end of a run's id, by which it can be named.
func short(runID string) string { return runID[strings.LastIndexByte(runID, '-')+1:] }

// shortest is how a step instance is typed most easily.
func shortest(v *run.View, id string) string {
	if found, err := matchStep(v, shortStep(id)); err == nil && found == id {
		return shortStep(id)
	}
	return id
}

// inDoubt lists the steps in doubt, as they were entered.
func inDoubt(v *run.View) []*run.SnapshotStep {
	var doubts []*run.SnapshotStep
	for _, st := range v.Steps {
		if st.InDoubt {
			doubts = append(doubts, st)
		}
	}
	slices.SortFunc(doubts, func(a, b *run.SnapshotStep) int {
		if a.StartedAt != nil && b.StartedAt != nil && !a.StartedAt.Equal(*b.StartedAt) {
			return a.StartedAt.Compare(*b.StartedAt)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return doubts
}

// outcome is one line on where the run stands.
func outcome(v *run.View) string {
	if v.Damaged != "" {
		return string(v.Status) + ", as far as its journal can be read"
	}
	switch v.Status {
	case run.StatusSuspended:
		if v.Suspension == nil {
			return "suspended"
		}
		words := "suspended: "
		if v.CancelRequested != "" {
			words = "suspended while it is being cancelled: "
		}
		if v.Copy == "imported" {
			return words + "it was imported"
		}
		return words + suspensionWords(v.Suspension.Kind)
	case run.StatusCancelled:
		if doubts := inDoubt(v); len(doubts) > 0 {
			return "cancelled, with " + stepList(doubts) + " in doubt: it may have happened"
		}
	case run.StatusQueued, run.StatusRunning:
		if abandoned(v) {
			return string(v.Status) + ", but the process that worked on it is gone"
		}
	}
	return string(v.Status)
}

func suspensionWords(kind run.SuspensionKind) string {
	switch kind {
	case run.KindRecovery:
		return "recovered after the process that worked on it was gone"
	case run.KindStopped:
		return "it was stopped"
	case run.KindInDoubt:
		return "a step is in doubt"
	case run.KindSleep:
		return "it sleeps"
	}
	return string(kind)
}

func stepList(steps []*run.SnapshotStep) string {
	names := make([]string, len(steps))
	for i, st := range steps {
		names[i] = st.ID
	}
	return strings.Join(names, ", ")
}
