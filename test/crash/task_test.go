//go:build unix

package crash_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/testkit/crashpoint"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// op is what a helper process does.
type op string

const (
	opLook     op = "look"     // nothing, but to report
	opRun      op = "run"      // starts the pair and sees it through
	opRecover  op = "recover"  // recovers everything
	opContinue op = "continue" // continues the run and sees it through
	opResolve  op = "resolve"  // decides on the step, by what the log of effects says
	opCancel   op = "cancel"   // cancels the run
	opRestart  op = "restart"  // restarts the run and sees the new one through
	opFinish   op = "finish"   // takes the run up, whatever state it is in, and sees it through
	opShape    op = "shape"    // starts the shape, unless it was started, and finishes it
	opCompete  op = "compete"  // runs workflows until its standard input ends
)

// task is what a helper process is told.
type task struct {
	Op      op
	Data    string
	Files   bool // the data is a store of files
	Effects string
	// Die and Step say where the process dies.
	Die  crashpoint.Point
	Step string
	// Run is the run to act on.
	Run   string
	Shape shape
}

// report is what a helper process says, in the end or when it has begun.
type report struct {
	// Began is the run as starting or continuing it returned it.
	Began *run.View `json:"began,omitempty"`
	// Final is false in what is said at the beginning.
	Final bool `json:"final"`
	Runs  []culm.Summary
	// View is the run at the end, with values.
	View      *run.View
	Account   store.Account
	Recovered []string // runs
	Refused   string   // code
	Doubts    []string // of a refusal with step_in_doubt
}

// helper starts a helper process.
func (s *site) helper(k task) *process {
	s.t.Helper()
	return s.launch("helper-"+string(k.Op), s.helperCommand(k))
}

func (s *site) helperCommand(k task) *exec.Cmd {
	s.t.Helper()
	k.Data, k.Files, k.Effects = s.data, s.kind == inFiles, s.effects
	text, err := json.Marshal(k)
	if err != nil {
		s.t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = s.environment(taskVariable + "=" + string(text))
	return cmd
}

// dies runs a helper process that must die at its point, and reaps it.
func (s *site) dies(k task) *process {
	s.t.Helper()
	p := s.helper(k)
	p.want(int(k.Die))
	return p
}

// does runs a helper process to its end, and returns what it says.
func (s *site) does(k task) report {
	s.t.Helper()
	p := s.helper(k)
	p.want(0)
	return p.report()
}

// look is what a new process finds.
func (s *site) look(run string) report {
	s.t.Helper()
	return s.does(task{Op: opLook, Run: run})
}

// report is the last that a helper process said, with how it began.
func (p *process) report() report {
	p.t.Helper()
	all := lines[report](p)
	if len(all) == 0 || !all[len(all)-1].Final {
		p.t.Fatalf("%s did not report:\n%s%s", p.name, p.stdout(), p.stderr())
	}
	last := all[len(all)-1]
	last.Began = all[0].Began
	return last
}

// began is the run as a helper process began to work on it.
func (p *process) began() *run.View {
	p.t.Helper()
	all := lines[report](p)
	if len(all) == 0 || all[0].Began == nil {
		p.t.Fatalf("%s did not begin:\n%s%s", p.name, p.stdout(), p.stderr())
	}
	return all[0].Began
}

// helper is the whole of a helper process; it returns its exit status.
func helper(text string) int {
	var k task
	err := json.Unmarshal([]byte(text), &k)
	if err == nil {
		err = perform(k)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
