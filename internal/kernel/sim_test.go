package kernel_test

import (
	"fmt"
	"time"

	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// sim stands in for the engine: it makes events, and applies them to a machine as
// they would be read back from a journal.
type sim struct {
	prog   *workflow.Program
	m      *kernel.Machine
	events []run.Event
	now    time.Time
}

func epoch() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) }

func newSim(prog *workflow.Program) *sim {
	return &sim{prog: prog, m: kernel.New(prog), now: epoch()}
}

// begin queues and starts the run.
func (s *sim) begin() error {
	err := s.emit("", &run.Queued{
		RootRunID: "r", SessionID: "local", Budget: run.Budget{WallTimeMS: 3_600_000, MaxConcurrency: 4},
		Args: run.Raw(`{}`), Semantics: run.Semantics, CreatedAt: s.now,
	})
	if err != nil {
		return err
	}
	return s.emit("", &run.Started{By: "test"})
}

// emit applies an event after it went to a journal line and back.
func (s *sim) emit(step string, body run.Body) error {
	ev := run.Event{Header: run.Header{RunID: "r", Sequence: s.state().Last + 1, At: s.now, StepID: step}, Body: body}
	line, err := ev.Encode()
	if err != nil {
		return err
	}
	if ev, err = run.Decode(line); err != nil {
		return err
	}
	if err := s.m.Apply(ev); err != nil {
		return err
	}
	s.events = append(s.events, ev)
	return nil
}

// inCleanup reports whether an open step's event is to say that it is of a cleanup.
func (s *sim) inCleanup(id string) bool {
	v, ok := s.m.ViewOf(id)
	if !ok {
		return false
	}
	_, ok = v.Outcome()
	return ok
}

func (s *sim) state() *run.State { return s.m.State() }

// walked is a machine that a new owner would make of what is recorded.
func (s *sim) walked() (*kernel.Machine, error) {
	st, err := copyState(s.state())
	if err != nil {
		return nil, err
	}
	return kernel.Walk(s.prog, st), nil
}

func copyState(st *run.State) (*run.State, error) {
	data, err := st.EncodeCheckpoint()
	if err != nil {
		return nil, err
	}
	return run.DecodeCheckpoint(data)
}

// running are the steps that calls are in flight for.
func (s *sim) running() []*run.Step {
	var calls []*run.Step
	for _, st := range s.state().OpenSteps() {
		if st.Status == run.StatusStepRunning && st.Effect != "" {
			calls = append(calls, st)
		}
	}
	return calls
}

func (s *sim) doubts() []*run.Step {
	var doubts []*run.Step
	for _, st := range s.state().OpenSteps() {
		if st.InDoubt {
			doubts = append(doubts, st)
		}
	}
	return doubts
}

// start records that a step is entered. A sleep takes the given time.
func (s *sim) start(id string, info *workflow.StepInfo, effect string, sleep time.Duration) error {
	body := &run.StepStarted{Attempt: 1, InputHash: "h", Reservation: run.Amounts{"steps": 1}, Cleanup: s.inCleanup(id)}
	rec := s.state().Steps[id]
	if rec != nil {
		body.Attempt = rec.Attempts + 1
	}
	switch info.Def.Type {
	case workflow.ToolStep:
		body.Effect = effect
	case workflow.WorkflowStep:
		body.ChildRunID, body.Args = "child of "+id, run.Raw(`{}`)
		body.Workflow = &run.DefinitionRef{ID: info.Def.WorkflowID, Revision: info.Def.Revision}
	}
	if err := s.emit(id, body); err != nil || info.Def.Type != workflow.SleepStep {
		return err
	}
	return s.emit(id, &run.WaitSet{Deadline: s.now.Add(sleep)})
}

// do records an action that leaves nothing to choose.
func (s *sim) do(a kernel.Action) error {
	switch a.Do {
	case kernel.Skip:
		return s.emit(a.StepID, &run.StepSkipped{Reason: a.Reason})
	case kernel.Rerun:
		return s.emit(a.StepID, &run.StepResolved{Verdict: run.VerdictRerun, By: "definition"})
	case kernel.Resume:
		return s.emit(a.StepID, &run.StepResumed{})
	case kernel.Cancel:
		return s.emit(a.StepID, &run.StepCancelled{InDoubt: a.InDoubt})
	case kernel.Expire:
		return s.emit("", &run.Decided{Node: a.Node, Scope: a.Scope, Failure: kernel.TimedOut(a.Step), Cleanup: a.Cleanup})
	case kernel.Reserve:
		return s.emit("", &run.RetryReserved{
			Node: a.Node, Scope: a.Scope, Round: a.Round, Due: s.now.Add(a.Delay), Reservation: run.Amounts{"retries": 1},
			Cleanup: a.Cleanup,
		})
	case kernel.Finish:
		return s.finish(a)
	}
	return fmt.Errorf("do %v: it leaves a choice", a.Do)
}

func (s *sim) finish(a kernel.Action) error {
	switch a.Result.Kind {
	case kernel.Cancelled:
		return s.emit(a.StepID, &run.StepCancelled{})
	case kernel.Failed:
		return s.emit(a.StepID, &run.StepFailed{Failure: *a.Result.Failure})
	}
	return s.emit(a.StepID, &run.StepCompleted{Output: run.Raw(`"done"`)})
}

// giveUp suspends the run, as its living owner does or as recovering a dead one's.
func (s *sim) giveUp(bodies []run.Event) error {
	for _, ev := range bodies {
		if err := s.emit(ev.StepID, ev.Body); err != nil {
			return err
		}
	}
	return nil
}

// end records the run's end.
func (s *sim) end(e kernel.End) error {
	switch e.Kind {
	case kernel.Cancelled:
		return s.emit("", &run.CancelledRun{})
	case kernel.Failed:
		return s.emit("", &run.Failed{Failure: *e.Failure})
	}
	return s.emit("", &run.Succeeded{Output: run.Raw(`"done"`)})
}
