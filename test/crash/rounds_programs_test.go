//go:build unix

package crash_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"time"

	"github.com/culm-dev/culm/internal/proc"
	"github.com/culm-dev/culm/internal/testkit/effectlog"
	"github.com/culm-dev/culm/run"
)

// appendEffect is a script that appends one line to the log of effects, by one
// write, and takes a moment before it and after it.
const appendEffect = `sleep 0.00$(( $$ % 10 )); ` +
	`printf '{"run":"%s","step":"%s","attempt":%s,"key":"%s"}\n' "$CULM_RUN_ID" "$CULM_STEP_ID" "$CULM_ATTEMPT" "$CULM_IDEMPOTENCY_KEY" >> effects.jsonl; ` +
	`sleep 0.00$(( ($$ + 5) % 10 ))`

// programOutput is what exec returns for it.
const programOutput = `{"exit_code":0,"stderr":"","stdout":""}`

// copyIn puts a definition of testdata into the workspace.
func (s *site) copyIn(names ...string) {
	s.t.Helper()
	for _, name := range names {
		text, err := testdata.ReadFile("testdata/" + name)
		if err != nil {
			s.t.Fatal(err)
		}
		s.write(filepath.Join("workflows", name), string(text))
	}
}

// view is what the built culm shows of a run.
func (s *site) view(id string) *run.View {
	s.t.Helper()
	p := s.culm(0, "show", id, "-o", "json")
	var v run.View
	if err := json.Unmarshal([]byte(p.stdout()), &v); err != nil {
		s.t.Fatalf("show: %v\n%s", err, p.stdout())
	}
	return &v
}

// programs kills the built culm at its work on programs.
func (d *round) programs() {
	d.t.Log("shape: programs, with the built culm")
	d.copyIn("exec.yaml", "exec-inner.yaml", "exec-brittle.yaml")
	start := func() *process {
		if len(d.journals()) == 0 {
			args, err := json.Marshal(map[string]any{"effect": appendEffect, "list": []string{"a", "b", "c"}})
			if err != nil {
				d.t.Fatal(err)
			}
			return d.startCulm("run", "exec", "--args", string(args), "--trust", "--allow", "exec,write", "--key", "round")
		}
		return d.startCulm("continue", d.journal("").Run, "--rerun", "read,idempotent")
	}
	for range 1 + d.r.IntN(3) {
		if !d.killed(start, 600*time.Millisecond) {
			break
		}
		d.decide()
	}
	for tries := 0; !d.over(); tries++ {
		if tries == 20 {
			d.t.Fatal("the run does not end")
		}
		d.decide()
		p := start()
		if p.wait() == 5 {
			d.t.Fatalf("it was refused:\n%s", p.stderr())
		}
	}
	v := d.view(d.journal("").Run)
	if v.Status != run.StatusSucceeded || string(v.Output) != `"done 0"` {
		d.t.Errorf("at the end: %s, output %s, failure %v", v.Status, v.Output, v.Failure)
	}
	d.programsOnce(v)
	d.ended()
}

// over reports whether the run has ended.
func (d *round) over() bool {
	d.t.Helper()
	all := d.journals()
	return len(all) == 1 && d.view(all[0].Run).Status.Terminal()
}

// decide recovers the run, and decides on what is in doubt as a person would: waits
// until the step's processes are gone, and then looks at what they did.
func (d *round) decide() {
	d.t.Helper()
	d.culm(0, "recover")
	all := d.journals()
	if len(all) == 0 {
		return
	}
	v := d.view(all[0].Run)
	for id, st := range v.Steps {
		if !st.InDoubt || st.Effect != "write" {
			continue
		}
		d.gone(v.RunID, id)
		if id == "again" { // its definition decides
			continue
		}
		verdict := []string{"resolve", v.RunID, id, "--rerun"}
		if slices.ContainsFunc(d.done(), func(l effectlog.Line) bool { return l.Step == id && l.Attempt == st.Attempts }) {
			verdict = []string{"resolve", v.RunID, id, "--output", programOutput}
		}
		d.culm(0, verdict...)
	}
}

// gone waits until no process of the step is left.
func (s *site) gone(runID, step string) {
	s.t.Helper()
	lock := proc.StepLockPath(filepath.Join(s.data, "locks", "steps"), runID, step)
	eventually(s.t, "the processes of "+step+" are gone", func() bool {
		held, err := proc.StepLockHeld(lock)
		if err != nil {
			s.t.Fatal(err)
		}
		return !held
	})
}

// programsOnce checks the effects of the programs.
func (d *round) programsOnce(v *run.View) {
	d.t.Helper()
	want := map[string]int{
		"open": 1, "left": 1, "item@root[0]": 1, "item@root[1]": 1, "item@root[2]": 1, "nested/enter": 1, "nested/one": 1,
		"tick@root#0": 1, "tick@root#1": 1, "guarded/sound": 1, "close": 1,
	}
	// The author said that this one may be repeated.
	if n := d.times("again"); n >= 1 && n <= v.Steps["again"].Attempts {
		want["again"] = n
	} else {
		d.t.Errorf("step again had its effect %d times in %d attempts", n, v.Steps["again"].Attempts)
	}
	d.wantTimes(want)
	if d.read("saved") != "saved" {
		d.t.Error("the file was not written")
	}
}
