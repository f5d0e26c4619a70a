package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/internal/cli/tree"
	"github.com/culm-dev/culm/run"
)

// finish says where a run that was followed stands: the output on standard
// output, everything else on standard error. The error is the exit status.
func (in *invocation) finish(v *run.View) error {
	if in.global.json() {
		if err := writeJSONDoc(in.Stdout, v); err != nil {
			return err
		}
		return exitOf(v)
	}
	if v.Status == run.StatusSucceeded {
		return writeOutput(in.Stdout, v.Output)
	}
	if v.Failure != nil {
		in.explain(v)
		in.note(in.look(v)...)
	}
	in.note(in.advice(v)...)
	return exitOf(v)
}

// writeOutput prints a result: a string as it is, anything else as JSON. A line
// feed is added only where none ends it.
func writeOutput(w io.Writer, output json.RawMessage) error {
	var text string
	if len(output) > 0 && output[0] == '"' && json.Unmarshal(output, &text) == nil {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		_, err := io.WriteString(w, text)
		return err
	}
	return writeIndented(w, output)
}

func writeJSONDoc(w io.Writer, v any) error {
	var b bytes.Buffer
	if err := writeJSONLine(&b, v); err != nil {
		return err
	}
	return writeIndented(w, b.Bytes())
}

func writeIndented(w io.Writer, raw json.RawMessage) error {
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(raw), "", "  "); err != nil {
		return fmt.Errorf("indent JSON: %w", err)
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// maxExplained is how many failed steps are told of one by one.
const maxExplained = 5

// explain says why a run failed, and which of its steps did.
func (in *invocation) explain(v *run.View) {
	f := &Failure{Code: string(v.Failure.Code), Message: v.Failure.Message}
	failed := failedSteps(v)
	if len(failed) == 1 && failed[0].Failure.Code == v.Failure.Code && strings.HasSuffix(v.Failure.Message, failed[0].Failure.Message) {
		f.Message = "step " + failed[0].ID + ": " + failed[0].Failure.Message + remarks(failed[0])
		failed = nil
	}
	for i, st := range failed {
		if i == maxExplained {
			f.help("… and %d more failed steps", len(failed)-i)
			break
		}
		f.Help = append(f.Help, explainStep(st))
	}
	var b strings.Builder
	f.write(&b, in.palette)
	in.note(strings.TrimRight(b.String(), "\n"))
}

func explainStep(st *run.SnapshotStep) string {
	return term.Clean(fmt.Sprintf("step %s: %s: %s%s", st.ID, st.Failure.Code, st.Failure.Message, remarks(st)))
}

// remarks are what else is worth knowing of a failed step, in parentheses.
func remarks(st *run.SnapshotStep) string {
	var marks []string
	if st.Attempts > 1 {
		marks = append(marks, fmt.Sprintf("attempt %d", st.Attempts))
	}
	if st.Attempts == 0 {
		marks = append(marks, "it was never entered")
	}
	if st.Failure.EffectDone {
		marks = append(marks, "its effect is done: only the output was rejected")
	}
	if len(marks) == 0 {
		return ""
	}
	return " (" + strings.Join(marks, "; ") + ")"
}

// failedSteps lists the steps that failed, the first to fail first.
func failedSteps(v *run.View) []*run.SnapshotStep {
	var failed []*run.SnapshotStep
	for _, st := range v.Steps {
		if st.Status == run.StatusStepFailed && st.Failure != nil {
			failed = append(failed, st)
		}
	}
	slices.SortFunc(failed, func(a, b *run.SnapshotStep) int {
		if a.EndedAt != nil && b.EndedAt != nil && !a.EndedAt.Equal(*b.EndedAt) {
			return a.EndedAt.Compare(*b.EndedAt)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return failed
}

// took is how long a run has been under way, waits included.
func took(v *run.View, now time.Time) string {
	if stands(v) {
		now = v.UpdatedAt
	}
	return tree.Duration(now.Sub(v.CreatedAt))
}

// stands reports whether the run's clock stands still: nothing more is known to
// have happened after its last event.
func stands(v *run.View) bool {
	return v.Status.Terminal() || v.Status == run.StatusSuspended || v.Damaged != ""
}
