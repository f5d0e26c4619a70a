package engine

import (
	"errors"
	"maps"
	"strings"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/run"
)

// maxTakeover is how many bytes of outputs a restarted run takes over. They are
// all written in the commit that makes it.
const maxTakeover = 256 << 20

// takeover is what a run takes over from the one that it is restarted from, with
// all values at hand: from its first commit on it does not need the old run.
type takeover struct {
	at     string // the step instance from which it goes on
	bodies []adopted
}

// adopted is one event: of a step, or of a node if stepID is "".
type adopted struct {
	stepID string
	body   run.Body
}

// takeOver finds what the run hands on to one that goes on from a step. The run
// must have been loaded with its values.
func (l *loaded) takeOver(step string) (*takeover, error) {
	if l.damaged != "" {
		return nil, refuse(CodeDamaged, "run %s is damaged: %s", l.head.Stream, l.damaged).with("reason", l.damaged).
			hint("nothing can be taken over from it; it can be restarted from its beginning: culm restart %s", l.head.Stream)
	}
	found, err := l.findTaken(step)
	if err != nil {
		return nil, err
	}
	t := &takeover{at: found.At, bodies: make([]adopted, 0, len(found.Taken))}
	size := 0
	for _, one := range found.Taken {
		a, n, err := l.adopted(one)
		if err != nil {
			return nil, err
		}
		if size += n; size > maxTakeover {
			return nil, refuse(CodeTooLarge, "the outputs before step %s have more than %d MiB, and at most that is taken over", found.At, maxTakeover>>20).
				hint("restart the run from its beginning, or from an earlier step")
		}
		t.bodies = append(t.bodies, a)
	}
	return t, nil
}

func (l *loaded) findTaken(step string) (found *kernel.Takeover, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = refuse(CodeDamaged, "walking the plan over the journal: %v", p)
		}
	}()
	found, err = kernel.TakeOver(l.prog, l.st, step)
	var no *kernel.FromError
	if errors.As(err, &no) {
		return nil, fromRefusal(no)
	}
	return found, err
}

func fromRefusal(no *kernel.FromError) *Error {
	switch no.Kind {
	case kernel.NoSuchStep:
		r := refuse(CodeStepNotFound, "%s", no.Message)
		if near := canon.Near(no.Step[strings.LastIndexByte(no.Step, '/')+1:], no.Steps); near != "" {
			r.hint("did you mean %q?", near)
		}
		return r
	case kernel.AmbiguousStep:
		const told, hinted = 20, 3 // of what may be ten thousand
		return refuse(CodeAmbiguous, "%s", no.Message).with("steps", no.Steps[:min(told, len(no.Steps))]).
			hint("name one, such as %s", orList(no.Steps[:min(hinted, len(no.Steps))]))
	}
	r := refuse(CodeStepNotReached, "%s", no.Message)
	if len(no.Steps) == 0 {
		return r.hint("name a step that the run came to")
	}
	return r.with("steps", no.Steps).hint("restart it from there: --from %s", no.Steps[0])
}

func orList(names []string) string {
	text := ""
	for i, name := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			text += " or "
		default:
			text += ", "
		}
		text += name
	}
	return text
}

// adopted makes the event that hands one thing on, and says how large its value is.
func (l *loaded) adopted(one kernel.Taken) (adopted, int, error) {
	if one.Step == nil {
		b := &run.NodeAdopted{Node: one.Node, Scope: one.Scope, Round: one.Round}
		if d := one.Decision; d != nil {
			b.Value, b.Count, b.Failure = d.Value.Raw, d.Count, d.Failure
		}
		return adopted{body: b}, len(b.Value), nil
	}
	b := &run.StepAdopted{FromRun: one.Step.AdoptedFrom, InputHash: one.Step.InputHash, Failure: one.Step.Failure}
	b.Cancelled = one.Step.Status == run.StatusStepCancelled
	if b.FromRun == "" {
		b.FromRun = l.st.RunID
	}
	if one.Step.Status == run.StatusStepSucceeded {
		b.Output = one.Step.Output.Raw
		if err := stillValid(one); err != nil {
			return adopted{}, 0, err
		}
	}
	return adopted{stepID: one.Step.ID, body: b}, len(b.Output), nil
}

// stillValid checks an output that is to be handed on as continuing does.
func stillValid(one kernel.Taken) error {
	schema := one.Declared.Output
	if schema == nil {
		return nil
	}
	v, err := canon.Decode(one.Step.Output.Raw)
	if err == nil {
		err = schema.Validate(v)
	}
	if err == nil {
		return nil
	}
	return refuse(CodeOutputInvalid, "the recorded output of step %s does not satisfy its output_schema: %v", one.Step.ID, err).
		with("steps", []string{one.Step.ID})
}

// adopt puts what the run takes over into its first commit.
func (o *owner) adopt(t *takeover) error {
	for _, a := range t.bodies {
		switch b := a.body.(type) {
		case *run.StepAdopted:
			b.Output, b.OutputBlob = o.holdRaw(b.Output)
		case *run.NodeAdopted:
			b.Value, b.ValueBlob = o.holdRaw(b.Value)
		}
		if err := o.emit(a.stepID, a.body); err != nil {
			return err
		}
	}
	return nil
}

// labelsAgain are the old run's labels, with those that the restart names.
func (l *loaded) labelsAgain(opts RestartOptions) map[string]string {
	if len(opts.Labels) == 0 {
		return l.st.Labels
	}
	labels := maps.Clone(l.st.Labels)
	if labels == nil {
		labels = make(map[string]string, len(opts.Labels))
	}
	maps.Copy(labels, opts.Labels)
	return labels
}
