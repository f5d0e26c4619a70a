package kernel_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

var update = flag.Bool("update", false, "write what the scripts give into them")

// TestScripts plays testdata/script/*.txt. Each holds definitions, and a script: a
// line that begins with > is something that happens, and below it stands what the
// machine then says. See the methods of script for the words. After each command a
// new owner's walk over the journal has to say the same.
func TestScripts(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/script/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			play(t, path)
		})
	}
}

func play(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var sources []*workflow.Source
	for i, f := range archive.Files {
		name, isDefinition := strings.CutSuffix(f.Name, ".yaml")
		if !isDefinition {
			want := string(f.Data)
			got := newScript(t, sources).play(want)
			if diff := cmp.Diff(want, got); diff != "" && !*update {
				t.Errorf("%s: %s differs (-want +got):\n%s", path, f.Name, diff)
			}
			archive.Files[i].Data = []byte(got)
			continue
		}
		head := fmt.Sprintf("workflow_schema: 1\nid: %s\nrevision: 1\n", name)
		src, err := workflow.Load(f.Name, append([]byte(head), f.Data...))
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, src)
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// script is one run of the archive's first definition.
type script struct {
	t *testing.T
	*sim
	out []string
}

func newScript(t *testing.T, sources []*workflow.Source) *script {
	prog, err := workflow.Compile(sources[0], workflow.NewSnapshot(sources...), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t, sim: newSim(prog)}
	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *script) play(text string) string {
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
			s.say("%s", line)
		case words[0] == ">":
			s.say("%s", line)
			s.command(words[1], words[2:])
		}
	}
	return strings.Join(s.out, "\n") + "\n"
}

func (s *script) say(format string, args ...any) { s.out = append(s.out, fmt.Sprintf(format, args...)) }

func (s *script) command(verb string, args []string) {
	events := len(s.events)
	if err := s.perform(verb, args); err != nil {
		s.say("error: %v", err)
		s.rewind(events)
		return
	}
	if verb != "see" {
		s.report()
	}
}

// rewind goes back to a prefix of the journal: a machine that refused an event
// must not be used any more.
func (s *script) rewind(events int) {
	s.events = s.events[:events]
	st, err := run.Fold(s.events)
	if err != nil {
		s.t.Fatal(err)
	}
	s.m = kernel.Walk(s.prog, st)
}

// perform does a command:
//
//	look                       nothing happens
//	start ID.. [as=EFFECT] [for=DURATION]
//	complete ID..              calls succeed
//	fail ID.. [retryable]      calls fail, or steps that cannot be entered
//	doubt ID..                 calls are given up without an outcome
//	stopped ID..               calls return because they were cancelled
//	resolve ID VERDICT         succeeded, failed, retryable or rerun
//	decide NODE VALUE          true, false, a number of items, or fails
//	refuse NODE                no budget is left for a retry round
//	skip, finish, resume, rerun, cancel, expire, reserve
//	                           what the machine proposes in these words
//	cancel-run, expire-run, expire-cleanup, recover, stop, end
//	continue [EFFECT..]        with reruns permitted
//	wait DURATION
//	due                        what has to be recorded at once
//	see PLACE args|step|previous|item|outcome [NAME]
func (s *script) perform(verb string, args []string) error {
	switch verb {
	case "look":
		return nil
	case "see":
		return s.see(args)
	case "due":
		for _, a := range s.m.Due(s.now) {
			s.say("due: %s", s.carried(describe(a)))
		}
		return nil
	case "decide", "refuse":
		return s.decide(args[0], args[1:])
	case "resolve":
		return s.resolve(args[0], args[1])
	case "skip", "finish", "resume", "rerun", "cancel", "expire", "reserve":
		return s.propose(verb + " " + args[0])
	case "start", "complete", "fail", "doubt", "stopped":
		return s.each(verb, args)
	}
	return s.happen(verb, args)
}

// happen does what concerns the run as a whole.
func (s *script) happen(verb string, args []string) error {
	switch verb {
	case "cancel-run":
		return s.emit("", &run.CancelRequested{By: "someone"})
	case "expire-run":
		return s.emit("", &run.Decided{Node: run.WallTimeNode, Failure: &run.Failure{Code: run.BudgetExceeded, Message: "time is over"}})
	case "expire-cleanup":
		return s.emit("", &run.Decided{Node: run.CleanupTimeNode, Failure: &run.Failure{Code: run.BudgetExceeded, Message: "time to clean up is over"}})
	case "recover":
		return s.giveUp(s.state().RecoverBodies())
	case "stop":
		return s.giveUp(s.state().SuspendBodies(run.KindStopped))
	case "continue":
		return s.emit("", &run.Started{By: "someone", Rerun: args})
	case "wait":
		d, err := time.ParseDuration(args[0])
		s.now = s.now.Add(d)
		return err
	case "end":
		end, ok := s.m.End()
		if !ok {
			return fmt.Errorf("the run does not end yet")
		}
		return s.end(end)
	}
	return fmt.Errorf("unknown command %q", verb)
}

// each does the same for several steps.
func (s *script) each(verb string, args []string) error {
	effect, sleep, retryable := "write", 10*time.Second, false
	var ids []string
	for _, arg := range args {
		switch key, value, _ := strings.Cut(arg, "="); key {
		case "as":
			effect = value
		case "for":
			d, err := time.ParseDuration(value)
			if err != nil {
				return err
			}
			sleep = d
		case "retryable":
			retryable = true
		default:
			ids = append(ids, arg)
		}
	}
	for _, id := range ids {
		if err := s.one(verb, id, effect, sleep, retryable); err != nil {
			return err
		}
	}
	return nil
}

