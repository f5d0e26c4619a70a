package kernel_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// TestStepsAreFound: by instance id, open ones and any that the program declares.
func TestStepsAreFound(t *testing.T) {
	t.Parallel()
	inner := load(t, "inner", `
steps: [{id: a, type: tool, tool: t}]
plan: {map: {from: literal, value: []}, as: i, do: a}
`)
	root := load(t, "root", `
steps:
  - {id: w, type: workflow, workflow_id: inner, revision: 1}
  - {id: z, type: tool, tool: t}
plan: [{repeat: w, until: {from: literal, value: true}, max: 2}, z]
`)
	prog, err := workflow.Compile(root, workflow.NewSnapshot(root, inner), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newSim(prog)
	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
	for instance, want := range map[string]string{
		"w@root#1": "w", "w@root#0/a@root[7]": "a", "z": "z",
		"": "", "y": "", "w@root#0/z": "", "z/a": "", "w@root#0/a/a": "", "w@root#0/": "",
	} {
		got := ""
		if info := s.m.Declared(instance); info != nil {
			got = info.Def.ID
		}
		if got != want {
			t.Errorf("step %q is declared as %q, want %q", instance, got, want)
		}
	}
	for instance, want := range map[string]bool{"w@root#0": true, "w@root#1": false, "z": false} {
		if got := s.m.Step(instance) != nil; got != want {
			t.Errorf("step %s is open: %v", instance, got)
		}
	}
}

func load(t *testing.T, id, text string) *workflow.Source {
	t.Helper()
	src, err := workflow.Load(id+".yaml", []byte("workflow_schema: 1\nid: "+id+"\nrevision: 1\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// TestNextGivesNotAllAtOnce: of thousands of steps that take no slot it gives some,
// and the others when it is asked again.
func TestNextGivesNotAllAtOnce(t *testing.T) {
	t.Parallel()
	root := load(t, "root", `
steps: [{id: nap, type: sleep, duration_ms: 1}]
plan: {map: {from: literal, value: []}, as: i, do: nap}
`)
	prog, err := workflow.Compile(root, workflow.NewSnapshot(root), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newSim(prog)
	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
	const items = 2000
	a := s.m.Next(s.now, 0)[0]
	if err := s.emit("", &run.Decided{Node: a.Node, Scope: a.Scope, Value: run.Raw("[]"), Count: items}); err != nil {
		t.Fatal(err)
	}
	entered := 0
	for acts := s.m.Next(s.now, 0); len(acts) > 0; acts = s.m.Next(s.now, 0) {
		if len(acts) > items/4 {
			t.Fatalf("%d actions at once", len(acts))
		}
		for _, a := range acts {
			if err := s.start(a.StepID, a.Step, "", time.Hour); err != nil {
				t.Fatal(err)
			}
			entered++
		}
	}
	if entered != items {
		t.Errorf("%d of %d entered", entered, items)
	}
}

// TestSlots: calls wait for a slot in the order of the plan; other steps take none.
func TestSlots(t *testing.T) {
	t.Parallel()
	root := load(t, "root", `
steps:
  - {id: a, type: tool, tool: t}
  - {id: b, type: tool, tool: t}
  - {id: c, type: tool, tool: t}
  - {id: nap, type: sleep, duration_ms: 1}
plan: {parallel: [a, b, c, nap]}
`)
	prog, err := workflow.Compile(root, workflow.NewSnapshot(root), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newSim(prog)
	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
	for slots, want := range map[int][]string{
		-1: {"start nap"}, 0: {"start nap"}, 2: {"start nap", "start a", "start b"}, 9: {"start nap", "start a", "start b", "start c"},
	} {
		var got []string
		for _, a := range s.m.Next(s.now, slots) {
			got = append(got, describe(a))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d slots (-want +got):\n%s", slots, diff)
		}
	}
}
