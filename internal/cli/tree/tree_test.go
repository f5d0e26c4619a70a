package tree_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/internal/cli/tree"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

var update = flag.Bool("update", false, "write golden files")

// start is when every run of these tests begins.
func start() time.Time { return time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC) }

func program(t *testing.T) *workflow.Program {
	t.Helper()
	src, err := workflow.LoadFile("testdata/all.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := workflow.Compile(src, workflow.DirCatalog("testdata"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// journal feeds a model with events, one every 100 ms.
type journal struct {
	t     *testing.T
	model *tree.Model
	seq   uint64
}

func begin(t *testing.T, outline *tree.Item) *journal {
	j := &journal{t: t, model: tree.NewModel(outline)}
	j.add("", &run.Queued{
		RootRunID: "r", Definition: run.DefinitionRef{ID: "release", Revision: 3},
		Budget: run.Budget{WallTimeMS: 900_000}, CreatedAt: start(),
	})
	j.add("", &run.Started{})
	return j
}

func (j *journal) now() time.Time { return start().Add(time.Duration(j.seq) * 100 * time.Millisecond) }

func (j *journal) add(step string, body run.Body) {
	j.t.Helper()
	j.seq++
	ev := run.Event{Header: run.Header{RunID: "r", Sequence: j.seq, At: j.now(), StepID: step}, Body: body}
	if err := j.model.Apply(ev); err != nil {
		j.t.Fatal(err)
	}
}

func (j *journal) enter(steps ...string) {
	for _, step := range steps {
		j.add(step, &run.StepStarted{Attempt: j.attempts(step) + 1, Effect: "read", Reservation: run.Amounts{"steps": 1}})
	}
}

func (j *journal) attempts(step string) int {
	if st := j.model.State().Steps[step]; st != nil {
		return st.Attempts
	}
	return 0
}

func (j *journal) done(steps ...string) {
	for _, step := range steps {
		j.enter(step)
		j.add(step, &run.StepCompleted{Output: json.RawMessage("true")})
	}
}

func (j *journal) fail(step string) {
	j.enter(step)
	j.add(step, &run.StepFailed{Failure: run.Failure{Code: run.ExecutionFailed, Message: "exit status 3", Retryable: true}})
}

func (j *journal) items(node string, n int) {
	j.add("", &run.Decided{Node: node, Count: n})
}

func (j *journal) draw(width, lines int) string {
	rows := tree.Fit(j.model.Rows(j.now()), lines)
	return strings.Join(tree.Lines(rows, tree.Pen{Width: width, Turn: start()}), "\n") + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func TestTreeShowsWhatIsToCome(t *testing.T) {
	t.Parallel()
	golden(t, "begin", begin(t, tree.Outline(program(t))).draw(100, 50))
}

func TestTreeInTheMiddle(t *testing.T) {
	t.Parallel()
	j := begin(t, tree.Outline(program(t)))
	middle(j)
	golden(t, "middle", j.draw(100, 50))
	golden(t, "middle_narrow", j.draw(48, 50))
	golden(t, "middle_low", j.draw(100, 12))
}

// middle leaves a run with a step in each state that can be told apart.
func middle(j *journal) {
	j.done("head")
	j.items("/plan/nodes/1", 1000)
	for i := range 812 {
		j.done(fmt.Sprintf("measure@root[%d]", i))
	}
	j.fail("measure@root[812]")
	for i := 813; i < 820; i++ {
		j.enter(fmt.Sprintf("measure@root[%d]", i))
	}
	j.model.Say("measure@root[813]", "4 of 9\x1b[31m MiB\n")
	j.enter("lint")
	j.add("lint", &run.StepSuspended{Reason: string(run.OutcomeUnknown), InDoubt: true})
	j.enter("vet")
	j.add("vet", &run.StepCancelled{})
	j.done("dirty")
	j.add("", &run.Decided{Node: "/plan/nodes/4", Value: json.RawMessage("true")})
	j.add("fine", &run.StepSkipped{Reason: run.SkipNotTaken})
	j.done("warn")
	j.fail("fetch")
	j.add("", &run.RetryReserved{Node: "/plan/nodes/5", Round: 1, Due: j.now().Add(3 * time.Second)})
	j.done("poll@root#0")
	j.add("", &run.Decided{Node: "/plan/nodes/6", Value: json.RawMessage("false")})
	j.enter("poll@root#1")
	j.add("audit", &run.StepStarted{Attempt: 1, ChildRunID: "c", Reservation: run.Amounts{"steps": 1}})
	j.done("audit/scan")
	j.enter("audit/sign")
}

func TestTreeOfAFinishedRun(t *testing.T) {
	t.Parallel()
	j := begin(t, tree.Outline(program(t)))
	j.done("head")
	j.items("/plan/nodes/1", 2)
	j.done("measure@root[0]", "measure@root[1]", "lint", "vet", "dirty")
	j.add("", &run.Decided{Node: "/plan/nodes/4", Value: json.RawMessage("false")})
	j.add("warn", &run.StepSkipped{Reason: run.SkipNotTaken})
	j.fail("fetch")
	j.add("", &run.RetryReserved{Node: "/plan/nodes/5", Round: 1, Due: j.now()})
	j.done("fine", "fetch", "poll@root#0", "cool")
	j.enter("audit")
	j.done("audit/scan", "audit/sign")
	j.add("audit", &run.StepCompleted{})
	j.add("", &run.Succeeded{})
	golden(t, "finished", j.draw(100, 50))
	golden(t, "finished_low", j.draw(100, 6))
}

func TestTreeWithoutAPlanListsStepsAsTheyWereEntered(t *testing.T) {
	t.Parallel()
	j := begin(t, nil)
	j.done("head", "measure@root[0]", "measure@root[1]")
	j.enter("audit", "audit/scan")
	golden(t, "planless", j.draw(100, 50))
}

func TestTreeOfASnapshotShowsTheSameSteps(t *testing.T) {
	t.Parallel()
	j := begin(t, tree.Outline(program(t)))
	middle(j)
	for _, ev := range j.model.State().SuspendBodies(run.KindStopped) {
		j.add(ev.StepID, ev.Body)
	}
	m := tree.NewModel(tree.Outline(program(t)))
	m.Load(j.model.State().Snapshot())
	want, got := marks(j.model.Rows(j.now())), marks(m.Rows(j.now()))
	// Only the journal knows how many items a map has, and what comes of a retry.
	delete(want, "fetch")
	delete(got, "fetch")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the snapshot's tree differs from the journal's (-journal +snapshot):\n%s", diff)
	}
}

func marks(rows []tree.Row) map[string]tree.Mark {
	m := map[string]tree.Mark{}
	for _, r := range rows {
		if !r.Group && r.Detail != "" {
			m[r.Name] = r.Mark
		}
	}
	return m
}

func TestTreeFitsAnyTerminal(t *testing.T) {
	t.Parallel()
	j := begin(t, tree.Outline(program(t)))
	middle(j)
	for lines := 2; lines < 40; lines++ {
		for _, width := range []int{20, 33, 80, 200} {
			rows := tree.Fit(j.model.Rows(j.now()), lines)
			if len(rows) > lines {
				t.Fatalf("%d lines for %d", len(rows), lines)
			}
			for _, line := range tree.Lines(rows, tree.Pen{Width: width, Turn: start()}) {
				if n := len([]rune(line)); n > width {
					t.Fatalf("line of %d columns for %d: %q", n, width, line)
				}
			}
		}
	}
}

func TestSmallTerminalKeepsWhatIsInDoubt(t *testing.T) {
	t.Parallel()
	j := begin(t, tree.Outline(program(t)))
	middle(j)
	if got := j.draw(100, 3); !strings.Contains(got, "in doubt") {
		t.Errorf("the step in doubt is not shown in:\n%s", got)
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0ms", 340 * time.Millisecond: "340ms", 3290 * time.Millisecond: "3.2s",
		125 * time.Second: "2m05s", 200 * time.Minute: "3h20m", 52 * time.Hour: "2d4h",
	} {
		if got := tree.Duration(d); got != want {
			t.Errorf("Duration(%v) = %s, want %s", d, got, want)
		}
	}
}