func (s *script) one(verb, id, effect string, sleep time.Duration, retryable bool) error {
	switch verb {
	case "start":
		info := s.m.Declared(id)
		if info == nil {
			return fmt.Errorf("no step %s", id)
		}
		return s.start(id, info, effect, sleep)
	case "complete":
		return s.emit(id, &run.StepCompleted{Output: run.Raw(strconv.Quote(id))})
	case "fail":
		return s.emit(id, &run.StepFailed{Failure: *failed(id, retryable)})
	case "doubt":
		return s.emit(id, &run.StepSuspended{Reason: string(run.OutcomeUnknown), InDoubt: true})
	}
	return s.emit(id, &run.StepCancelled{})
}

func failed(id string, retryable bool) *run.Failure {
	return &run.Failure{Code: run.ExecutionFailed, Message: id + " failed", Retryable: retryable}
}

func (s *script) resolve(id, verdict string) error {
	body := &run.StepResolved{By: "someone", Verdict: run.Verdict(verdict)}
	switch verdict {
	case "succeeded":
		body.Output = run.Raw(strconv.Quote(id))
	case "failed", "retryable":
		body.Verdict, body.Failure = run.VerdictFailed, failed(id, verdict == "retryable")
	}
	return s.emit(id, body)
}

// propose does what the machine proposes under these words.
func (s *script) propose(words string) error {
	a, err := s.pending(words)
	if err != nil {
		return err
	}
	return s.do(a)
}

// pending finds an action by the first words of its description.
func (s *script) pending(words string) (kernel.Action, error) {
	for _, a := range s.m.Pending(s.now) {
		if text := describe(a); text == words || strings.HasPrefix(text, words+" ") {
			return a, nil
		}
	}
	return kernel.Action{}, fmt.Errorf("the machine does not propose to %s", words)
}

// decide records a decision, or without a value that there is no budget for a round.
func (s *script) decide(node string, value []string) error {
	if len(value) == 0 {
		a, err := s.pending("reserve " + node)
		if err != nil {
			return err
		}
		return s.emit("", &run.Decided{Node: a.Node, Scope: a.Scope, Failure: &run.Failure{Code: run.BudgetExceeded, Message: "no retries left"}, Cleanup: a.Cleanup})
	}
	a, err := s.pending("decide " + node)
	if err != nil {
		return err
	}
	d := &run.Decided{Node: a.Node, Scope: a.Scope, Value: run.Raw(value[0]), Cleanup: a.Cleanup}
	switch {
	case value[0] == "fails":
		d.Value, d.Failure = nil, &run.Failure{Code: run.ExpressionFailed, Message: "no value"}
	case a.Plan.Type == workflow.MapNode:
		d.Value = run.Raw(`[]`)
		if d.Count, err = strconv.Atoi(value[0]); err != nil {
			return err
		}
	}
	return s.emit("", d)
}

// see tells what a template at an open step, or a node that is to be decided, reads.
func (s *script) see(args []string) error {
	v, ok := s.m.ViewOf(args[0])
	if !ok {
		a, err := s.pending("decide " + args[0])
		if err != nil {
			return err
		}
		v = a.View
	}
	var val kernel.Val
	switch args[1] {
	case "args":
		val = v.Args()
		s.say("run %s of %s", v.RunID(), v.Workflow().Ref)
	case "step":
		val, ok = v.Step(args[2])
	case "previous":
		val, ok = v.Previous(args[2])
	case "item":
		val, ok = v.Item(args[2])
	case "outcome":
		val, ok = v.Outcome()
	}
	if !ok && args[1] != "args" {
		s.say("nothing")
		return nil
	}
	s.say("%s", s.carried(place(val)))
	return nil
}

// carried puts what carries a value in the place of its event's number.
func (s *script) carried(text string) string {
	for _, ev := range slices.Backward(s.events) {
		by := ev.StepID
		switch b := ev.Body.(type) {
		case *run.Queued:
			by = "args"
		case *run.StepStarted:
			by = "args of " + ev.StepID
		case *run.Decided:
			by = "items of " + b.Scope + b.Node
		}
		text = strings.ReplaceAll(text, fmt.Sprintf("$%d", ev.Sequence), by)
	}
	return text
}

// report says all that the machine does, in the order in which it proposes it.
func (s *script) report() {
	if status := s.state().Status; status.Terminal() {
		s.say("run %s", status)
		return
	}
	for _, a := range s.m.Pending(s.now) {
		s.say("%s", s.carried(describe(a)))
	}
	s.list("running", s.running())
	s.list("in doubt", s.doubts())
	if aborts := s.m.Aborts(); len(aborts) > 0 {
		s.say("abort %s", strings.Join(aborts, " "))
	}
	if wake := s.m.Wake(); !wake.IsZero() {
		s.say("wake in %s", wake.Sub(s.now))
	}
	if s.m.Stuck() {
		s.say("stuck")
	}
	if end, ok := s.m.End(); ok {
		s.say("end %s", s.carried(describeEnd(end)))
	}
	s.checkWalk()
}

func (s *script) list(what string, steps []*run.Step) {
	if len(steps) == 0 {
		return
	}
	ids := make([]string, len(steps))
	for i, st := range steps {
		ids[i] = st.ID
	}
	s.say("%s %s", what, strings.Join(ids, " "))
}

func (s *script) checkWalk() {
	other, err := s.walked()
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(observe(other, s.now), observe(s.m, s.now)); diff != "" {
		s.t.Errorf("after\n%s\nthe machine differs from a walk over its state (-walk +machine):\n%s", strings.Join(s.out, "\n"), diff)
	}
}
