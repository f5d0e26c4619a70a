//go:build unix

package crash_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/culm-dev/culm/run"
)

const sleeper = `workflow_schema: 1
id: sleeper
revision: 1
steps:
  - {id: first, type: tool, tool: exec, args: {shell: EFFECT}}
  - {id: nap, type: sleep, duration_ms: %d}
  - {id: last, type: tool, tool: exec, args: {shell: EFFECT}}
`

// TestKilledInASleep: the run goes on by itself, no finished step is entered again,
// and the sleep ends when it was to end from the beginning.
func TestKilledInASleep(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.workflow("sleeper.yaml", fmt.Sprintf(sleeper, 4000), "")
	owner := s.startCulm("run", "sleeper.yaml", "--trust", "--allow", "exec")
	deadline := s.recorded("wait_set", "nap").Deadline
	owner.mustKill()
	before := s.journal("")
	s.culm(0, "recover").wantSaid("Recovered run " + before.Run)
	s.wantTimes(map[string]int{"first": 1})
	s.culm(0, "continue", before.Run)

	s.wantExtended(before)
	all := s.events("")
	wantOnce(t, all, "step_started first", "step_started nap", "wait_set nap", "step_completed nap", "step_started last")
	if woke := s.recorded("step_completed", "nap").At; woke.Before(deadline) {
		t.Errorf("it woke at %s, before its deadline %s", woke, deadline)
	}
	s.wantTimes(map[string]int{"first": 1, "last": 1})
	s.check()
}

// TestASleepThatEndsWhileNobodyLives: it is over when the run is continued.
func TestASleepThatEndsWhileNobodyLives(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.workflow("sleeper.yaml", fmt.Sprintf(sleeper, 700), "")
	owner := s.startCulm("run", "sleeper.yaml", "--trust", "--allow", "exec")
	deadline := s.recorded("wait_set", "nap").Deadline
	owner.mustKill()
	before := s.journal("")
	eventually(t, "the deadline passed", func() bool { return time.Now().After(deadline) })
	s.culm(0, "continue", before.Run)
	all := s.events("")
	wantOnce(t, all, "step_started nap", "wait_set nap", "step_completed nap", "step_started last")
	s.wantExtended(before)
	s.wantTimes(map[string]int{"first": 1, "last": 1})
	s.check()
}

// wantOnce checks that events, by type and step, are there once.
func wantOnce(t *testing.T, all []entry, names ...string) {
	t.Helper()
	for _, name := range names {
		var typ, step string
		if _, err := fmt.Sscan(name, &typ, &step); err != nil {
			t.Fatal(err)
		}
		if n := count(all, typ, step); n != 1 {
			t.Errorf("%d times %s, want once", n, name)
		}
	}
}

// slow is a step that reads until a moment in time, in seconds since 1970.
const slow = `workflow_schema: 1
id: slow
revision: 1
input_schema: {type: object, properties: {until: {type: number}}, required: [until]}
steps:
  - {id: files, type: tool, tool: glob, args: {pattern: "**/*.yaml"}}
  - id: read
    type: tool
    tool: json
    args: {input: {from: args, pointer: /until}, program: ". as $until | def spin: if now < $until then spin else true end; spin"}
  - {id: last, type: tool, tool: echo, args: {value: read}}
`

// TestKilledInAReadStepOfANewProject: what init makes says that reads are repeated, so
// continue just goes on.
func TestKilledInAReadStepOfANewProject(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.culm(0, "init")
	s.culm(0, "run", "hello").wantSaid("Hello, world! YAML files in this project: 3")
	s.write("workflows/slow.yaml", slow)
	until := time.Now().Add(5 * time.Second)
	owner := s.startCulm("run", "slow", "-a", fmt.Sprintf("until=%d", until.Unix()))
	var id string
	eventually(t, "the read began", func() bool {
		for _, j := range s.journals() {
			if count(entries(t, j), "step_started", "read") == 1 {
				id = j.Run
			}
		}
		return id != ""
	})
	owner.mustKill()
	before := s.journal(id)
	done := s.culm(0, "continue", tail(id))
	done.wantSaid("Recovered run "+id, "In doubt: read.")
	if done.stdout() != "read\n" {
		t.Errorf("output %q", done.stdout())
	}
	s.wantExtended(before)
	all := s.events(id)
	wantOnce(t, all, "step_started files", "step_resolved read", "step_completed read", "step_started last")
	if n := count(all, "step_started", "read"); n != 2 {
		t.Errorf("the read was entered %d times, want twice", n)
	}
	s.check()
}

// TestWaitFollowsAnotherProcess: whoever works on the run, every event comes, in
// order, to its end.
func TestWaitFollowsAnotherProcess(t *testing.T) {
	t.Parallel()
	s, owner := charging(t, "")
	id := s.only().RunID
	waiting := s.startCulm("wait", tail(id))
	following := s.startCulm("events", id, "--follow", "-o", "json")
	eventually(t, "the follower has come to where the run is", func() bool { return count(lines[entry](following), "step_started", "charge") == 1 })
	eventually(t, "the waiter looks at the run", waiting.looks)
	if !waiting.running() || !following.running() {
		t.Error("they should wait for the run's end")
	}
	s.letGo()
	owner.want(0)
	waiting.want(0)
	following.want(0)
	if waiting.stdout() != owner.stdout() || owner.stdout() != "charged 0\n" {
		t.Errorf("wait printed %q, and run %q", waiting.stdout(), owner.stdout())
	}
	var want, got []json.RawMessage
	for _, commit := range s.journal("").Commits {
		for _, text := range commit {
			want = append(want, text)
		}
	}
	got = lines[json.RawMessage](following)
	if len(got) != len(want) {
		t.Fatalf("%d events came, of %d", len(got), len(want))
	}
	for i := range want {
		if string(got[i]) != string(want[i]) {
			t.Errorf("event %d came as\n%s\nand is\n%s", i+1, got[i], want[i])
		}
	}
	s.check()
}

// TestWaitTellsOfADeath: waiting for a run whose process dies ends, and says so.
func TestWaitTellsOfADeath(t *testing.T) {
	t.Parallel()
	s, owner := charging(t, "")
	id := s.only().RunID
	waiting := s.startCulm("wait", id)
	eventually(t, "the waiter looks at the run", waiting.looks)
	owner.mustKill()
	waiting.want(3)
	waiting.wantSaid("gone", "culm continue "+tail(id))
	if v := s.view(id); v.Status != run.StatusRunning {
		t.Errorf("waiting made it %s", v.Status)
	}
	s.check()
}
